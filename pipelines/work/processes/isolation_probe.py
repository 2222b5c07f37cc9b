"""Attempts of a station: a script, standard library only, run as a station would be.

    isolation_probe.py JSON     {"secret": path, "neighbour": path, "own": path, "socket": path or null,
                                 "pid": of the worker, "environ", "cmdline": SHA-256 of these files of its /proc,
                                 "port": on this machine's loopback, where the worker listens}

Answers one JSON object of what worked, true or false: secret, neighbour, own, environment, signal, socket, network,
proxy (which greets who connects to HTTPS_PROXY). The digests tell the worker from another process that has its number
in a name space of its own."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sys
from collections.abc import Callable


def works(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def write(path: str) -> None:
    with open(path, "wb") as file:
        file.write(b"mine")


def connect(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def reach(port: str) -> None:
    socket.create_connection(("127.0.0.1", int(port)), timeout=5).close()


def greeted() -> None:
    host, _, port = os.environ.get("HTTPS_PROXY", "").removeprefix("http://").partition(":")
    if not port:
        raise OSError("there is no proxy")
    with socket.create_connection((host, int(port)), timeout=5) as client:
        if client.recv(1) != b"!":
            raise OSError("the proxy does not greet")


def is_worker(what: dict[str, str], file: str) -> bool:
    try:
        content = read(f"/proc/{what['pid']}/{file}")
    except OSError:
        return False
    return hashlib.sha256(content).hexdigest() == what[file]


def main() -> None:
    what = json.loads(sys.argv[1])
    answer = {
        "secret": works(lambda: read(what["secret"])),
        "neighbour": works(lambda: os.listdir(what["neighbour"])),
        "own": works(lambda: write(what["own"])),
        "environment": is_worker(what, "environ"),
        # Signal 0 only asks whether one could be sent
        "signal": is_worker(what, "cmdline") and works(lambda: os.kill(int(what["pid"]), 0)),
        "socket": bool(what["socket"]) and works(lambda: connect(what["socket"])),
        "network": works(lambda: reach(what["port"])),
        "proxy": works(greeted),
    }
    print(json.dumps(answer))


main()
