"""The scenarios that are kept with a line: put, delete, run, generate. They are its tests, and part of no version."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any

from django.db import transaction
from django.utils.text import slugify

from pipelines import access
from pipelines.engine.core import payload
from pipelines.errors import Conflict, Invalid, NotFound, Refused
from pipelines.models import Line, Scenario, User
from pipelines.queries import versions
from pipelines.routing.basics import keys
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.document.line import DocumentError, ParsedLine, Problem, read_line
from pipelines.routing.simulate.coverage import Coverage, CoveredParts, covered_parts
from pipelines.routing.simulate.path_search import Going, accept_always
from pipelines.routing.simulate.report import ScenarioReport, run_and_report_scenarios
from pipelines.routing.simulate.run import ScenarioResult
from pipelines.routing.simulate.scenario import MAX_SCENARIOS, read_scenario
from pipelines.routing.simulate.scenario import ScenarioScript as Script
from pipelines.routing.simulate.scenario_generation import GeneratedScenarios
from pipelines.routing.simulate.scenario_generation import generate_scenarios as generated_for
from pipelines.routing.simulate.scenario_keys import script_with_new_keys

DRAFT, LIVE = "draft", "live"
MAX_STEPS_AT_ONCE = 100_000
"""Of all scenarios that one request runs: some ten seconds. The command line has no such bound."""
GENERATING = 10
"""Seconds for which a request may generate. The command line has no such bound."""
SHOWN_FAILURES = 5


class DraftUnreadable(Conflict):
    """`problems` says why."""

    says = "The draft cannot be read as a line. Nothing can be run against it."

    def __init__(self, problems: Iterable[Problem]) -> None:
        super().__init__()
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class ScenarioSubject:
    """Subject that scenarios are run against. `mark`: draft, live, or "" for another version; `number`: of
    the draft or of the version."""

    mark: str
    number: int
    parsed: ParsedLine

    @property
    def name(self) -> str:
        return f"draft {self.number}" if self.mark == DRAFT else f"v{self.number}"


@dataclass(frozen=True, slots=True)
class LastRun:
    """`current`: of the draft or version that there is now. `shown`: what it covers."""

    number: int
    holds: bool
    failures: tuple[str, ...]
    at: str
    shown: CoveredParts
    current: bool


def scenario_subject(line: Line, against: str | int = "") -> ScenarioSubject:
    """`against`: draft, live, or the number of a version; "" is live, or the draft of a line without a version.

    Raises NotFound, DraftUnreadable."""
    if against == DRAFT or (against == "" and line.live is None):
        try:
            return ScenarioSubject(DRAFT, line.draft_number, read_line(line.draft, keep_faulty_rules=True))
        except DocumentError as fault:
            raise DraftUnreadable(fault.problems) from fault
    version = line.live if against in (LIVE, "") else access.version_of_permitted_line(line, against)
    if version is None:
        raise NotFound("This line has no such version.")
    return ScenarioSubject(
        LIVE if version.pk == line.live_id else "", version.number, versions.parsed_version(version)
    )


def subject_of_document(line: Line, document: Mapping[str, Any]) -> ScenarioSubject:
    """A document that somebody is drawing: the draft, if it is stored as it is. Raises DraftUnreadable."""
    mark = DRAFT if document == line.draft else ""
    try:
        return ScenarioSubject(mark, line.draft_number, read_line(document, keep_faulty_rules=True))
    except DocumentError as fault:
        raise DraftUnreadable(fault.problems) from fault


def unused_scenario_key(line: Line, name: str) -> str:
    """A key that none of the line's scenarios has, made of a name."""
    used_keys = set(line.scenarios.values_list("key", flat=True))
    # Leaves room for a number: a key has 64 characters.
    plain = slugify(name)[:56].strip("-_") or "scenario"
    return keys.first_unused_key(plain, used_keys)


# Writing


def store_scenario(
    line: Line,
    document: Any,
    user: User,
    now: datetime,
    *,
    key: str = "",
    source: str = Scenario.Source.WRITTEN,
) -> Scenario:
    """Store one scenario, in the place of the one with its key. `key`: the one that the document must have.

    Raises Forbidden, Invalid (with the place in the document), Conflict (too many)."""
    access.require_permission(user, "design", line.project)
    script = read_script(document)
    if key and script.key != key:
        raise Invalid.at("key", f"is not “{key}”", "A scenario is identified by its key.")
    return store_scenarios(line, [script], user, now, source=source)[0]


def read_script(document: Any) -> Script:
    """Raises Invalid with the place of the first fault."""
    try:
        script = read_scenario(document)
    except Malformed as fault:
        raise Invalid.at(fault.path, fault.message) from fault
    payload.checked_digest(script.to_dict())
    return script


def store_scenarios(
    line: Line,
    scripts: Iterable[Script],
    user: User,
    now: datetime,
    *,
    source: str = Scenario.Source.WRITTEN,
) -> list[Scenario]:
    """Store several: each in the place of the one with its key. What they showed before is forgotten.

    Raises Forbidden, Conflict."""
    access.require_permission(user, "design", line.project)
    rows = [
        Scenario(
            line=line,
            key=script.key,
            name=script.name,
            document=script.to_dict(),
            source=source,
            made_by=user,
            at=now,
        )
        for script in scripts
    ]
    fields = ["name", "document", "source", "made_by", "at", "runs"]
    with transaction.atomic():
        Scenario.objects.bulk_create(
            rows, update_conflicts=True, update_fields=fields, unique_fields=["line", "key"]
        )
        # Counted afterwards, as some took the place of others; raising undoes them all.
        if line.scenarios.count() > MAX_SCENARIOS:
            raise Conflict(f"A line keeps at most {MAX_SCENARIOS} scenarios.")
    return rows


def rename_parts_in_scenarios(line: Line, rekeyed: Mapping[tuple[str, str], str]) -> None:
    """Let scenarios name parts, {(kind, key before): key now}, by their new keys; what those showed before is
    forgotten."""
    changed = []
    # Locked: a run that ends meanwhile writes what it showed into the same row
    for row in line.scenarios.select_for_update():
        script = read_scenario(row.document)
        followed = script_with_new_keys(script, rekeyed)
        if followed != script:
            row.document, row.runs = followed.to_dict(), {}
            changed.append(row)
    Scenario.objects.bulk_update(changed, ["document", "runs"], batch_size=500)


def delete_scenario(line: Line, key: str, user: User) -> None:
    """Raises Forbidden, NotFound."""
    access.require_permission(user, "design", line.project)
    # PostgreSQL takes no NUL, and no key holds one.
    if "\0" in key or not line.scenarios.filter(key=key).delete()[0]:
        raise NotFound("This line has no such scenario.")


def stored_and_generated_scenarios(
    line: Line, user: User, now: datetime, against: str | int = "", going: Going = accept_always
) -> tuple[list[Scenario], GeneratedScenarios]:
    """Generate one scenario per rule that can be taken, in place of those generated before; return also why
    some rules have none.

    Raises Forbidden, NotFound, DraftUnreadable.
    """
    return stored_and_generated_scenarios_of_subject(line, scenario_subject(line, against), user, now, going)


def stored_and_generated_scenarios_of_subject(
    line: Line, subject: ScenarioSubject, user: User, now: datetime, going: Going = accept_always
) -> tuple[list[Scenario], GeneratedScenarios]:
    """Generate one scenario per rule that can be taken, for this subject. Raises Forbidden."""
    access.require_permission(user, "design", line.project)
    # Those that were generated before are replaced, so that their keys are free.
    existing = line.scenarios.exclude(source=Scenario.Source.GENERATED)
    generated = generated_for(subject.parsed, taken_keys=existing.values_list("key", flat=True), going=going)
    with transaction.atomic():
        line.scenarios.filter(source=Scenario.Source.GENERATED).delete()
        rows = store_scenarios(line, generated.scenarios, user, now, source=Scenario.Source.GENERATED)
    return rows, generated


def condition_until_generating_time_ends() -> Going:
    """Return a condition that holds until the time that generating may take has passed."""
    end = monotonic() + GENERATING
    return lambda: monotonic() < end


# Running


def run_stored_scenarios(
    line: Line,
    against: str | int = "",
    keys: Collection[str] | None = None,
    *,
    now: datetime,
) -> ScenarioReport:
    """Run the stored scenarios (those with these keys), and keep what became of them where it was the draft or the
    live version. Raises NotFound (a version, a key), DraftUnreadable, Refused (more than one request may run)."""
    return run_stored_and_store_results(line, scenario_subject(line, against), keys, now=now)


def run_stored_and_store_results(
    line: Line,
    subject: ScenarioSubject,
    keys: Collection[str] | None = None,
    *,
    now: datetime,
) -> ScenarioReport:
    """Run the stored scenarios against this subject. Raises NotFound (a key), Refused."""
    rows = list(line.scenarios.order_by("key") if keys is None else line.scenarios.filter(key__in=keys))
    for key in set(keys or ()) - {row.key for row in rows}:
        raise NotFound(f"This line has no scenario “{key}”.")
    scripts = [read_scenario(row.document) for row in rows]
    # Each step is a decision, and a page waits for all of them
    if sum(len(script.steps) for script in scripts) > MAX_STEPS_AT_ONCE:
        raise Refused("These are too many steps for one request. Use `python -m pipelines.routing simulate`.")
    scenario_report = run_and_report_scenarios(subject.parsed, scripts, f"{line.key} {subject.name}")
    # Of an older version nobody looks for the last result
    if subject.mark:
        _store_results(rows, scenario_report.results, subject, now)
    return scenario_report


def _store_results(
    rows: list[Scenario], results: Iterable[ScenarioResult], subject: ScenarioSubject, now: datetime
) -> None:
    for row, result in zip(rows, results, strict=True):
        row.runs = {**row.runs, subject.mark: _stored_result(result, subject, now)}
    Scenario.objects.bulk_update(rows, ["runs"], batch_size=500)


def _stored_result(result: ScenarioResult, subject: ScenarioSubject, now: datetime) -> dict[str, Any]:
    return {
        "number": subject.number,
        "holds": result.holds,
        "failures": [str(failure)[:1000] for failure in result.failures[:SHOWN_FAILURES]],
        "at": now.isoformat(),
        "shown": covered_parts(result).to_dict(),
    }


def last_run_against_or_none(scenario: Scenario, mark: str, number: int | None) -> LastRun | None:
    """Return the last run against the draft or the live version; None if there was none. `number`: the current
    number of that draft or version."""
    stored: Mapping[str, Any] | None = scenario.runs.get(mark)
    if stored is None:
        return None
    return LastRun(
        number=stored["number"],
        holds=stored["holds"],
        failures=tuple(stored["failures"]),
        at=stored["at"],
        shown=CoveredParts.from_dict(stored["shown"]),
        current=stored["number"] == number,
    )


def stored_coverage(line: Line, subject: ScenarioSubject) -> Coverage:
    """Return what the last runs against this draft or version show together."""
    exercised = CoveredParts()
    for scenario in line.scenarios.all():
        latest = last_run_against_or_none(scenario, subject.mark, subject.number)
        # A run against an earlier draft says nothing of this one.
        if latest and latest.current:
            exercised = exercised | latest.shown
    return Coverage.of(subject.parsed, exercised)
