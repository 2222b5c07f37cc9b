"""`manage.py impact LINE --to 7|draft [--map old=new]`: what a version would do to the running tasks of its line."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from pipelines.errors import Refused
from pipelines.lines import migrating
from pipelines.lines.migrating import Impact
from pipelines.management import printing
from pipelines.management.commands.load_demo import administrator
from pipelines.management.commands.submit import find_line
from pipelines.models import Line, LineVersion
from pipelines.routing.basics import jsontext
from pipelines.routing.sentences import impacts


class Command(printing.Command):
    help = "Say what a version, or the draft, would do to each running task of its line. Changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        line_arguments(parser)
        parser.add_argument("--to", default="draft", help="the number of a version, or draft")
        parser.add_argument("--json", action="store_true", help="everything as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        user = administrator(options["user"])
        line = find_line(user, options["line"], options["project"])
        found = impact_or_error(line, target(line, options["to"]), options)
        if options["json"]:
            self.stdout.write(jsontext.dumps(found.to_dict(), ascii_only=False, indent=2))
        else:
            self.stdout.write(text_of(found))


def line_arguments(parser: CommandParser) -> None:
    parser.add_argument("line", help="the key of the line")
    parser.add_argument("--project", default="", help="owner/project, where several have such a line")
    parser.add_argument("--as", dest="user", default="", help="who asks for it (the first administrator)")
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="a station that is gone, and where its tasks go; may be repeated",
    )
    parser.add_argument(
        "--task", action="append", default=[], metavar="WI-…", help="only this task; may be repeated"
    )


def impact_or_error(line: Line, to: LineVersion | None, options: dict[str, Any]) -> Impact:
    try:
        return migrating.impact_of(line, to, mapping_of(options["map"]), numbers(line, options["task"]))
    except Refused as refused:
        raise CommandError(str(refused)) from refused


def target(line: Line, said: str) -> LineVersion | None:
    if said == "draft":
        return None
    number = int(said) if said.isascii() and said.isdigit() and len(said) < 10 else 0
    found = line.versions.filter(number=number).first()
    if found is None:
        raise CommandError(f"The line “{line.key}” has no version {said}.")
    return found


def mapping_of(pairs: list[str]) -> dict[str, str]:
    mapping = {}
    for pair in pairs:
        old, sign, new = pair.partition("=")
        if not (old and sign and new):
            raise CommandError(f"--map {pair}: say it as OLD=NEW.")
        mapping[old] = new
    return mapping


def numbers(line: Line, names: list[str]) -> list[int] | None:
    if not names:
        return None
    found = [name.removeprefix(f"WI-{line.project.key}-") for name in names]
    wrong = [
        name for name, digits in zip(names, found, strict=True) if name == digits or not digits.isdecimal()
    ]
    if wrong:
        raise CommandError(f"“{wrong[0]}” is not a task of this project; use WI-{line.project.key}-42.")
    return [int(digits) for digits in found]


def text_of(found: Impact) -> str:
    """One line a position, the worst first; then the sums."""
    order = list(found.counts)
    lines = []
    for each in sorted(found.tasks, key=lambda each: order.index(each.effect)):
        for _token, effect, words in each.positions:
            lines.append(
                f"{each.task.name:14} v{each.task.pinned.number:<4} {impacts.label(effect.effect):22} {words}"
            )
    name = f"v{found.to.number}" if found.to else "the draft"
    sums = ", ".join(f"{n} {impacts.label(effect).lower()}" for effect, n in found.counts.items() if n)
    lines.append(f"{len(found.tasks)} running tasks are not on {name}{': ' + sums if sums else ''}.")
    lines.append(f"Decided under revision {found.parsed.revision} of the law.")
    if found.needs:
        lines.append("Needs a mapping: " + ", ".join(f"--map {key}=…" for key in found.needs))
    if found.next_gone:
        lines.append("May need one, too: " + ", ".join(f"--map {key}=…" for key in found.next_gone))
    lines.append(f"Digest: {found.digest}")
    return "\n".join(lines)
