"""Requirements of the proposed commands of a repository: the programs that they begin with, on the workers that have
them, and the hosts of its packages."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

import httpx2

from pipelines.models import Project, Repository, Worker
from pipelines.queries.workers import living_program_workers
from pipelines.routing.document.work.network import name_and_port_of_host_or_none
from pipelines.work.git.probe import Check, ConnectionFact
from pipelines.work.outgoing.guard import Guard, RefusedAddress
from pipelines.work.spec.ecosystems import BY_NPM, Proposal
from pipelines.work.spec.preparation import Preparation
from pipelines.work.spec.versions import version_fits

HOST_SECONDS = 3.0
"""For which the name of a host is looked up."""
INSIDE = (
    "{names} {verb} inside your own network here (a private address), as with a mirror or a proxy for packages. "
    "Commands reach nothing in there until somebody allows it: {remedy}"
)
TICK = (
    "tick “These hosts may have private addresses” in step 3 of Setup, below Hosts, or under Environment. Only an "
    "administrator of the installation has the tick."
)
WITHOUT_LOCK = "npm install --no-package-lock --legacy-peer-deps"
LISTED = "an operator lists it in GATELINE_PRIVATE_HOSTS."


def named_checks_of_requirements(
    repository: Repository, proposal: Proposal, guard: Guard, workers: Sequence[Worker]
) -> Iterator[tuple[Check, Callable[[], ConnectionFact]]]:
    """Yield what there is to look for, and the look. An image has programs of its own."""
    stored = Preparation.of_dict(repository.prepare)
    if programs := needed_programs_fact_or_none(repository, proposal, workers):
        yield "programs", lambda: programs
    if hosts := stored.hosts or proposal.hosts:
        yield "hosts", lambda: private_hosts_fact(hosts, stored.private, guard)
    elif proposal.installer and not stored.argv:
        text = (
            f"Neither a file of the repository nor {proposal.installer} on a runner says where its packages come from. "
            "Enter the host of your registry as Hosts, where the commands are proposed."
        )
        yield "hosts", lambda: ConnectionFact("None known", warning=text)


def serving_runners(now: datetime, project: Project) -> list[Worker]:
    """Return the runners that are online, run programs and serve the owner; one statement."""
    return [
        worker
        for worker in living_program_workers(now, project.pk)
        if worker.owners is None or project.owner.key in worker.owners
    ]


def needed_programs_fact_or_none(
    repository: Repository, proposal: Proposal, workers: Sequence[Worker]
) -> ConnectionFact | None:
    """Say which of the programs lie on the path of stations, and in which version; None where nothing is needed."""
    stored = Preparation.of_dict(repository.prepare)
    if stored.argv:
        proposal = replace(proposal, prepare=shlex.join(stored.argv))
    names = proposal.programs
    if not names or stored.image:
        return None
    programs = {
        worker.name: worker.programs
        if isinstance(worker.programs, dict)
        else dict.fromkeys(worker.programs, "")
        for worker in workers
        if worker.programs is not None
    }
    if not programs:
        text = "No runner that is online says whether it has them. Start one, and test the connection again."
        return ConnectionFact(", ".join(names), warning=text)
    unfit = [
        f"{name} on the runner {worker} is {version}, and {file} asks for {required}."
        for name, (file, required) in proposal.required.items()
        for worker, has in programs.items()
        if (name in names or name not in BY_NPM)
        and (version := has.get(name, ""))
        and not version_fits(version, required)
    ]
    lacking = {name: [worker for worker, has in programs.items() if name not in has] for name in names}
    warnings = [
        f"{name} is not on the path of stations on {', '.join(on)}." for name, on in lacking.items() if on
    ]
    if warnings:
        by_npm = [
            name for name in BY_NPM if lacking.get(name) and all("npm" in has for has in programs.values())
        ]
        warnings += [_npm_install_hint(name, proposal) for name in by_npm]
        warnings.append(
            "Install what is missing there, choose an image under Environment, or enter other commands."
        )
    if unfit:
        warnings += [
            *unfit,
            "Install that version there, choose an image under Environment, or change the file.",
        ]
    return ConnectionFact(", ".join(names), warning=" ".join(warnings))


def _npm_install_hint(name: str, proposal: Proposal) -> str:
    """Return how a package manager is installed that a registry of npm has. Corepack is no way: it fetches the program
    in each station, and those that lint and test have no network."""
    _file, version = proposal.required.get(name, ("", ""))
    package = f"{name}@{version.partition('.')[0]}" if version else name
    words = f"npm is there: npm install --global {package} brings it, and within a minute this page knows."
    if not proposal.prepare.startswith(name):
        return words
    return (
        f"{words} Or let npm do it: enter {WITHOUT_LOCK} as Prepare, which does not read {proposal.lock}, and npm in "
        f"place of {name} in the other commands."
    )


def private_hosts_fact(hosts: Sequence[str], allowed: Sequence[str], guard: Guard) -> ConnectionFact:
    """Say which hosts have private addresses that nobody `allowed`, or that this does not allow, and who could. A
    runner elsewhere may find them at others, so it is no failure."""
    remedies = asyncio.run(_host_remedies(hosts, allowed, guard))
    warnings = [
        INSIDE.format(names=", ".join(names), verb="lies" if len(names) == 1 else "lie", remedy=remedy)
        for remedy in (TICK, LISTED)
        if (names := [host for host, own in zip(hosts, remedies, strict=True) if own == remedy])
    ]
    return ConnectionFact(", ".join(hosts), warning=" ".join(warnings))


async def _host_remedies(hosts: Sequence[str], allowed: Sequence[str], guard: Guard) -> list[str]:
    return await asyncio.gather(*(_host_remedy_or_empty(host, host in allowed, guard) for host in hosts))


async def _host_remedy_or_empty(entry: str, allowed: bool, guard: Guard) -> str:
    """Return what would allow the address of a host; "" where it is allowed, or nobody knows the name here."""
    host = name_and_port_of_host_or_none(entry)
    if host is None:
        return ""
    # As the guard would be with the tick, so that nothing is proposed that would not help
    ticked = replace(guard, inside=(host,))
    if not await _is_host_address_refused(host, ticked if allowed else guard):
        return ""
    return LISTED if allowed or await _is_host_address_refused(host, ticked) else TICK


async def _is_host_address_refused(host: tuple[str, int], guard: Guard) -> bool:
    try:
        await asyncio.wait_for(guard.allowed_addresses(*host), HOST_SECONDS)
    except RefusedAddress:
        return True
    except (httpx2.ConnectError, TimeoutError):
        # Who does not know the name here cannot say that its address is private.
        pass
    return False
