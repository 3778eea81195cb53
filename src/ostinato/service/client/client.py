"""A server, as seen by its clients: its studies."""

from typing import Any, Self

from ostinato.service.client.remote import RemoteStudy
from ostinato.service.client.transport import Transport, path_of
from ostinato.service.schemas import NewStudy, Settings, StatusOut, StudiesOut, StudyOut


class Client:
    """Studies on a server: `Client("http://127.0.0.1:8000", token).study("reaction")` has the verbs of `Study`.

    token: of `ostinato token create`. timeout: seconds for one try. patience: seconds for which a server that does not
    answer is tried again; whatever is tried again counts once. By default that is a minute, but a server that refuses
    the first connection is not waited for.
    """

    def __init__(self, url: str, token: str, *, timeout: float = 60.0, patience: float | None = None) -> None:
        self._url, self._transport = url, Transport(url, token, timeout=timeout, patience=patience)

    def __repr__(self) -> str:
        return f"Client({self._url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections; they are closed with the client too."""
        self._transport.close()

    def studies(self) -> list[StudyOut]:
        """The studies that the token may see."""
        return self._transport.send("GET", "/studies", StudiesOut).studies

    def study(self, name: str) -> RemoteStudy:
        """A study of the server; nothing is sent yet."""
        return RemoteStudy(name, self._transport)

    def create(
        self,
        name: str,
        *,
        csv: str | None = None,
        rows: list[dict[str, Any]] | None = None,
        space: dict[str, Any] | None = None,
        budget: int | None = None,
        **settings: Any,
    ) -> RemoteStudy:
        """Make a study of candidates as the text of a CSV file, as rows, or as a described space."""
        wanted = NewStudy(name=name, csv=csv, rows=rows, space=space, budget=budget, settings=Settings(**settings))
        self._transport.send("POST", "/studies", StatusOut, wanted)
        return self.study(name)

    def delete(self, name: str) -> None:
        """Delete a study and all its measurements, for ever."""
        self._transport.send("DELETE", path_of(name), type(None))
