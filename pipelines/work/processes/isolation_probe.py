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


def does_attempt_succeed(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def write_file(path: str) -> None:
    with open(path, "wb") as file:
        file.write(b"mine")


def connect_to_socket(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def connect_to_port(port: str) -> None:
    socket.create_connection(("127.0.0.1", int(port)), timeout=5).close()


def require_greeting_by_proxy() -> None:
    host, _, port = os.environ.get("HTTPS_PROXY", "").removeprefix("http://").partition(":")
    if not port:
        raise OSError("there is no proxy")
    with socket.create_connection((host, int(port)), timeout=5) as client:
        if client.recv(1) != b"!":
            raise OSError("the proxy does not greet")


def is_file_of_worker(what: dict[str, str], file: str) -> bool:
    try:
        content = read_file(f"/proc/{what['pid']}/{file}")
    except OSError:
        return False
    return hashlib.sha256(content).hexdigest() == what[file]


def main() -> None:
    what = json.loads(sys.argv[1])
    answer = {
        "secret": does_attempt_succeed(lambda: read_file(what["secret"])),
        "neighbour": does_attempt_succeed(lambda: os.listdir(what["neighbour"])),
        "own": does_attempt_succeed(lambda: write_file(what["own"])),
        "environment": is_file_of_worker(what, "environ"),
        # Signal 0 only asks whether one could be sent
        "signal": is_file_of_worker(what, "cmdline")
        and does_attempt_succeed(lambda: os.kill(int(what["pid"]), 0)),
        "socket": bool(what["socket"]) and does_attempt_succeed(lambda: connect_to_socket(what["socket"])),
        "network": does_attempt_succeed(lambda: connect_to_port(what["port"])),
        "proxy": does_attempt_succeed(require_greeting_by_proxy),
    }
    print(json.dumps(answer))


main()
