"""Findings of lint as a page shows them: whole sentences with names, the situation that shows one, its help page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _

from pipelines.routing.analysis.lint.checks import not_publishable
from pipelines.routing.analysis.lint.finding import ERROR, INFO, WARNING, Finding
from pipelines.routing.analysis.lint.policy_outcome import then
from pipelines.routing.basics.wording import as_sentence, words
from pipelines.routing.document.model import Line
from pipelines.routing.sentences import references as named
from pipelines.routing.sentences.fields import field_of, label
from pipelines.web.lines.document_places import PathParts, parts_of

MOST = 200
"""Findings on a page; the tool and the API give all."""
ICONS = {ERROR: "danger", WARNING: "warning"}
SEVERITIES = {ERROR: lambda: _("error"), WARNING: lambda: _("warning"), INFO: lambda: _("note")}


@dataclass(frozen=True, slots=True)
class FindingView:
    finding: Finding
    message: str
    hint: str
    severity: str
    icon: str
    help: str
    example: str
    then: str


def shown(findings: Sequence[Finding], document: object, line: Line | None) -> list[FindingView]:
    """The worst first, as lint gives them; no more than MOST. `line`: what the document says, where it says one."""
    return [_shown(finding, document, line) for finding in findings[:MOST]]


def message_of(finding: Finding, document: object) -> str:
    """What keeps a line from being published is said about a place: its name comes first."""
    if finding.check != not_publishable.ID:
        return as_sentence(finding.message)
    place = place_words(document, finding.path)
    return as_sentence(f"{place} {words(finding.message)}" if place else finding.message)


def place_words(document: object, path: str) -> str:
    """A place in a document by names: “Lint · rule 2 · when.output”."""
    found = parts_of(document, path)
    names = (found.member.get("name"), found.member.get("key"))
    name = next((each for each in names if isinstance(each, str) and each), "")
    number = _("rule %(number)s") % {"number": found.number} if found.number else ""
    return " · ".join(filter(None, (name, number, _field(found))))


def _field(found: PathParts) -> str:
    """A field as its form calls it; anything else by its place."""
    kind = "rule" if found.number else found.what.removesuffix("s") or "line"
    work = found.member.get("work")
    of_work = str(work.get("kind")) if isinstance(work, Mapping) else ""
    field = field_of(kind, found.rest, of_work) if found.rest else None
    return label(field, found.rest) if field and field.label else found.rest


def _shown(finding: Finding, document: object, line: Line | None) -> FindingView:
    witness = finding.witness
    given = witness.situation if witness else {}
    parts = {key: given[key] for key in ("outcome", "facts") if key in given}
    return FindingView(
        finding=finding,
        message=message_of(finding, document),
        hint=as_sentence(finding.hint),
        severity=SEVERITIES[finding.severity](),
        icon=ICONS.get(finding.severity, "info"),
        help=reverse("help-page", args=[finding.check]),
        example=json.dumps(parts, indent=2, ensure_ascii=False, default=str) if parts else "",
        then=_decided(finding, line),
    )


def _decided(finding: Finding, line: Line | None) -> str:
    if finding.witness is None or line is None:
        return ""
    if finding.witness.rule is None:
        return words(then(line, finding.witness.decision))
    return _("rule %(rule)s takes it") % {"rule": words(named.rule(line, finding.witness.rule))}
