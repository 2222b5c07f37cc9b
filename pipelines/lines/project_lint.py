"""Lint of documents that belong to a project: with its people, remembered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from pipelines.engine.core import payload
from pipelines.engine.moves.entitlement import entitled_people_by_id
from pipelines.errors import Invalid
from pipelines.formats import native
from pipelines.models import Group, Project, Repository, Role
from pipelines.models.people import included_roles
from pipelines.queries.protections import protections_by_repository
from pipelines.routing.analysis.lint.examination import Examination, examine_line, unreadable_examination
from pipelines.routing.analysis.lint.guarantee_findings import GuaranteeFinding
from pipelines.routing.analysis.lint.people import People
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.values import MAX_VALUES, has_more_nodes
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document import line as routing
from pipelines.routing.document.line import DocumentError, Problem
from pipelines.routing.guarantees.guarantee_proofs import guarantee_answers
from pipelines.routing.guarantees.protection import Protection, protection_answers

Required = tuple[tuple[tuple[str, str], tuple[str, ...]], ...]
Protections = tuple[tuple[str, Protection], ...]
REMEMBERED = 8
"""Documents per process; stations are remembered besides, one by one (`routing/analysis/lint/station_analysis.py`)."""


def examine_document(document: Mapping[str, Any], project: Project, text: str | bytes = "") -> Examination:
    """Return all findings of lint on a document, for the people of this project. With `text`, the one that
    the document was read from, every finding has its line and column. A document that is no line has its
    problems as findings. Raises Invalid: what no draft may hold."""
    question = _LintRequest(
        payload.checked_digest(document),
        project_people(project),
        required_checks(project),
        project_protections(project),
        document,
    )
    examination = _cached_examination(question)
    return (
        examination.with_positions(lambda problems: native.problems_with_places(text, problems))
        if text
        else examination
    )


def read_draft(document: Mapping[str, Any]) -> routing.ParsedLine | tuple[Problem, ...]:
    """Return the line of a draft with its faulty rules, or its problems if it is no line. Cached. Raises
    Invalid for what no draft may hold."""
    return _cached_line_or_problems(_DocumentKey(payload.checked_digest(document), document))


def examine_text(text: str | bytes, project: Project) -> Examination:
    """Return all findings of lint on a text, which may be neither YAML nor JSON. Raises nothing."""
    try:
        return examine_document(native.loads(text), project, text)
    except (DocumentError, Invalid) as fault:
        return unreadable_examination(fault.problems)


def project_people(project: Project) -> People:
    """Return the people who can decide in a project at this moment."""
    members = sorted(entitled_people_by_id(project.pk).values(), key=lambda person: person.username)
    return People(
        voters=tuple(person.as_voter for person in members),
        operators=frozenset(p.username for p in members if Role.OPERATOR in included_roles(p.roles)),
        groups=tuple(Group.objects.filter(project=project).order_by("key").values_list("key", "name")),
    )


def required_checks(project: Project) -> Required:
    """Return the checks that hosts require before they merge, as the last test of each connection reported
    them; those of the default branch too, which a line may also name."""
    requirements: list[tuple[tuple[str, str], tuple[str, ...]]] = []
    rows = Repository.objects.filter(project=project, tested__isnull=False).order_by("name")
    for name, tested in rows.values_list("name", "tested"):
        for check in tested or ():
            if check.get("required"):
                names = tuple(check["required"])
                requirements += [((name, ""), names), ((name, check["branch"]), names)]
    return tuple(requirements)


def project_protections(project: Project) -> Protections:
    """Return the protections that each repository asks for, by its name."""
    return tuple(sorted(protections_by_repository(project).items()))


@dataclass(frozen=True)
class _LintRequest:
    digest: str
    people: People
    required: Required
    protections: Protections
    # The digest stands for it: a document cannot be hashed.
    document: Mapping[str, Any] = field(compare=False)


@dataclass(frozen=True)
class _DocumentKey:
    digest: str
    document: Mapping[str, Any] = field(compare=False)


@lru_cache(maxsize=REMEMBERED)
def _cached_examination(question: _LintRequest) -> Examination:
    line = _cached_line_or_problems(_DocumentKey(question.digest, question.document))
    if not isinstance(line, routing.ParsedLine):
        return unreadable_examination(line)
    prove = partial(_guarantee_findings, protections=dict(question.protections))
    return examine_line(line, question.people, dict(question.required), prove)


def _guarantee_findings(
    subject: LintSubject, protections: Mapping[str, Protection]
) -> tuple[GuaranteeFinding, ...]:
    """Prove the promises of a line, then those that its repository asks for."""
    repository = subject.line.workspace.repository if subject.line.workspace else ""
    return (
        *guarantee_answers(subject),
        *protection_answers(subject, repository, protections.get(repository, Protection())),
    )


@lru_cache(maxsize=REMEMBERED)
def _cached_line_or_problems(text: _DocumentKey) -> routing.ParsedLine | tuple[Problem, ...]:
    """A line whose faulty rules are kept; or all problems, those of rules among them."""
    if has_more_nodes(text.document, MAX_VALUES):  # a draft from before there was this bound
        return (Problem("", _("the document holds more than %(most)s values", most=MAX_VALUES)),)
    try:
        return routing.read_line(text.document, keep_faulty_rules=True)
    except DocumentError as fault:
        problems = fault.problems
    try:
        routing.read_line(text.document)
    except DocumentError as fault:
        problems = fault.problems
    return problems
