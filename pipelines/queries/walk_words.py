"""A walk through a line that is only tried, in words: what was done and where it led, and where its tokens stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pipelines.models import Escalation, Status, Word
from pipelines.queries.join_waits import join_result_words, join_wait_sentence
from pipelines.routing.analysis.lint.subject import edge_count_tests
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.decide.branch_joins.join_decision import join_groups_with_waiting_tokens
from pipelines.routing.document.algebra import EdgeCountTest
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.decisions import decision_sentence
from pipelines.routing.sentences.escalations import escalation_answer_terms, trigger_words
from pipelines.routing.sentences.failures import failure_word
from pipelines.routing.sentences.names import gate_name, rule_name, station_name, target_name
from pipelines.routing.sentences.waits import ProblemAndRemedy, hold_sentence, wait_sentence_or_none
from pipelines.routing.simulate import joins
from pipelines.routing.simulate.drawn_moves import moves_and_finishes
from pipelines.routing.simulate.scenario import ScenarioStep
from pipelines.routing.simulate.state import HELD, READY, SimulatedPosition, SimulatedTask, StepRecord

LONGEST = 80
TONES = {
    Status.STUCK: "danger",
    Status.FAILED: "danger",
    Status.BLOCKED: "attention",
    Status.HELD: "attention",
    Status.AWAITING_REVIEW: "attention",
    Status.COMPLETED: "ok",
    Status.CANCELLED: "neutral",
}


def walk_timeline(
    line: ParsedLine, steps: Sequence[ScenarioStep], records: Sequence[StepRecord]
) -> list[dict[str, Any]]:
    """Return what each step did; number 0 is the start. `mark` is equal where a step went the same way."""
    return [
        _timeline_item(line, steps[record.number - 1] if record.number else None, record)
        for record in records
    ]


def _timeline_item(line: ParsedLine, step: ScenarioStep | None, record: StepRecord) -> dict[str, Any]:
    status = record.walk.status
    return {
        "number": record.number,
        "station": record.station,
        "name": station_name(line, record.station),
        "did": step_words(line, step) if step else "Start",
        "went": _result_text(line, step, record),
        "status": status,
        "word": status_word(status),
        "tone": TONES.get(Status(status), "active"),
        "mark": jsontext.dumps(
            [record.station, list(record.entered), list(record.rules), status, record.walk.end]
        ),
    }


def step_words(line: ParsedLine, step: ScenarioStep) -> str:
    """The step in a few words."""
    if step.kind == "outcome":
        return outcome_words(step.outcome)
    if step.kind == "gates":
        votes = (f"{gate_name(line, key)}: {_vote_text(word)}" for key, word in step.gates.items())
        return "; ".join(votes)
    if step.kind == "answers":
        return f"Answered {', '.join(str(answer['answer']) for answer in step.answers)}"
    if step.kind == "answer":
        return f"Answered: {cut_text(step.answer)}"
    if step.kind == "escalate":
        return f"Escalated by hand: {trigger_words(step.details['trigger'])}"
    if step.kind == "resolve":
        label = str(Escalation.How(step.details["word"]).label)
        route = step.details.get("route")
        return f"{label} → {target_name(line, route)}" if route else label
    if step.kind == "reconsider":
        return "What was missing is there"
    return "Run again by hand"


def outcome_words(outcome: Mapping[str, Any]) -> str:
    """`failure · exit code 2 · {"high": 1}`; a result is said first."""
    parts = [str(outcome[name]) for name in ("result",) if outcome.get(name)]
    for name, words in OUTCOME.items():
        if outcome.get(name) is not None:
            value = str(outcome[name])
            parts.append(
                words % {"value": cut_text(failure_word(value) if name == "failure_type" else value)}
            )
    for name in ("output", "signals", "blockers"):
        if outcome.get(name) not in (None, [], ()):
            value = cut_text(jsontext.dumps(outcome[name]))
            parts.append(value if name == "output" else f"{name} {value}")
    return " · ".join(parts)


OUTCOME = {
    "verdict": "verdict %(value)s",
    "eval": "eval %(value)s",
    "exit_code": "exit code %(value)s",
    "failure_type": "failed: %(value)s",
}


def _vote_text(word: Mapping[str, str]) -> str:
    label = str(Word(word["decision"]).label)
    route = word.get("route")
    return f"{label} → {route}" if route else label


def cut_text(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _result_text(line: ParsedLine, step: ScenarioStep | None, record: StepRecord) -> str:
    if step is None:
        return f"{station_name(line, record.station)} is to report."
    others = [*_sentences_on_released_tokens(line, record), *_sentences_on_joins(line, record)]
    if record.decision is not None:
        return " ".join([decision_sentence(line, record.station, record.decision.to_dict()), *others])
    if step.kind == "gates":
        return "The other gates are still open."
    # [:1] where nothing had waited for the step, else [:0].
    if record.entered[: not record.also]:
        again = station_name(line, record.entered[0])
        return " ".join([f"{again} runs again.", *others])
    return " ".join(others) or _escalation_after_sentence(record)


def _sentences_on_released_tokens(line: ParsedLine, record: StepRecord) -> Iterable[str]:
    """Yield sentences on what had only waited for the step."""
    for station, decision in record.also:
        yield decision_sentence(line, station, decision.to_dict())


def _escalation_after_sentence(record: StepRecord) -> str:
    if record.walk.is_over:
        return "The task is cancelled."
    if record.walk.escalations:
        return "The task cannot move forward until every escalation is resolved."
    return "Nothing is escalated any more."


def _sentences_on_joins(line: ParsedLine, record: StepRecord) -> Iterable[str]:
    """The joins that it completed."""
    for join in record.joined:
        words = {
            "join": station_name(line, join.station),
            "branches": join_result_words(line, join.merge.to_dict(), join.contradictions),
        }
        yield "The branches meet at {join}: {branches}.".format(**words)
        if join.decision:
            yield decision_sentence(line, join.station, join.decision.to_dict())


def status_word(status: str) -> str:
    return "Has to report" if status == READY else str(Status(status).label)


# Ways


def counted_moves(line: ParsedLine, records: Iterable[StepRecord]) -> list[dict[str, Any]]:
    """Every move so far, counted, in the shape of `DrawnMove`."""
    moves = Counter(moves_and_finishes(line, records))
    return [{**asdict(move), "count": count} for move, count in moves.items()]


# Tokens


def position_rows(line: ParsedLine, walk: SimulatedTask) -> list[dict[str, Any]]:
    at_joins = {
        branch.id: join_wait_sentence(line, group)
        for group in join_groups_with_waiting_tokens(line, joins.unended_branches(walk))
        for branch in group.arrived
    }
    return [
        _position_row(line, walk, position, at_joins.get(index))
        for index, position in enumerate(walk.positions)
    ]


def _position_row(
    line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition, at_join: ProblemAndRemedy | None
) -> dict[str, Any]:
    message = (
        at_join or _escalation_sentence_or_none(line, walk, position) or wait_sentence_or_none(position, line)
    )
    return {
        "station": position.station,
        "name": station_name(line, position.station),
        "status": position.status,
        "word": "Waits" if at_join else status_word(position.status),
        "tone": "neutral" if at_join else TONES.get(Status(position.status), "active"),
        "text": message.text if message else "",
        "remedy": message.remedy if message else "",
        "error": position.error or (message.name if message else ""),
        "end": target_name(line, position.end) if position.end else "",
        "over": position.is_over,
        "feedback": position.feedback,
        "behind": {"rule": position.wait.get("rule") or "", "to": list(position.wait.get("to") or ())},
        "question": bool(position.status == "blocked" and not position.wait.get("evaluation")),
        "facts": list(_count_and_limit_sentences(line, walk, position)),
    }


def _escalation_sentence_or_none(
    line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition
) -> ProblemAndRemedy | None:
    """Return what is escalated here, or, where that holds no token, before the first one: for whom, and how
    soon."""
    index = walk.index_of_unended_token_or_none(position.token)
    for escalation in walk.escalations:
        holds = walk.index_held_by_or_none(escalation)
        if holds == index and index is not None:
            return ProblemAndRemedy(
                hold_sentence(position.wait, line).text,
                escalation_answer_terms(line, escalation.trigger, escalation.role),
                escalation.trigger,
            )
        if holds is None and position.status == READY and index == walk.first_active_index:
            words = {"trigger": trigger_words(escalation.trigger)}
            text = "Cannot move forward while an escalation is open: {trigger}.".format(**words)
            return ProblemAndRemedy(
                text, escalation_answer_terms(line, escalation.trigger, escalation.role), ""
            )
    return None


def _count_and_limit_sentences(
    line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition
) -> Iterable[str]:
    """Yield the counts that decide what may happen here."""
    station = line.stations_by_key.get(position.station)
    if station is None or not position.is_active:
        return
    visits = walk.visits.get(station.key, 0)
    # law §4: without a limit of the station the cap binds.
    most = station.limits.max_visits or line.policy.visit_cap
    yield f"Run {visits} of at most {most}"
    for rule in station.rules:
        retry_count = walk.rules.get(rule.id, 0)
        if rule.max_retries is not None:
            words = {"rule": rule_name(line, rule.id), "n": retry_count, "most": rule.max_retries}
            yield "“{rule}” was taken {n} of at most {most} times".format(**words)
        if rule.max_visits is not None:
            names = ", ".join(target_name(line, key) for key in rule.to)
            words = {"rule": rule_name(line, rule.id), "targets": names, "most": rule.max_visits}
            yield "“{rule}” lets {targets} be entered at most {most} times".format(**words)
    for edge in _tested_edges(line, station.key):
        n = walk.edges.get(f"{edge.source}->{edge.target}", 0)
        words = {"n": n, "source": target_name(line, edge.source), "target": target_name(line, edge.target)}
        yield (
            singular_or_plural(
                "%(source)s → %(target)s was taken %(n)s time",
                "%(source)s → %(target)s was taken %(n)s times",
                n,
            )
            % words
        )
    for key in position.wait.get("gates") or ():
        if walk.rounds.get(key):
            words = {"gate": gate_name(line, key), "n": walk.rounds[key]}
            yield (
                singular_or_plural(
                    "%(gate)s sent it back %(n)s time", "%(gate)s sent it back %(n)s times", walk.rounds[key]
                )
                % words
            )


def _tested_edges(line: ParsedLine, key: str) -> list[EdgeCountTest]:
    edges = (edge for rule in line.station(key).rules for edge in edge_count_tests(rule.when))
    return list({(edge.source, edge.target): edge for edge in edges}.values())


def hold_reason(line: ParsedLine, position: SimulatedPosition) -> str:
    """Return why a choice would only be held, where the decision alone does not say so; else ""."""
    if position.status != HELD or "rejection" not in position.wait:
        return ""
    return hold_sentence(position.wait, line).text
