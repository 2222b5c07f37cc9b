"""The lines on which tasks run here: small, written by hand, one for each preset and one that leads everywhere.

Each is a function of a number: version 1, 2, 3 … of it, every one another document."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pipelines.routing.document.line import ParsedLine
from tests.factories import document, station

Document = dict[str, Any]
WORDS = ["approve", "send_back", "reject", "rework", "abort"]
MAIL = ["lead@example.com"]


def on(word: str) -> Document:
    return {"eval": {"op": "equals", "value": word}}


def rule(key: str, to: Any, word: str = "", **more: Any) -> Document:
    return {"id": key, "to": to, **({"when": on(word)} if word else {}), **more}


def gate(key: str, *who: Document, **more: Any) -> Document:
    approval = {"who": list(who) or [{"role": "reviewer", "count": 1}], "max_rounds": 1}
    said = {"key": key, "name": key.title(), "mode": "manual", "offers": WORDS, "notify": MAIL}
    return {**said, "approval": approval, **more}


def changed(stations: list[Document], gates: list[Document], number: int) -> None:
    """What makes version 2, 3 … another one: a rule before all others of one station, another number of approvals, a
    station more at the end; `renamed` does the rest."""
    for n in range(2, number + 1):
        target = stations[n % len(stations)]
        if n % 3 == 0:
            stations.append(station(f"more-{n}", rule(f"more-{n}-on", "completed")))
        elif n % 3 == 1 and gates:
            gates[0]["approval"] = {"who": [{"role": "reviewer", "count": 1 + n % 2}], "max_rounds": 2}
        else:
            target["rules"].insert(0, rule(f"new-{n}", "completed", f"new-{n}"))


def crossroads(number: int) -> Document:
    """From `hub` a task gets into every state there is."""
    form = {"form": [{"key": "note", "type": "text", "label": "Note", "required": True}]}
    agentic = {"agentic": {"question": "Is it good?"}, "answer": "yes"}
    passed = {"from": "right", "to": "right-end", "at_least": 1}
    hook = {"hook": {"argv": ["./check"]}, "answer": "pass"}
    hub = station(
        "hub",
        rule("hub-give", "give", "give"),
        rule("hub-paper", "paper", "paper"),
        rule("hub-lab", "lab", "lab"),
        rule("hub-bench", "bench", "bench"),
        rule("hub-two", "ship", "two", gates=["double"]),
        rule("hub-pair", "ship", "pair", gates=["sign", "leads"]),
        rule("hub-one", "ship", "one", gates=["sign"]),
        rule("hub-sure", "ship", "sure", gates=["again"]),
        rule("hub-ask-a-person", "@blocked", "question"),
        {"id": "hub-evaluate", "when": {"all": [on("evaluate"), agentic]}, "to": "ship"},
        {"id": "hub-hook", "when": {"all": [on("hook"), hook]}, "to": "ship"},
        rule("hub-fork", ["left", "right"], "fork"),
        rule("hub-loop", "hub", "loop", max_retries=2, on_exhausted="stuck"),
        rule("hub-over-budget", "ship", "over", max_retries=0, on_exhausted="escalate"),
        rule("hub-back", "@origin", "back"),
        rule("hub-desk", "desk", "desk"),
        rule("hub-rest", "rest", "rest"),
        rule("hub-done", "completed", "done"),
        rule("hub-lost", "failed", "lost"),
        rule("hub-gone", "given-up", "gone"),
        requires=["agent"],
    )
    desk_rules = (
        rule("desk-three", "ship", "three", gates=["triple"]),
        rule("desk-strict", "ship", "strict", gates=["strict"]),
        rule("desk-urgent", "ship", "urgent", gates=["urgent"]),
        rule("desk-on", "hub", gates=["sign"]),
    )
    stations = [
        station("draft", rule("draft-on", "desk")),
        station("desk", *desk_rules, kind="manual", work=form),
        hub,
        station("left", rule("left-on", "left-desk")),
        station(
            "left-desk",
            {"id": "left-desk-late", "when": {"edge": passed}, "to": "ship"},
            rule("left-desk-on", "left-end", gates=["sign"]),
            kind="manual",
        ),
        station(
            "left-end",
            rule("left-fork", ["right", "right-end"], "fork"),
            rule("left-meet", "meet", "meet"),
            rule("left-done", "completed"),
        ),
        station("right", rule("right-on", "right-end"), labels=["gpu"]),
        station(
            "right-end",
            rule("right-lost", "failed", "lost"),
            rule("right-meet", "meet", "meet"),
            rule("right-done", "completed"),
        ),
        station("meet", rule("meet-done", "completed"), join={"wait_for": ["left-end", "right-end"]}),
        station("give", rule("give-on", "ship"), requires=["handoff"]),
        station("paper", rule("paper-on", "ship"), requires=["metadata:Ticket"]),
        station("lab", rule("lab-on", "hub"), agent="gone"),
        station("bench", rule("bench-on", "hub"), agent="robot"),
        station("ship", rule("ship-done", "completed", "ok")),
        station("rest", rule("rest-over", "hub"), kind="wait", work={"for": "1d"}),
    ]
    gates = [
        gate("double", {"role": "reviewer", "count": 2}),
        gate("triple", {"role": "reviewer", "count": 3}, due={"after": "1h", "then": "remind"}),
        gate("strict", {"role": "reviewer", "count": 3}, due={"after": "1h", "then": "reject"}),
        gate("urgent", {"role": "reviewer", "count": 3}, due={"after": "1h", "then": "escalate"}),
        gate("sign"),
        gate("leads", {"group": "leads", "count": 1}),
        gate("again", on_reject="rework"),
    ]
    for each in stations:
        # What an agent does is not looked at: one that is party to a deadlock gets no work in other tasks either.
        if "agent" not in each:
            each["limits"] = {"expected": "10m"}
    changed(stations, gates, number)
    blocks = {"role": "Lead", "sla": "1h", "on_breach": ["block", "notify", "create_incident"]}
    return document(
        stations,
        "crossroads",
        gates=gates,
        ends=[{"key": "given-up", "kind": "cancelled", "label": "GIVEN_UP"}],
        flags={"agentic_conditions": True},
        escalations=[{"trigger": "help", **blocks}],
        policy={
            "no_match": "stuck",
            "on_failure": "escalate",
            "visit_cap": 14,
            "contradiction": "escalate",
            "deadlocks": "yes",
        },
    )


def assembly(number: int) -> Document:
    """Preset alp: station gates with checks, a jump, a review of it."""
    check = {"field": "exit_code", "operator": "equals", "value": 0, "action": "hold", "label": "Exit code"}
    worse = {"field": "blockers", "operator": "less_than", "value": 2, "action": "abort"}
    tests = {"field": "verdict", "operator": "equals", "value": "pass", "action": "rework"}
    stations = [
        station("build", rule("build-again", "build", "loop"), rule("build-on", "test"), gate="checked"),
        station("test", rule("test-on", "ship", "ok"), rule("test-fix", "build", "error"), gate="tested"),
        station("ship", {"id": "ship-out", "when": {"result": "success"}, "to": "completed"}, gate="shown"),
    ]
    gates = [
        gate("checked", mode="checks_then_manual", checks={"all": [check, worse]}),
        gate("tested", mode="auto", checks={"any": [tests, check]}),
        gate("shown", mode="skip"),
    ]
    changed(stations, gates, number)
    return document(stations, "assembly", gates=gates, preset="alp", jumps="all")


def factory(number: int) -> Document:
    """Preset vibe-factory: no station twice, a rejection is rework, required result documents."""
    stations = [
        station("plan", rule("plan-on", "write")),
        station("write", rule("write-on", "check", gates=["read"]), result_document="required"),
        station(
            "check",
            {
                "id": "check-ok",
                "when": {"output": {"path": "$.n", "op": "gte", "value": 1}},
                "to": "completed",
            },
            {"id": "check-back", "when": {"result": "failure"}, "to": "write", "allow_revisit": True},
            rule("check-circle", "plan", "loop"),
        ),
    ]
    gates = [gate("read")]
    changed(stations, gates, number)
    return document(stations, "factory", gates=gates, preset="vibe-factory")


def flux(number: int) -> Document:
    """Preset flux: whatever fits nowhere is blocked; who rejects says where it goes."""
    said = {"result": ["success"]}
    stations = [
        station(
            "ask",
            {"id": "ask-on", "when": said, "to": "act", "gates": ["look"]},
            rule("ask-stay", "@blocked", "blocked"),
        ),
        station(
            "act", {"id": "act-out", "when": said, "to": "completed"}, rule("act-stay", "@blocked", "blocked")
        ),
    ]
    gates = [gate("look")]
    changed(stations, gates, number)
    return document(stations, "flux", gates=gates, preset="flux")


def chain(number: int) -> Document:
    """Preset contenox: budgets of a self-loop and of a station, retries of a signal."""
    stations = [
        station(
            "think",
            rule("think-on", "act", "ok"),
            rule("think-loop", "think", "loop", max_visits=3),
            limits={"max_retries": 1},
        ),
        station(
            "act",
            rule("act-back", "think", "error", max_retries=2),
            rule("act-out", "completed", "ok"),
            limits={"max_visits": 2},
        ),
    ]
    changed(stations, [], number)
    return document(stations, "chain", preset="contenox")


def stages(number: int) -> Document:
    """Preset aeef: whatever fits nowhere is escalated; branches with a gate in one of them."""
    good = {"verdict": "pass"}
    stations = [
        station("design", {"id": "design-fork", "when": good, "to": ["code", "secure"]}),
        station("code", {"id": "code-out", "when": good, "to": "completed", "gates": ["accept"]}),
        station("secure", {"id": "secure-out", "when": good, "to": "completed"}, kind="manual"),
    ]
    gates = [gate("accept", {"role": "reviewer", "count": 2})]
    changed(stations, gates, number)
    return document(stations, "stages", gates=gates, preset="aeef", jumps="all")


def renamed(given: Document, number: int) -> Document:
    """Every fourth version has another name for a station: whoever migrates to it, or back, says which."""
    before, after = '"ship"', f'"ship-{number}"' if number % 4 == 0 else '"ship"'
    said: Document = json.loads(json.dumps(given).replace(before, after))
    return said


def mapping(was: ParsedLine, to: ParsedLine) -> dict[str, str]:
    """Where the stations of one version are in another: under the same first word, else at the start."""
    names = {key.partition("-")[0]: key for key in reversed(to.stations_by_key)}
    gone = [key for key in was.stations_by_key if key not in to.stations_by_key]
    return {key: names.get(key.partition("-")[0], to.start) for key in gone}


LINES: dict[str, Callable[[int], Document]] = {
    each.__name__: lambda number, each=each: renamed(each(number), number)  # type: ignore[misc]
    for each in (crossroads, assembly, factory, flux, chain, stages)
}
