"""A runner process: from its options to its end."""

from __future__ import annotations

import asyncio
import fcntl
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import structlog

from pipelines.ports.tracing import TracingUnavailable, begin_tracing
from pipelines.routing.basics.outcome import derived_outcome, read_outcome
from pipelines.work import images
from pipelines.work.config import MOST_STATIONS, WorkerConfig
from pipelines.work.outgoing.authorities import set_trusted_authorities
from pipelines.work.outgoing.endpoint import Endpoint, Outgoing
from pipelines.work.outgoing.guard import Guard
from pipelines.work.processes.forbidden_calls import forbidden_notices
from pipelines.work.processes.installation import installation_places, unlistable_notices
from pipelines.work.processes.isolation import CannotIsolate, Isolation
from pipelines.work.processes.isolation_choice import choose_isolation
from pipelines.work.program.options import Options, WrongOptions, parsed_options
from pipelines.work.program.single_job import SingleJob
from pipelines.work.transport.http.calls import BearerRefused, CallRefused, ServerCalls
from pipelines.work.transport.http.job_polling import JobPoller
from pipelines.work.transport.http.transport import HttpTransport
from pipelines.work.worker.service import Service
from pipelines.work.workspace_folder.choice import runner_choice
from pipelines.work.workspace_folder.outer_config import find_config_file_above
from pipelines.work.workspace_folder.workspace_move import move_earlier_folders

log = structlog.get_logger(__name__)
HEARTBEAT_SECONDS = 3.0
LEASE_SECONDS = 60.0
REFUSED, WRONG = 3, 2
RESULT_CODES = {"success": 0, "failure": 10, "cancelled": 11, "blocked": 12}
"""Exit codes of a runner for one job, by the result of its outcome."""
NOT_REPORTED, NOTHING_WAITED = 13, 14
CHECKOUT = Path(__file__).resolve().parents[3]


def main(words: Sequence[str]) -> int:
    """The exit code: 0 stopped as planned, 2 cannot start like this, 3 the server refuses the token; with --once by
    the result of the job."""
    try:
        settings = parsed_options(words, os.environ)
        begin_tracing("gateline-runner")
        settings.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _state_folder(settings) as state, open_runner_id(state) as runner:
            return asyncio.run(_run_runner(replace(settings, state=state), runner))
    except (WrongOptions, CallRefused, CannotIsolate, TracingUnavailable) as error:
        print(f"gateline runner: {error}", file=sys.stderr)
        return WRONG
    except BearerRefused as error:
        return _print_refused_token(str(error))


@contextmanager
def _state_folder(settings: Options) -> Iterator[Path]:
    """The folder of its state: for one job a new one, so that many work beside one another, which is removed."""
    if not settings.once:
        yield settings.state
        return
    folder = Path(tempfile.mkdtemp(prefix="once-", dir=settings.state))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def open_runner_id(state: Path) -> Iterator[uuid.UUID]:
    """The same each time it starts here, so that its server knows at once what an earlier process cannot do any more.
    One process at a time has it. :raises WrongOptions: another one has it"""
    # a+ leaves what is there: another process may be working under this id
    with (state / "runner").open("a+") as file:
        try:
            # The kernel gives it back when the process ends, a crash included
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise WrongOptions(f"A runner already works in {state}. Give this one another --name.") from error
        file.seek(0)
        known = file.read().strip()
        if not known:
            known = str(uuid.uuid4())
            file.write(known)
            file.flush()
        yield uuid.UUID(known)


async def _run_runner(settings: Options, runner: uuid.UUID) -> int:
    set_trusted_authorities(settings.authorities)
    workspaces = _make_workspaces_folder(settings.state)
    isolation = await _chosen_isolation(settings, workspaces)
    if isolation.name == "none":
        print(
            "Nothing isolates stations on this machine: they can read what this user can read.",
            file=sys.stderr,
        )
    for notice in (*forbidden_notices(isolation), *unlistable_notices(isolation)):
        print(notice, file=sys.stderr)
    loop, refused = asyncio.get_running_loop(), list[str]()
    config = worker_config(settings, isolation, workspaces)

    def on_refused(why: str) -> None:
        refused.append(why)
        loop.call_soon_threadsafe(service.stop)
        loop.call_soon_threadsafe(service.stop)  # at once: nothing that it does counts any more

    calls = ServerCalls(settings.server, settings.token, runner, on_refused)
    transport = HttpTransport(calls, machine_facts())
    # Another id than the runner's, which stays: folders of an earlier process are those of a dead worker
    single = SingleJob(transport, settings.wait) if settings.once else None
    source = single or JobPoller(transport, config.concurrency)
    service = Service(uuid.uuid4(), config, settings.name, transport, source)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, service.stop)
    if single is None:
        await service.run()
    else:
        await _run_once_registered(service, single, settings.wait)
    if refused:
        return _print_refused_token(refused[0])
    return 0 if single is None else _print_job_and_exit_code(single)


async def _run_once_registered(service: Service, single: SingleJob, seconds: float) -> None:
    """Run until the job has ended; a server that is away for so long does not hold a batch job for ever."""
    running = asyncio.create_task(service.run())
    registered = asyncio.create_task(single.registered.wait())
    done, _ = await asyncio.wait((running, registered), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    registered.cancel()
    if done:
        await running
        return
    # It has taken nothing yet: nothing is to be ended in order
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def _print_job_and_exit_code(single: SingleJob) -> int:
    """Return the exit code by how the job ended, and print what the code says."""
    if single.work is None:
        _print_error("gateline runner: no job came for it.")
        return NOTHING_WAITED
    job = f"job {single.work.started.orders.job_id}"
    if single.work.outcome is None:
        _print_error(f"gateline runner: {job} was not reported: it went back, or to another runner.")
        return NOT_REPORTED
    result = derived_outcome(read_outcome(single.work.outcome)).result
    _print_error(f"gateline runner: {job} ended with {result}.")
    return RESULT_CODES[result]


def _make_workspaces_folder(state: Path) -> Path:
    """The folder of workspaces, made. One process at a time works there. :raises WrongOptions"""
    choice = runner_choice(state, os.environ)
    folder = choice.choose_folder_anew()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        reason = f"The folder of workspaces {folder} cannot be made: {error.strerror}."
        raise WrongOptions(f"{reason} Name another one in GATELINE_WORKSPACES.") from error
    move_earlier_folders(choice, folder, _print_error)
    if path := find_config_file_above(folder):
        _print_error(
            f"{path} lies above the workspaces in {folder}: tools that stations run take it for the configuration of "
            "each repository. Move it away, or name another folder in GATELINE_WORKSPACES."
        )
    return folder


def _print_error(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _print_refused_token(why: str) -> int:
    print(f"gateline runner: the server does not take this token: {why}", file=sys.stderr)
    print(
        "It is wrong, expired or revoked. Settings › Runners › Add a runner makes another.",
        file=sys.stderr,
    )
    return REFUSED


async def _chosen_isolation(settings: Options, workspaces: Path) -> Isolation:
    """:raises CannotIsolate"""
    where = installation_places(
        CHECKOUT, settings.path, settings.readable, hidden=(settings.state, workspaces)
    )
    return (await choose_isolation(settings.isolation, where, workspaces, None)).isolation


def worker_config(settings: Options, isolation: Isolation, workspaces: Path) -> WorkerConfig:
    url, model, key = settings.model
    return WorkerConfig(
        workspaces=workspaces,
        isolation=isolation,
        images=images.find_image_program(isolation, workspaces, settings.path),
        station_path=tuple(dict.fromkeys((str(Path(sys.executable).parent), *settings.path))),
        repository_roots=settings.roots,
        protected=(
            str(settings.state),
            *map(str, runner_choice(settings.state, os.environ).folders_of_other_checkouts()),
        ),
        elsewhere=True,
        labels=frozenset(settings.labels),
        concurrency=settings.concurrency,
        most_stations=1 if settings.once else MOST_STATIONS,
        lease_seconds=LEASE_SECONDS,
        heartbeat_seconds=HEARTBEAT_SECONDS,
        drain_seconds=settings.drain,
        secrets=(settings.token, *settings.secrets.values(), *((key,) if key else ())),
        named_secrets=settings.secrets,
        signed_in=settings.signed_in,
        evaluator=settings.evaluator,
        outgoing=Outgoing(Guard(settings.private_hosts), Endpoint(url, model, key)),
        authorities=settings.authorities,
    )


def machine_facts() -> dict[str, str]:
    """Return the facts on this machine that the page of runners shows as well."""
    return {
        "os": f"{platform.system()} {platform.release()}",
        "arch": platform.machine(),
        "python": platform.python_version(),
        "git": _git_version_or_empty(),
        "version": checkout_version_or_empty(),
    }


def _git_version_or_empty() -> str:
    """The system's, "" where there is none: then repositories are read by our own library."""
    program = shutil.which("git")
    if program is None:
        return ""
    try:
        completed = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return completed.stdout.strip().removeprefix("git version ")[:100]


def checkout_version_or_empty() -> str:
    """Return the version of this checkout: its commit, where it has one."""
    head = CHECKOUT / ".git" / "HEAD"
    try:
        text = head.read_text().strip()
        if text.startswith("ref: "):
            text = (CHECKOUT / ".git" / text.removeprefix("ref: ")).read_text().strip()
    except OSError:
        return ""
    return text[:12]
