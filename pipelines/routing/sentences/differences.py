"""A difference in sentences for people: "Outcomes of Security such as {…} went to Triage by rule 2; now they …"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pipelines.routing.basics.wording import PartName, Wording, joined_wording, people_text
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.sentences import part_names as named
from pipelines.routing.sentences.names import end_name, station_name
from pipelines.routing.sentences.values import shortened_unquoted_json, unquoted_json

PAST, NOW = 0, 1
Tenses = tuple[str, str]


class VersionPair(Protocol):
    """Two versions of a line."""

    @property
    def old(self) -> ParsedLine: ...
    @property
    def new(self) -> ParsedLine: ...


class DecidedSample(Protocol):
    """A situation, and what each version decides of it."""

    @property
    def situation(self) -> dict[str, Any]: ...
    @property
    def old(self) -> dict[str, Any]: ...
    @property
    def new(self) -> dict[str, Any]: ...


class RegionChange(Protocol):
    """A region that is decided otherwise: the rules that take it, and a sample."""

    @property
    def station(self) -> str: ...
    @property
    def old(self) -> str | None: ...
    @property
    def new(self) -> str | None: ...
    @property
    def differs_in(self) -> Sequence[str]: ...
    @property
    def sample(self) -> DecidedSample | None: ...
    @property
    def why(self) -> str: ...
    @property
    def after(self) -> tuple[str, str] | None: ...


def region_change_sentence(pair: VersionPair, change: RegionChange) -> str:
    """Return one sentence with the sample, or one that explains what is not known."""
    if change.sample is not None:
        return sample_sentence(pair, change.sample)
    return _(
        "Not known of %(station)s: %(outcomes)s: %(why)s.",
        station=station_name(pair.new, change.station),
        outcomes=_outcomes_text(pair, change),
        why=change.why,
    )


def sample_sentence(pair: VersionPair, sample: DecidedSample) -> str:
    situation = sample.situation
    past, now = past_and_present_text_of_routes(pair, sample)
    return _(
        "Outcomes of %(station)s such as %(outcome)s%(when)s %(past)s; now they %(now)s.",
        station=station_name(pair.new, situation["station"]),
        outcome=_outcome_text(pair, situation["outcome"]),
        when=circumstances_text(pair.old, pair.new, situation.get("facts", {})),
        past=past,
        now=now,
    )


def _outcome_text(pair: VersionPair, outcome: dict[str, Any]) -> PartName:
    """Return the outcome as JSON. People read the station of a signal by its name; any other word may be the
    work's own."""
    signals = outcome.get("signals") or ()
    named_here = [{**signal, **_meta_with_names(pair, signal)} for signal in signals]
    readable = {**outcome, "signals": named_here} if signals else outcome
    return PartName(shortened_unquoted_json(outcome), lambda: shortened_unquoted_json(readable))


def _meta_with_names(pair: VersionPair, signal: dict[str, Any]) -> dict[str, Any]:
    meta = signal.get("meta") or {}
    target = meta.get("targetState")
    return (
        {"meta": {**meta, "targetState": name_in_versions_or_empty(pair, target)}}
        if isinstance(target, str)
        else {}
    )


def past_and_present_text_of_routes(pair: VersionPair, sample: DecidedSample) -> Tenses:
    """Return what the old version did with the sample, in the past tense, and what the new one does, in the
    present tense."""
    station = sample.situation["station"]
    return _decision_in_past_and_present(pair.old, station, sample.old)[PAST], _decision_in_past_and_present(
        pair.new, station, sample.new
    )[NOW]


def name_in_versions_or_empty(pair: VersionPair, key: str) -> str:
    """The name of a station, gate or end of either version; "" for the line itself."""
    # The name that people know by now; of what is gone the last one
    for line in (pair.new, pair.old):
        if key in line.stations_by_key:
            return station_name(line, key)
        if key in line.gates_by_key:
            return people_text(named.gate_name_even_for_machines(line, key))
        if key in line.ends_by_key:
            return end_name(line, key)
    return key


def _outcomes_text(pair: VersionPair, change: RegionChange) -> str:
    parts = {
        "old": _rule_text(pair.old, change.old),
        "new": _rule_text(pair.new, change.new),
        "parts": ", ".join(change.differs_in),
    }
    if not change.after:
        return _("outcomes that %(old)s took and %(new)s takes now (differs in %(parts)s)", **parts)
    return _(
        "outcomes that %(old)s took and %(new)s takes now after rework at a gate of rule %(rule)s"
        " (differs in %(parts)s)",
        **parts,
        rule=named.rule_phrase(pair.new, change.after[1]),
    )


def _rule_text(line: ParsedLine, key: str | None) -> str:
    return _("rule %(rule)s", rule=named.rule_phrase(line, key)) if key else "no rule"


# Decisions


def _decision_in_past_and_present(line: ParsedLine, station: str, decision: dict[str, Any]) -> Tenses:
    """Return what the decision did, in the past and the present tense."""
    return _KINDS[decision["decision"]](line, station, decision)


def _move_in_past_and_present(line: ParsedLine, station: str, decision: dict[str, Any]) -> Tenses:
    parts = {
        "station": station_name(line, station),
        "places": _place_names(line, decision["to"]),
        "by": _cause_text(line, decision),
        "with": _feedback_and_variables_text(decision),
    }
    if decision["to"] == [station]:
        return _("ran %(station)s again%(by)s%(with)s", **parts), _(
            "run %(station)s again%(by)s%(with)s", **parts
        )
    return _("went to %(places)s%(by)s%(with)s", **parts), _("go to %(places)s%(by)s%(with)s", **parts)


def _feedback_and_variables_text(decision: dict[str, Any]) -> PartName:
    parts = []
    if decision["feedback"] is not None:
        parts.append(_(" with feedback “%(feedback)s”", feedback=decision["feedback"]))
    if decision["variables"]:
        values = ", ".join(f"{key} = {unquoted_json(value)}" for key, value in decision["variables"].items())
        parts.append(_(" with %(values)s", values=values))
    return joined_wording(parts, "")


def _finish_in_past_and_present(line: ParsedLine, station: str, decision: dict[str, Any]) -> Tenses:
    parts = {"end": named.place_name_for_sentence(line, decision["end"]), "by": _cause_text(line, decision)}
    if not decision["error"]:
        return _("ended as %(end)s%(by)s", **parts), _("end as %(end)s%(by)s", **parts)
    why = {**parts, "why": named.error_part_name(decision["error"])}
    machine = f"as {parts['end']} with {decision['error']}{parts['by']}"
    return (
        Wording.of(f"ended {machine}", _("ended as %(end)s%(by)s (%(why)s)", **why)),
        Wording.of(f"end {machine}", _("end as %(end)s%(by)s (%(why)s)", **why)),
    )


def _wait_in_past_and_present(line: ParsedLine, station: str, decision: dict[str, Any]) -> Tenses:
    parts: dict[str, object] = {"by": _cause_text(line, decision)}
    if decision["gates"]:
        parts["gates"] = joined_wording(
            (named.gate_name_even_for_machines(line, key) for key in decision["gates"]), " and "
        )
        if not decision["to"]:
            return _("waited for %(gates)s%(by)s", **parts), _("wait for %(gates)s%(by)s", **parts)
        parts["places"] = _place_names(line, decision["to"])
        return (
            _("went to %(places)s%(by)s after %(gates)s", **parts),
            _("go to %(places)s%(by)s after %(gates)s", **parts),
        )
    if decision["missing"]:
        parts["missing"] = ", ".join(decision["missing"])
        return _("were held%(by)s: missing %(missing)s", **parts), _(
            "are held%(by)s: missing %(missing)s", **parts
        )
    if decision["evaluation"]:
        parts["asked"] = asked_text(decision["evaluation"])
        return (
            _("waited for a person to answer %(asked)s", **parts),
            _("wait for a person to answer %(asked)s", **parts),
        )
    parts["station"] = station_name(line, station)
    return _("stayed at %(station)s, blocked%(by)s", **parts), _(
        "stay at %(station)s, blocked%(by)s", **parts
    )


def _question_in_past_and_present(line: ParsedLine, station: str, decision: dict[str, Any]) -> Tenses:
    question = asked_text(decision["evaluation"])
    return _("asked %(asked)s first", asked=question), _("ask %(asked)s first", asked=question)


def _escalation_in_past_and_present(line: ParsedLine, station: str, decision: dict[str, Any]) -> Tenses:
    parts = {"trigger": named.unquoted_trigger(decision["trigger"]), "by": _cause_text(line, decision)}
    return _("were escalated (%(trigger)s)%(by)s", **parts), _("are escalated (%(trigger)s)%(by)s", **parts)


def _stuck_in_past_and_present(line: ParsedLine, station: str, decision: dict[str, Any]) -> Tenses:
    parts = {"why": named.error_part_name(decision["error"]), "by": _cause_text(line, decision)}
    machine = f"stuck with {decision['error']}{parts['by']}"
    return (
        Wording.of(f"got {machine}", _("got stuck%(by)s (%(why)s)", **parts)),
        Wording.of(f"get {machine}", _("get stuck%(by)s (%(why)s)", **parts)),
    )


_KINDS = {
    "move": _move_in_past_and_present,
    "finish": _finish_in_past_and_present,
    "wait": _wait_in_past_and_present,
    "ask": _question_in_past_and_present,
    "escalate": _escalation_in_past_and_present,
    "stuck": _stuck_in_past_and_present,
}
_BY = {"policy": " by the policy", "signal": " by a signal", "gate": " by a gate"}


def _cause_text(line: ParsedLine, decision: dict[str, Any]) -> str:
    rule = decision.get("rule")
    if rule and rule in line.rules_by_id:
        station, parsed_rule = line.rules_by_id[rule]
        return _(" by rule %(number)s", number=station.rules.index(parsed_rule) + 1)
    return _BY.get(decision.get("by") or "", "")


def _place_names(line: ParsedLine, keys: Sequence[str]) -> PartName:
    return joined_wording((named.place_name_for_sentence(line, key) for key in keys), " and ")


# Further conditions for a sample of a difference: votes, counts, answers, the origin of tasks.


def circumstances_text(old: ParsedLine, new: ParsedLine, facts: dict[str, Any]) -> str:
    parts = [*_vote_texts(old, new, facts), *_count_texts(new, facts), *_answer_texts(facts)]
    if facts.get("open_escalations"):
        parts.append("while an escalation is open")
    if facts.get("origin"):
        parts.append(
            _(
                "of tasks that came from %(station)s",
                station=named.place_name_for_sentence(new, facts["origin"]),
            )
        )
    if facts.get("context"):
        parts.append(_("with %(values)s in the context", values=shortened_unquoted_json(facts["context"])))
    return _(" (%(facts)s)", facts=joined_wording(parts, ", ")) if parts else ""


def _vote_texts(old: ParsedLine, new: ParsedLine, facts: dict[str, Any]) -> list[str]:
    parts: list[str] = []
    for key, word in facts.get("gates", {}).items():
        gate = named.gate_name_even_for_machines(new if key in new.gates_by_key else old, key)
        parts.append(_("%(gate)s: %(word)s", gate=gate, word=named.decision_part_name(word["decision"])))
    return parts


def _count_texts(line: ParsedLine, facts: dict[str, Any]) -> list[str]:
    parts: list[str] = [
        _("rule %(rule)s taken %(times)s", rule=named.rule_phrase(line, rule), times=_times_text(count))
        for rule, count in facts.get("rules", {}).items()
    ]
    parts += [
        _(
            "%(place)s entered %(times)s",
            place=named.place_name_for_sentence(line, key),
            times=_times_text(count),
        )
        for key, count in facts.get("visits", {}).items()
    ]
    parts += [
        _("%(edge)s taken %(times)s", edge=named.edge_part_name(line, edge), times=_times_text(count))
        for edge, count in facts.get("edges", {}).items()
    ]
    reworks = facts.get("signal_reworks")
    return [*parts, _("reworked %(times)s", times=_times_text(reworks))] if reworks else parts


def _times_text(count: int) -> str:
    return "once" if count == 1 else _("%(count)s times", count=count)


def _answer_texts(facts: dict[str, Any]) -> list[str]:
    parts: list[str] = []
    for answer in facts.get("answers", ()):
        evaluation = {key: answer[key] for key in ("agentic", "hook") if key in answer}
        parts.append(_("%(asked)s: %(answer)s", asked=asked_text(evaluation), answer=answer["answer"]))
    return parts


def asked_text(evaluation: dict[str, Any]) -> str:
    kind, payload = next(iter(evaluation.items()))
    if kind == "agentic":
        return _("“%(question)s”", question=payload["question"])
    return _("the hook %(argv)s", argv=" ".join(payload["argv"]))
