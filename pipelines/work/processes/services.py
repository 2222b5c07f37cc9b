"""Start services, wait until they answer, then become the command: a script, standard library only, an argv prefix.

    services.py SERVICES -- argv…       SERVICES: JSON {"folder": where their logs lie, "services":
                                        [{"name", "argv", "port" or "health", "seconds"}]}

The first line of standard output is one of ours: JSON {"gateline:services": [{"name", "seconds"}]}, or
{"failed": "why", "name", "log"}; then the command was not started. Services are nobody's children, and end with the
last process of the station."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

MARK = "gateline:services"
MAX_OUTPUT = 4000
# Seconds: for one health command, and between two looks
HEALTH_SECONDS, PAUSE = 10, 0.05


class ServiceAbsent(Exception):
    """A service is not there."""


def start_service(service: dict[str, Any], folder: str) -> subprocess.Popen[bytes]:
    with open(log_path(service, folder), "wb") as log:
        try:
            return subprocess.Popen(
                service["argv"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        except OSError as error:
            raise ServiceAbsent(f"could not be started: {error.strerror}") from error


def log_path(service: dict[str, Any], folder: str) -> str:
    return os.path.join(folder, f"{service['name']}.log")


def is_healthy(service: dict[str, Any]) -> bool:
    if service.get("health"):
        try:
            nothing = subprocess.DEVNULL
            done = subprocess.run(
                service["health"],
                stdin=nothing,
                stdout=nothing,
                stderr=nothing,
                timeout=HEALTH_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0
    try:
        socket.create_connection(("127.0.0.1", service["port"]), timeout=1).close()
    except OSError:
        return False
    return True


def wait_until_healthy_and_return_seconds(service: dict[str, Any], process: subprocess.Popen[bytes]) -> float:
    """:return: seconds that it took"""
    began = time.monotonic()
    while not is_healthy(service):
        code = process.poll()
        if code is not None:
            raise ServiceAbsent(f"ended with exit code {code} before it answered")
        if time.monotonic() - began > service["seconds"]:
            what = (
                "its health command did not pass"
                if service.get("health")
                else f"port {service['port']} is closed"
            )
            raise ServiceAbsent(f"did not answer within {service['seconds']:g} s: {what}")
        time.sleep(PAUSE)
    return round(time.monotonic() - began, 1)


def log_tail_or_empty(service: dict[str, Any], folder: str) -> str:
    try:
        with open(log_path(service, folder), "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - MAX_OUTPUT))
            return log.read(MAX_OUTPUT).decode("utf-8", "replace")
    except OSError:
        return ""


def run_services(services: list[dict[str, Any]], folder: str, write_end: int) -> None:
    """Run the services in a process of its own: start them in order, each when the previous one answers, and
    reap them."""
    ready = []
    for service in services:
        try:
            ready.append(
                {
                    "name": service["name"],
                    "seconds": wait_until_healthy_and_return_seconds(service, start_service(service, folder)),
                }
            )
        except ServiceAbsent as absent:
            send_message(
                write_end,
                {"failed": str(absent), "name": service["name"], "log": log_tail_or_empty(service, folder)},
            )
            return
    send_message(write_end, {MARK: ready})
    # Its end would make them orphans, which is no harm; but nobody would bury what they leave.
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def send_message(write_end: int, message: dict[str, Any]) -> None:
    # Closing it ends the answer: `start_keeper` reads until then
    with os.fdopen(write_end, "wb") as pipe:
        pipe.write(json.dumps(message).encode() + b"\n")


def start_keeper(services: list[dict[str, Any]], folder: str) -> bytes:
    """Start the process that runs the services, detached from this one, and return its answer."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        os.setsid()
        if os.fork():
            os._exit(0)
        # A handler, which its services do not inherit: they end in order, and it stays.
        signal.signal(signal.SIGTERM, lambda *_: None)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        try:
            run_services(services, folder, write_end)
        finally:
            # Never back from here: a second process would become the command
            os._exit(0)
    os.close(write_end)
    os.waitpid(child, 0)
    with os.fdopen(read_end, "rb") as pipe:
        # Empty where the keeper ended before it said anything
        return pipe.read() or b'{"failed": "could not be started", "name": "", "log": ""}\n'


def main() -> int:
    instructions, argv = json.loads(sys.argv[1]), sys.argv[3:]
    answer = start_keeper(instructions["services"], instructions["folder"])
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
    if MARK not in json.loads(answer):
        return 1
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        print(f"services: {error}", file=sys.stderr)
    return 127


if __name__ == "__main__":
    sys.exit(main())
