"""`manage.py up`: everything of one machine, in which `make run` ends. It lives as long as what it watches over, so it
is the standard library alone: a process that leaves afterwards prepares the database and says the address."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from config.embedded import layout
from config.setup.machine import check_port
from config.setup.steps import SetupError
from config.state import remember_port
from config.supervisor import ProcessSupervisor

MANAGE = (sys.executable, str(Path(__file__).resolve().parent.parent / "manage.py"))


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--host", default=os.environ.get("HOST") or "127.0.0.1")
    parser.add_argument("--port", type=int, default=os.environ.get("PORT") or "8000")


def main(words: Sequence[str]) -> None:
    parser = ArgumentParser(
        prog="manage.py up", description="Prepare the database, then run web and worker until Ctrl-C."
    )
    add_arguments(parser)
    options = parser.parse_args(words)
    try:
        check_port(options.host, options.port)
    except SetupError as error:
        sys.exit(str(error))
    run_until_stopped(options.host, options.port)


def run_until_stopped(host: str, port: int) -> None:
    """Returns when it was told to stop and everything has ended."""
    remember_port(layout.state_folder(), port)
    supervisor = ProcessSupervisor(environment=_process_environment(port), say=_print_line)
    address = ["--host", host, "--port", str(port)]
    supervisor.run(lambda: _commands_to_keep_running(supervisor, address))
    _print_line("Stopped.")


def _commands_to_keep_running(
    supervisor: ProcessSupervisor, address: Sequence[str]
) -> dict[str, Sequence[str]]:
    """Return the commands to keep running, once the database is ready for them."""
    answers, tell = os.pipe()
    preparing = supervisor.start_helper([*MANAGE, "announce", *address, "--tell", str(tell)], tell)
    # Ours, so that reading ends where `announce` goes without an answer.
    os.close(tell)
    web = {"web": [*MANAGE, "web", *address]}
    supervisor.start_early(web | worker_commands(1))
    with os.fdopen(answers) as answer:
        workers = answer.readline()
    if not workers:
        sys.exit(_exit_code(preparing))
    return web | worker_commands(int(workers))


def worker_commands(count: int) -> dict[str, Sequence[str]]:
    """Name each; from the second on pages tell them apart by a number behind the machine's name."""
    more = {
        f"worker {number}": [*MANAGE, "worker", "--name", f"{platform.node()} {number}"]
        for number in range(2, count + 1)
    }
    return {"worker": [*MANAGE, "worker"], **more}


def _exit_code(ended: subprocess.Popen[bytes]) -> int:
    """Return the exit code as a shell reports it: 128 and the signal if one ended the process."""
    code = ended.wait()
    return 128 - code if code < 0 else code


def _process_environment(port: int) -> dict[str, str]:
    # manage.py gives each process a role of its own, unless there is one already.
    return {name: value for name, value in os.environ.items() if name != "GATELINE_ROLE"} | {
        "PORT": str(port)
    }


def _print_line(text: str) -> None:
    print(text, flush=True)
