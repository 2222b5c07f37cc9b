"""Further conditions for a sample of a difference: votes, counts, answers, the origin of tasks."""

from __future__ import annotations

from typing import Any

from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.basics.wording import joined
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.sentences import part_names as named
from pipelines.routing.sentences.values import brief_json


def circumstances_text(old: ParsedLine, new: ParsedLine, facts: dict[str, Any]) -> str:
    parts = [*_vote_texts(old, new, facts), *_count_texts(new, facts), *_answer_texts(facts)]
    if facts.get("open_escalations"):
        parts.append("while an escalation is open")
    if facts.get("origin"):
        parts.append(_("of tasks that came from %(station)s", station=named.place(new, facts["origin"])))
    if facts.get("context"):
        parts.append(_("with %(values)s in the context", values=brief_json(facts["context"])))
    return _(" (%(facts)s)", facts=joined(parts, ", ")) if parts else ""


def _vote_texts(old: ParsedLine, new: ParsedLine, facts: dict[str, Any]) -> list[str]:
    parts: list[str] = []
    for key, word in facts.get("gates", {}).items():
        gate = named.gate_by_name(new if key in new.gates_by_key else old, key)
        parts.append(_("%(gate)s: %(word)s", gate=gate, word=named.decision(word["decision"])))
    return parts


def _count_texts(line: ParsedLine, facts: dict[str, Any]) -> list[str]:
    parts: list[str] = [
        _("rule %(rule)s taken %(times)s", rule=named.rule(line, rule), times=_times(count))
        for rule, count in facts.get("rules", {}).items()
    ]
    parts += [
        _("%(place)s entered %(times)s", place=named.place(line, key), times=_times(count))
        for key, count in facts.get("visits", {}).items()
    ]
    parts += [
        _("%(edge)s taken %(times)s", edge=named.edge(line, edge), times=_times(count))
        for edge, count in facts.get("edges", {}).items()
    ]
    reworks = facts.get("signal_reworks")
    return [*parts, _("reworked %(times)s", times=_times(reworks))] if reworks else parts


def _times(count: int) -> str:
    return "once" if count == 1 else _("%(count)s times", count=count)


def _answer_texts(facts: dict[str, Any]) -> list[str]:
    parts: list[str] = []
    for answer in facts.get("answers", ()):
        evaluation = {key: answer[key] for key in ("agentic", "hook") if key in answer}
        parts.append(_("%(asked)s: %(answer)s", asked=evaluation_text(evaluation), answer=answer["answer"]))
    return parts


def evaluation_text(evaluation: dict[str, Any]) -> str:
    kind, payload = next(iter(evaluation.items()))
    if kind == "agentic":
        return _("“%(question)s”", question=payload["question"])
    return _("the hook %(argv)s", argv=" ".join(payload["argv"]))
