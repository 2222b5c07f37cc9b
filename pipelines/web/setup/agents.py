"""Choosing a coding agent: which are installed on which runner, and what each still lacks before it can work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from pipelines.models import Project, Worker
from pipelines.ports.vault.finding import Reach
from pipelines.ports.vault.store import SECRET
from pipelines.routing.document.agents import TABLE, Preset
from pipelines.web.project.repositories import CheckRow


@dataclass(frozen=True)
class AgentInstall:
    """Where a program is, as its runner told."""

    worker: str
    path: str
    version: str
    seconds: float

    @property
    def number(self) -> str:
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

    @property
    def key(self) -> str:
        return self.preset.key

    @property
    def fixed(self) -> bool:
        return self.preset.fixed

    @property
    def where(self) -> str:
        if self.fixed:
            return _("built in · applies lint fixes, no model")
        if not self.installs:
            return _("not found on %(runners)s") % {"runners": self._runners()}
        first = self.installs[0]
        found = _("found on %(runner)s") % {"runner": first.worker}
        return f"{found} · {first.number}" if first.number else found

    def _runners(self) -> str:
        return ", ".join(self.runners) or _("any runner")

    @property
    def lacking(self) -> int:
        return sum(check.tone == "danger" for check in self.checks)

    @property
    def ready(self) -> bool:
        return not self.lacking and not self.lacks_program

    @property
    def passed(self) -> int:
        return sum(check.tone == "ok" for check in self.checks)

    @property
    def looked_at(self) -> int:
        """How many checks passed or failed; the others wait."""
        return self.passed + self.lacking

    @property
    def waiting(self) -> int:
        return len(self.checks) - self.looked_at

    @property
    def lacks_program(self) -> bool:
        return not self.fixed and not self.installs

    @property
    def lacks_key(self) -> bool:
        return not self.fixed and not self.stored

    @property
    def wanted_secret(self) -> str:
        return self.preset.secrets[0] if self.preset.secrets else ""

    @property
    def checks(self) -> list[CheckRow]:
        return list(self._checks())

    def _checks(self) -> Iterator[CheckRow]:
        if not self.runners:
            yield _failed(_("Runner"), _("No active runner serves this project."))
        if self.fixed:
            yield _passed(_("Program found"), _("part of the runner"))
            yield _passed(_("Key"), _("needs none"))
            yield _waiting(
                _("Fixers"), _("ruff, eslint, biome, prettier or gofmt, as the repository is set up")
            )
            return
        yield from self._program()
        if self.stored:
            yield _passed(_("Key stored"), _("as the secret %(name)s") % {"name": self.stored[0]})
        else:
            lacking = _waiting if self.lacks_program else _failed
            yield lacking(_("Key stored"), _("no secret %(name)s") % {"name": self.wanted_secret})
        hosts = ", ".join(self.preset.hosts)
        yield _waiting(_("Model reachable"), _("%(hosts)s: the first task shows it") % {"hosts": hosts})

    def _program(self) -> Iterator[CheckRow]:
        if not self.installs:
            program = self.preset.argv[0]
            yield _waiting(
                _("Program found"), _("no %(program)s on the path of stations") % {"program": program}
            )
            yield _waiting(_("Version"), _("not looked at"))
            return
        first = self.installs[0]
        yield _passed(_("Program found"), first.path)
        tried = ", ".join(self.preset.versions)
        if first.number in self.preset.versions:
            yield _passed(
                _("Version"), _("%(version)s, tried with it") % {"version": first.number}, first.seconds
            )
        elif first.number:
            words = {"version": first.number, "tried": tried}
            yield _passed(_("Version"), _("%(version)s, tried with %(tried)s") % words, first.seconds)
        else:
            yield _failed(_("Version"), _("it does not say its version"), first.seconds)

    @property
    def log(self) -> list[tuple[str, str]]:
        """(what the runner called, what came back)."""
        program = self.preset.argv[0]
        if self.fixed:
            return []
        if not self.installs:
            return [(f"which {program}", _("not found"))]
        first = self.installs[0]
        return [(f"which {program}", first.path), (f"{program} --version", first.version or _("nothing"))]


def _passed(label: str, fact: str, seconds: float | None = None) -> CheckRow:
    return CheckRow(label, fact, "", _took(seconds), "ok", "end-completed")


def _failed(label: str, fact: str, seconds: float | None = None) -> CheckRow:
    return CheckRow(label, fact, "", _took(seconds), "danger", "end-failed")


def _waiting(label: str, fact: str) -> CheckRow:
    return CheckRow(label, fact, "", "", "neutral", "status-queued")


def _took(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return _("under 0.1 s") if seconds < 0.1 else _("%s s") % seconds


def choices(project: Project, workers: Sequence[Worker]) -> list[AgentChoice]:
    """Codemod second, as the one that always works; then those that are installed; the tried before the others."""
    serving = [each for each in workers if each.owners is None or project.owner.key in each.owners]
    stored = set(Reach(project.owner_id, project.pk).names(SECRET))
    found = [_choice(preset, serving, stored) for preset in TABLE]
    rank = {choice.key: (choice.lacks_program, not choice.preset.tried) for choice in found}
    return sorted(found, key=lambda choice: rank[choice.key])


def _choice(preset: Preset, serving: Sequence[Worker], stored: set[str]) -> AgentChoice:
    return AgentChoice(
        preset,
        [
            AgentInstall(each.name, **_told(each.agents[preset.key]))
            for each in serving
            if preset.key in each.agents
        ],
        [each.name for each in serving],
        [name for name in preset.secrets if name in stored],
    )


def _told(said: dict[str, Any]) -> dict[str, Any]:
    return {"path": said["path"], "version": said["version"], "seconds": said["seconds"]}
