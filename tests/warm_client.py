"""`python -I -S warm_client.py ADDRESS status lab.db` is `ostinato status lab.db`, run by the server of `warm.py`.

It imports little, so that it starts at once.
"""

import json
import os
import socket
import sys

if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[1])
        socket.send_fds(connection, [b"."], [0, 1, 2])
        with connection.makefile("rw") as file:
            request = sys.argv[2:], os.getcwd(), dict(os.environ)  # noqa: PTH109 (pathlib takes long to import)
            print(json.dumps(request), file=file, flush=True)
            file.readline()  # its number
            sys.exit(int(file.readline()))
