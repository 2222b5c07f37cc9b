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
from config.setup.steps import DATABASE, START, SetupError, SetupStep
from config.state import store_started_port
from config.supervisor import ProcessSupervisor

MANAGE = (sys.executable, str(Path(__file__).resolve().parent.parent / "manage.py"))


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--host", default=os.environ.get("HOST") or "127.0.0.1")
    parser.add_argument("--port", type=int, default=os.environ.get("PORT") or "8000")


def show_first_step() -> SetupStep:
    """Say what the start begins with, before anything is loaded: nobody waits without being told for what."""
    home = layout.state_folder()
    step = SetupStep(DATABASE if _is_first_start(home) else START)
    step.show()
    return step


def main(words: Sequence[str], step: SetupStep) -> None:
    """`step`: the one that is shown already."""
    parser = ArgumentParser(
        prog="manage.py up", description="Prepare the database, then run web and worker until Ctrl-C."
    )
    add_arguments(parser)
    options = parser.parse_args(words)
    try:
        check_port(options.host, options.port)
    except SetupError as error:
        step.end_terminal_line()
        sys.exit(str(error))
    run_until_stopped(options.host, options.port, step)


def run_until_stopped(host: str, port: int, step: SetupStep) -> None:
    """Returns when it was told to stop and everything has ended."""
    store_started_port(layout.state_folder(), port)
    supervisor = ProcessSupervisor(environment=_process_environment(port), say=_print_line)
    address = ["--host", host, "--port", str(port)]
    announce = [*MANAGE, "announce", *address, "--step", step.name, "--began", str(step.begin)]
    supervisor.run(lambda: _commands_to_keep_running(supervisor, announce, address))
    _print_line("Stopped.")


def _is_first_start(home: Path) -> bool:
    """Tell whether the embedded database has to be made; of another one only Django knows what it lacks."""
    return (
        not os.environ.get("DATABASE_URL")
        and not layout.recorded_or_planned_layout(home).password_file.exists()
    )


def _commands_to_keep_running(
    supervisor: ProcessSupervisor, announce: Sequence[str], address: Sequence[str]
) -> dict[str, Sequence[str]]:
    """Return the commands to keep running, once the database is ready for them."""
    answers, tell = os.pipe()
    preparing = supervisor.start_helper([*announce, "--tell", str(tell)], tell)
    # Ours, so that reading ends where `announce` goes without an answer.
    os.close(tell)
    shares = os.environ.get("GATELINE_WEB", "") not in ("", "1")
    supervisor.start_early(web_commands(address, 1, shares) | worker_commands(1))
    with os.fdopen(answers) as answer:
        counts = answer.readline().split()
    if not counts:
        sys.exit(_exit_code(preparing))
    workers, webs = map(int, counts)
    return web_commands(address, webs, shares) | worker_commands(workers)


def web_commands(address: Sequence[str], count: int, shares: bool) -> dict[str, Sequence[str]]:
    """Name each web process. Those that share the port have a number, by which each has a port of its own besides."""
    if not shares:
        return {"web": [*MANAGE, "web", *address]}
    return {
        "web" if number == 1 else f"web {number}": [*MANAGE, "web", *address, "--number", str(number)]
        for number in range(1, count + 1)
    }


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
    inherited = {name: value for name, value in os.environ.items() if name != "GATELINE_ROLE"}
    # Between the steps of a start a newcomer needs no line of a log; who sets LOG_FORMAT collects them.
    quiet = {} if "LOG_FORMAT" in inherited else {"LOG_LEVEL": "WARNING"}
    return quiet | inherited | {"PORT": str(port)}


def _print_line(text: str) -> None:
    print(text, flush=True)
