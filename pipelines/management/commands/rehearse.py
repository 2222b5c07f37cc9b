"""`manage.py rehearse LINE SCRIPT`: play one task through the real engine by a script, and print its path.

Exit code 0: every script that can be rehearsed met its expectation. 1: one did not. 2: nothing could be used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from pipelines.demo import example
from pipelines.errors import Refused
from pipelines.formats import native
from pipelines.formats import scenarios as texts
from pipelines.lines import publishing
from pipelines.lines.dry_run import DryRunStep, Rehearsed, rehearse
from pipelines.management import printing
from pipelines.management.commands.load_demo import administrator
from pipelines.management.commands.run_scenarios import KEYS, UNUSABLE
from pipelines.management.commands.submit import find_line
from pipelines.models import LineVersion, Membership, Owner, Project, Role, User
from pipelines.routing.document.line import DocumentError
from pipelines.routing.simulate.script import Script


class Command(printing.Command):
    help = "Play one task through the engine by a script, and print its path; see docs/rehearsing.md."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "line", metavar="LINE", help="a line (KEY, or owner/project/KEY), or the file of a line document"
        )
        parser.add_argument(
            "script",
            metavar="SCRIPT",
            help="the file of a script, YAML or JSON; of a line of the demo also a name",
        )
        parser.add_argument(
            "--only", default="", metavar="KEY", help="of several scripts in the file, this one"
        )
        parser.add_argument(
            "--as", dest="user", default="", help="who looks for the line (the first administrator)"
        )
        parser.add_argument("--json", action="store_true", help="each step as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            told = self._play(options)
        except (DocumentError, Refused) as refused:
            said = "\n".join(str(each) for each in getattr(refused, "problems", ())) or str(refused)
            raise CommandError(said, returncode=UNUSABLE) from None
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}", returncode=UNUSABLE) from None
        except CommandError as error:  # no such line, or nobody to look for it
            raise CommandError(str(error), returncode=UNUSABLE) from None
        if options["json"]:
            self.stdout.write(json.dumps([each.to_dict() for each in told], ensure_ascii=False, indent=2))
        else:
            self.stdout.write("\n\n".join(text_of(each) for each in told))
        missed = [each.script.scenario.key for each in told if each.failures]
        if missed:
            raise CommandError(f"not as expected: {', '.join(missed)}")

    def _play(self, options: dict[str, Any]) -> list[Rehearsed]:
        with subject(options["line"], options["user"]) as version:
            scripts = scripts_of(version.line.key, options["script"])
            wanted = [each for each in scripts if options["only"] in ("", each.scenario.key)]
            if not wanted:
                known = ", ".join(each.scenario.key for each in scripts)
                raise Refused(f"there is no script {options['only']} in this file; it has {known}")
            return [rehearse(version, each) for each in wanted]


def scripts_of(line: str, named: str) -> tuple[Script, ...]:
    """Those of a file; or, by its name, one that the demo has for its line of this key."""
    shipped = example.SCRIPTS / f"{line}.yaml"
    if Path(named).exists() or not shipped.is_file():
        return texts.load_scripts(Path(named).read_bytes())
    known = texts.load_scripts(shipped.read_bytes())
    found = tuple(each for each in known if each.scenario.key == named)
    if not found:
        keys = ", ".join(each.scenario.key for each in known)
        raise Refused(f"there is no file {named}, and no script of that name for {line}; it has {keys}")
    return found


@contextmanager
def subject(name: str, user: str) -> Iterator[LineVersion]:
    """The live version of a line of the database; or that of a file, published in a project that does not stay."""
    if Path(name).is_file():
        with transaction.atomic():
            try:
                yield _published(Path(name).read_bytes())
            finally:
                transaction.set_rollback(True)
        return
    keys = KEYS.match(name)
    key, project = (keys[3], f"{keys[1]}/{keys[2]}") if keys else (name, "")
    line = find_line(administrator(user), key, project)
    if line.live is None:
        raise Refused(f"{line.name} has no published version yet; publish it first.")
    yield line.live


def _published(text: bytes) -> LineVersion:
    """By somebody who may publish programs: none of them is run."""
    owner, _new = Owner.objects.get_or_create(key="rehearsal", defaults={"name": "Rehearsal"})
    now = timezone.now()
    project = Project.objects.create(owner=owner, key=f"r{now:%Y%m%d%H%M%S%f}", name="Rehearsal")
    user, _new = User.objects.get_or_create(username="rehearsal-publisher")
    Membership.objects.create(project=project, user=user, roles=[Role.ADMIN], execute=True)
    document = native.loads(text)
    key, title = str(document.get("key") or "line"), str(document.get("name") or "Line")
    line = publishing.create_line(project, key, title, native.as_text(text), user)
    return publishing.publish(line, user=user, based_on=line.draft_number)


def text_of(told: Rehearsed) -> str:
    scenario = told.script.scenario
    if told.unplayable:
        return f"{scenario.key}: {scenario.name}\n  not rehearsed: {told.unplayable}"
    lines = [f"{scenario.key}: {scenario.name}  ({told.task}, not kept)"]
    lines += [_step(step) for step in told.steps]
    ending = f"{told.end} ({told.status})" if told.end else told.status
    lines.append(f"  path: {' → '.join(told.path)}")
    lines.append(f"  {'as expected' if told.met else 'NOT AS EXPECTED'}: {ending}")
    lines += [f"    {failure}" for failure in told.failures]
    return "\n".join(lines)


def _step(step: DryRunStep) -> str:
    does = " ".join(filter(None, (step.who, f"at {step.at}" if step.at else "", step.said)))
    leads = ", ".join(step.entered) or step.status
    because = f"  [{step.why}]" if step.why else ""
    return f"  {step.number:>3}  {does:<60} → {leads}{because}"
