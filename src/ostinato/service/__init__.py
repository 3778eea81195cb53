"""Studies over HTTP: the server (`app.py`, extra `[server]`) and its client (`client/`)."""
