"""Choosing a coding agent: which are installed on which runner, and what each still lacks before it can work."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from pipelines.models import Project, Worker
from pipelines.ports.vault.store import SECRET, VARIABLE
from pipelines.ports.vault.value_lookup import (
    ValueScope,
    readable_secret_by_name,
    record_use_if_not_lately_recorded,
)
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.agents import TABLE, Preset
from pipelines.routing.document.kinds.agent import SIGNED_IN
from pipelines.web.project.repositories import CheckRow
from pipelines.work.agents.codemod import FIXERS
from pipelines.work.agents.model_probe import (
    ANSWERED,
    AWAY,
    REFUSED,
    UNKNOWN,
    ModelAnswer,
    probe_model,
    secret_that_can_ask_model,
)
from pipelines.work.outgoing.guard import Guard

FIXER_NAMES = ", ".join(fixer.name for fixer in FIXERS)


@dataclass(frozen=True)
class AgentInstall:
    """Installation of an agent's program, as its runner reported it."""

    worker: str
    path: str
    version: str
    seconds: float

    @property
    def version_number(self) -> str:
        """The version alone, of “2.1.330 (Claude Code)” or “codex-cli 0.169.0”."""
        return next((word for word in self.version.split() if word[:1].isdigit()), self.version)


@dataclass(frozen=True)
class AgentChoice:
    """`installs`: empty where no runner that serves the project has it. `stored`: those of its secrets that are
    there."""

    preset: Preset
    installs: Sequence[AgentInstall]
    runners: Sequence[str]
    stored: Sequence[str]
    signed_in: Sequence[str] = ()
    """Names of the runners on which somebody is signed in with it."""
    answer: ModelAnswer | None = None
    """What its model said when it was asked last in this session."""

    @property
    def key(self) -> str:
        return self.preset.key

    @property
    def is_built_in(self) -> bool:
        return self.preset.fixed

    @property
    def location_text(self) -> str:
        if self.is_built_in:
            return "built in · applies lint fixes, no model"
        if not self.installs:
            return f"not found on {self._runner_names()}"
        first = self.installs[0]
        own = first.worker == platform.node()
        location = f"found on {f'this machine ({first.worker})' if own else first.worker}"
        return f"{location} · {first.version_number}" if first.version_number else location

    def _runner_names(self) -> str:
        names = ", ".join(self.runners)
        if list(self.runners) == [platform.node()]:
            return f"this machine ({names})"
        return (
            f"{singular_or_plural('runner', 'runners', len(self.runners))} {names}" if names else "any runner"
        )

    @property
    def failed_count(self) -> int:
        return sum(check.tone == "danger" for check in self.checks)

    @property
    def is_ready(self) -> bool:
        return not self.failed_count and not self.lacks_program

    @property
    def passed_count(self) -> int:
        return sum(check.tone == "ok" for check in self.checks)

    @property
    def checked_count(self) -> int:
        """Number of checks that passed or failed; the others wait."""
        return self.passed_count + self.failed_count

    @property
    def waiting_count(self) -> int:
        return len(self.checks) - self.checked_count

    @property
    def may_go_on(self) -> bool:
        """A key can come later, or a subscription that is signed in on the runner takes its place."""
        lacks = [check for check in self.checks if check.tone == "danger"]
        # A missing key is the only thing that may lack.
        return not self.lacks_program and bool(self.runners) and len(lacks) == int(self.lacks_key)

    @property
    def lacks_program(self) -> bool:
        return not self.is_built_in and not self.installs

    @property
    def lacks_key(self) -> bool:
        return not (self.is_built_in or self.stored or self.signed_in)

    @property
    def required_secret(self) -> str:
        return self.preset.secrets[0] if self.preset.secrets else ""

    @property
    def checks(self) -> list[CheckRow]:
        return list(self._checks())

    def _checks(self) -> Iterator[CheckRow]:
        if not self.runners:
            yield _failed_row("Runner", "No active runner serves this project.")
        if self.is_built_in:
            yield _passed_row("Program found", "part of the runner")
            yield _passed_row("Key", "needs none")
            note = f"{FIXER_NAMES}; what flake8 finds, by ruff: as scripts or files of the repository say"
            yield _waiting_row("Fixers", note)
            return
        yield from self._program_checks()
        if self.stored:
            yield _passed_row("Key stored", f"as the secret {self.stored[0]}")
        elif self.signed_in:
            yield _passed_row("Signed in", f"on {', '.join(self.signed_in)}")
        else:
            # Without the program the key is no fault yet.
            lacking = _waiting_row if self.lacks_program else _failed_row
            yield lacking("Key stored", f"no secret {self.required_secret}")
        yield self._model_check()

    @property
    def secret_name_for_model_check_or_empty(self) -> str:
        """The secret with which its model can be asked, "" where nobody knows how."""
        return secret_that_can_ask_model(self.preset, list(self.stored))

    def _model_check(self) -> CheckRow:
        label, hosts = "Model reachable", ", ".join(self.preset.hosts)
        if not self.secret_name_for_model_check_or_empty:
            unknown = "%(hosts)s: cannot be checked without a key of its own; the first task shows it"
            return _waiting_row(label, unknown % {"hosts": hosts})
        if self.answer is None:
            return _waiting_row(label, f"{hosts}: not checked yet")
        words = {"host": self.answer.host, "said": self.answer.said}
        if self.answer.state == ANSWERED:
            return _passed_row(label, "{host} accepts the key".format(**words), self.answer.seconds)
        if self.answer.state == REFUSED:
            return _failed_row(label, "{host} refuses the key ({said})".format(**words), self.answer.seconds)
        if self.answer.state == AWAY:
            return _waiting_row(
                label, "not from this server: {said}. A runner elsewhere may reach it".format(**words)
            )
        return _waiting_row(label, "{host} answers {said}; the first task shows it".format(**words))

    def _program_checks(self) -> Iterator[CheckRow]:
        if not self.installs:
            program = self.preset.argv[0]
            yield _waiting_row("Program found", f"no {program} on the path of stations")
            yield _waiting_row("Version", "not looked at")
            return
        first = self.installs[0]
        yield _passed_row("Program found", first.path)
        tried = ", ".join(self.preset.versions)
        if first.version_number in self.preset.versions:
            yield _passed_row("Version", f"{first.version_number}, tried with it", first.seconds)
        elif first.version_number:
            words = {"version": first.version_number, "tried": tried}
            yield _passed_row("Version", "{version}, tried with {tried}".format(**words), first.seconds)
        else:
            yield _failed_row("Version", "it does not say its version", first.seconds)

    @property
    def log(self) -> list[tuple[str, str]]:
        """(what the runner called, what came back)."""
        program = self.preset.argv[0]
        if self.is_built_in:
            return []
        if not self.installs:
            return [(f"which {program}", "not found")]
        first = self.installs[0]
        return [(f"which {program}", first.path), (f"{program} --version", first.version or "nothing")]


def _passed_row(label: str, fact: str, seconds: float | None = None) -> CheckRow:
    return CheckRow(label, fact, "", _duration_text(seconds), "ok", "end-completed")


def _failed_row(label: str, fact: str, seconds: float | None = None) -> CheckRow:
    return CheckRow(label, fact, "", _duration_text(seconds), "danger", "end-failed")


def _waiting_row(label: str, fact: str) -> CheckRow:
    return CheckRow(label, fact, "", "", "neutral", "status-queued")


def _duration_text(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return "under 0.1 s" if seconds < 0.1 else f"{seconds} s"


@sensitive_variables()
def ask_model(project: Project, choice: AgentChoice, now: datetime) -> ModelAnswer:
    """Ask the model with the stored key, from this server. That is a use of the key. It has a key to ask with."""
    reach = ValueScope(project.owner_id, project.pk)
    stored = reach.nearest_value_by_name(SECRET, [choice.secret_name_for_model_check_or_empty])
    key = readable_secret_by_name(stored).get(choice.secret_name_for_model_check_or_empty, "")
    if not key:
        return ModelAnswer(UNKNOWN, said="The key cannot be read. Store it again.")
    # Before the call: it is a use of the key, whatever comes of it.
    record_use_if_not_lately_recorded(stored.values(), now)
    stored_variables = reach.nearest_value_by_name(VARIABLE, choice.preset.environment)
    variables = {name: stored_value.content for name, stored_value in stored_variables.items()}
    guard = Guard(tuple(settings.PRIVATE_HOSTS), nat64=tuple(settings.NAT64_PREFIXES))
    return asyncio.run(probe_model(choice.secret_name_for_model_check_or_empty, key, variables, guard))


def agent_choices(
    project: Project, workers: Sequence[Worker], answers: Mapping[str, ModelAnswer]
) -> list[AgentChoice]:
    """Codemod second, as the one that always works; then those that are installed; the tried before the others."""
    # None: the worker serves every owner.
    serving = [worker for worker in workers if worker.owners is None or project.owner.key in worker.owners]
    stored = set(ValueScope(project.owner_id, project.pk).sorted_names_of_kind(SECRET))
    agent_choices = [_agent_choice(preset, serving, stored, answers.get(preset.key)) for preset in TABLE]
    rank = {choice.key: (choice.lacks_program, not choice.preset.tried) for choice in agent_choices}
    # Within a rank the order of the table stays.
    return sorted(agent_choices, key=lambda choice: rank[choice.key])


def _agent_choice(
    preset: Preset, serving: Sequence[Worker], stored: set[str], answer: ModelAnswer | None
) -> AgentChoice:
    return AgentChoice(
        preset,
        [
            AgentInstall(worker.name, **_install_fields(worker.agents[preset.key]))
            for worker in serving
            if preset.key in worker.agents
        ],
        [worker.name for worker in serving],
        [name for name in preset.secrets if name in stored],
        [worker.name for worker in serving if f"{SIGNED_IN}:{preset.key}" in (worker.offers or ())],
        answer,
    )


def _install_fields(program: dict[str, Any]) -> dict[str, Any]:
    return {"path": program["path"], "version": program["version"], "seconds": program["seconds"]}
