"""Pipe between an agent's program and the tools of its task: a script, standard library only, which the program starts.

    tool_pipe.py FOLDER     FOLDER: of the socket, and of the file with the token of the visit

It copies what the program writes to the socket, and what comes from there to the program, until one of them ends."""

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path

SOCKET, TOKEN = "socket", "token"
PIECE = 64 * 1024


def main() -> int:
    folder = Path(sys.argv[1])
    token = (folder / TOKEN).read_bytes()
    # By its name alone: the path of a socket has about a hundred characters, that of the folder may have more
    os.chdir(folder)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(SOCKET)
        connection.sendall(token + b"\n")
    except OSError as error:
        print(f"The tools of this task are not there any more: {error}", file=sys.stderr)
        return 1
    threading.Thread(target=copy_input, args=(connection,), daemon=True).start()
    copy_output(connection)
    # At once: the other thread may wait for input that never comes
    os._exit(0)


def copy_input(connection: socket.socket) -> None:
    try:
        while piece := os.read(0, PIECE):
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        return  # the other side is gone


def copy_output(connection: socket.socket) -> None:
    try:
        while piece := connection.recv(PIECE):
            while piece:
                piece = piece[os.write(1, piece) :]
    except OSError:
        return  # the program is gone


if __name__ == "__main__":
    sys.exit(main())
