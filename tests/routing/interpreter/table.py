"""Situations with the decision that the sentences demand, derived by hand: the interpreter's own proof.

The line of every case: stations plan, work, review, ship in this order; the task is at `work`, whose rules
each case names.
"""

from typing import Any

from .values import Json

Rule = dict[str, Json]
GATES: list[dict[str, Json]] = [
    {"key": "human"},
    {"key": "second"},
    {"key": "twice", "approval": {"max_rounds": 1}},
    {
        "key": "sure",
        "mode": "auto",
        "checks": {"all": [{"field": "exit_code", "operator": "equals", "value": 0}]},
    },
    {"key": "skipped", "mode": "skip"},
    {"key": "silent", "requires_approval": False},
]


def check(action: str, **more: Json) -> dict[str, Json]:
    """A check that fails unless the exit code is 0."""
    return {"field": "exit_code", "operator": "equals", "value": 0, "action": action} | more


def gate(key: str, *checks: dict[str, Json], **more: Json) -> dict[str, Json]:
    """An automatic gate."""
    return {"key": key, "mode": "auto", "checks": {"all": list(checks)}} | more


def line(*rules: Rule, **more: Any) -> dict[str, Json]:
    """A document. `at` = further keys of `work`; `gates` = further gates; the rest = top-level keys."""
    at, gates, review = more.pop("at", {}), more.pop("gates", []), more.pop("review", {})
    stations = [
        {"key": key, "name": key, "work": {"kind": "noop"}} for key in ("plan", "work", "review", "ship")
    ]
    stations[1] |= {"rules": [{"id": f"r{n}"} | rule for n, rule in enumerate(rules, 1)]} | at
    stations[2] |= review
    return {
        "gateline": 1,
        "key": "l",
        "name": "L",
        "stations": stations,
        "gates": [{"name": gate["key"]} | gate for gate in GATES + gates],
    } | more


def at_work(outcome: dict[str, Json], **facts: Json) -> dict[str, Json]:
    """A situation at `work`."""
    return {"station": "work", "outcome": outcome, "facts": facts}


def move(to: str | list[str], rule: str | None = None, by: str = "rule", **more: Json) -> dict[str, Json]:
    """A move; nothing fed back, no variables unless said."""
    defaults: dict[str, Json] = {"feedback": None, "variables": {}}
    targets = [to] if isinstance(to, str) else to
    return {"decision": "move", "to": targets, "rule": rule, "by": by} | defaults | more


def finish(end: str, rule: str | None, by: str, error: str | None = None, kind: str = "") -> dict[str, Json]:
    """An end."""
    return {"decision": "finish", "end": end, "kind": kind or end, "rule": rule, "by": by, "error": error}


def wait(status: str, **more: Json) -> dict[str, Json]:
    """A wait."""
    nothing: dict[str, Json] = {"gates": [], "to": [], "rule": None, "question": None, "missing": []}
    return {"decision": "wait", "status": status, "evaluation": None} | nothing | more


def stuck(error: str, rule: str | None = None) -> dict[str, Json]:
    """Stuck."""
    return {"decision": "stuck", "error": error, "rule": rule}


def escalate(trigger: str, rule: str | None = None) -> dict[str, Json]:
    """An escalation."""
    return {"decision": "escalate", "trigger": trigger, "rule": rule}


def word(decision: str, gate: str = "human", **more: Json) -> dict[str, Json]:
    """The fact of a person's word."""
    return {"gates": {gate: {"decision": decision} | more}}


OK: dict[str, Json] = {"result": "success"}
BAD: dict[str, Json] = {"result": "failure"}
SIGNAL: dict[str, Json] = {"result": "success", "signals": [{"verdict": "proceed"}]}
QUESTION: dict[str, Json] = {"agentic": {"question": "Good?"}}
HOOK: dict[str, Json] = {"hook": {"argv": ["./gate"]}}


def signal(verdict: str, reason: str | None = None, **meta: Json) -> dict[str, Json]:
    """An outcome with one signal."""
    return {"result": "success", "signals": [{"verdict": verdict, "reason": reason, "meta": meta}]}


def output(path: str, op: str, value: Json = None, **more: Json) -> dict[str, Json]:
    """A condition on the output."""
    body = {"path": path, "op": op} | more
    return {"output": body if op in ("exists", "missing") else body | {"value": value}}


def only(when: dict[str, Json]) -> dict[str, Json]:
    """A line that goes to plan where `when` is true and stops where it is not."""
    return line({"when": when, "to": "plan"}, preset="vibe-factory", policy={"revisit": "allow"})


TAKEN = move("plan", "r1")
LEFT = stuck("NoValidTransition")
Case = tuple[str, dict[str, Json], dict[str, Json], dict[str, Json]]

POLICIES: list[Case] = [
    ("no rules, success: the next in order", line(), at_work(OK), move("review", by="policy")),
    ("no rules, failure: the task failed, no error", line(), at_work(BAD), finish("failed", None, "policy")),
    ("exit code 3 derives failure", line(), at_work({"exit_code": 3}), finish("failed", None, "policy")),
    ("cancelled is failed", line(), at_work({"result": "cancelled"}), finish("failed", None, "policy")),
    (
        "an explicit success outweighs no exit code",
        line(),
        at_work({"exit_code": 3} | OK),
        move("review", by="policy"),
    ),
    (
        "verdict fail makes it failed",
        line(),
        at_work(OK | {"verdict": "fail"}),
        finish("failed", None, "policy"),
    ),
    (
        "no rules, contenox: the end",
        line(preset="contenox"),
        at_work(OK),
        finish("completed", None, "policy"),
    ),
    ("no rules, flux: refused", line(preset="flux"), at_work(OK), stuck("NoValidTransition")),
    (
        "no match, contenox: failed with its name",
        line({"when": {"result": "failure"}, "to": "plan"}, preset="contenox"),
        at_work(OK),
        finish("failed", None, "policy", "NoValidTransition"),
    ),
    ("no match, vibe-factory: stuck", only({"result": "failure"}), at_work(OK), LEFT),
    (
        "no match, aeef: escalated",
        line({"when": {"result": "failure"}, "to": "plan"}, preset="aeef"),
        at_work(OK),
        escalate("no_match"),
    ),
    ("failure, aeef: escalated", line(preset="aeef"), at_work(BAD), escalate("on_failure")),
    ("blocked without a match", line(), at_work({"result": "blocked"}), wait("blocked")),
    (
        "no match, flux: the blocked route, whose rule is named",
        line({"when": {"result": "blocked"}, "to": "plan"}, preset="flux"),
        at_work(OK),
        move("plan", "r1", "fallback"),
    ),
    (
        "no match, flux: the blocked route that nothing takes",
        line({"when": {"result": "failure"}, "to": "plan"}, preset="flux"),
        at_work(OK),
        wait("blocked"),
    ),
    (
        "on_failure stuck",
        line(policy={"on_failure": "stuck"}),
        at_work(BAD),
        stuck("NoValidTransition"),
    ),
    (
        "on_failure to a station",
        line(policy={"on_failure": "station:plan"}),
        at_work(BAD),
        move("plan", by="policy"),
    ),
    (
        "failure_rules no: no rule is asked",
        line({"to": "plan"}, policy={"failure_rules": "no"}),
        at_work(BAD),
        finish("failed", None, "policy"),
    ),
    (
        "the policy's move is bound by the station's max_visits",
        line(review={"limits": {"max_visits": 2}}),
        at_work(OK, visits={"review": 2}),
        finish("failed", None, "policy", "RetryLimitExceeded"),
    ),
    (
        "the policy's move is forward: held while an escalation is open",
        line(),
        at_work(OK, open_escalations=1, preconditions={"handoff": False, "agent": True}),
        wait("held", to=["review"], missing=["handoff", "no_open_escalation"]),
    ),
]

CONDITIONS: list[Case] = [
    ("first match wins", line({"to": "plan"}, {"to": "ship"}), at_work(OK), move("plan", "r1")),
    (
        "any is not blocked",
        only({"result": "any"}),
        at_work(SIGNAL | {"signals": [], "result": "cancelled"}),
        TAKEN,
    ),
    ("verdict any", only({"verdict": "any"}), at_work({"verdict": "fail"}), TAKEN),
    ("eval from the result", only({"eval": {"op": "equals", "value": "error"}}), at_work(BAD), TAKEN),
    ("eval as a number", only({"eval": {"op": "gt", "value": 6}}), at_work({"eval": " 6.5 "}), TAKEN),
    ("an eval that is no number", only({"eval": {"op": "gt", "value": 6}}), at_work({"eval": "7x"}), LEFT),
    (
        "range, inclusive",
        only({"eval": {"op": "range", "value": "200, 299"}}),
        at_work({"eval": "299.0"}),
        TAKEN,
    ),
    ("true is not 'true'", only(output("a", "equals", "true")), at_work(OK | {"output": {"a": True}}), LEFT),
    ("0 is not false", only(output("a", "equals", False)), at_work(OK | {"output": {"a": 0}}), LEFT),
    ("0 is 0.0", only(output("a", "equals", 0)), at_work(OK | {"output": {"a": 0.0}}), TAKEN),
    ("not_equals of nothing", only(output("a", "not_equals", 1)), at_work(OK | {"output": {}}), LEFT),
    ("not of equals of nothing", only({"not": output("a", "equals", 1)}), at_work(OK), TAKEN),
    ("missing without output", only(output("a", "missing")), at_work(OK), TAKEN),
    ("null exists", only(output("a", "exists")), at_work(OK | {"output": {"a": None}}), TAKEN),
    (
        "the flat key first",
        only(output("a.b", "equals", 1)),
        at_work(OK | {"output": {"a.b": 1, "a": {"b": 2}}}),
        TAKEN,
    ),
    ("no indices in keys", only(output("a.0", "exists")), at_work(OK | {"output": {"a": [1]}}), LEFT),
    ("some node", only(output("$.a[*]", "gt", 2)), at_work(OK | {"output": {"a": [1, 3]}}), TAKEN),
    (
        "every node",
        only(output("$.a[*]", "gt", 2, of="every")),
        at_work(OK | {"output": {"a": [1, 3]}}),
        LEFT,
    ),
    ("every of none", only(output("$.a[*]", "gt", 2, of="every")), at_work(OK | {"output": {"a": []}}), LEFT),
    ("count of none is 0", only(output("$.a[*]", "equals", 0, of="count")), at_work(OK), TAKEN),
    (
        "not_contains of a number",
        only(output("a", "not_contains", "x")),
        at_work(OK | {"output": {"a": 5}}),
        TAKEN,
    ),
    ("matches anywhere", only(output("a", "matches", "b+")), at_work(OK | {"output": {"a": "abbc"}}), TAKEN),
    (
        "an edge taken often enough",
        only({"edge": {"from": "plan", "to": "work", "at_least": 2}}),
        at_work(OK, edges={"plan->work": 2}),
        TAKEN,
    ),
    (
        "the merged scope",
        line({"when": output("a", "equals", 1), "to": "plan"}, policy={"condition_scope": "merged"}),
        at_work(OK | {"output": {"b": 2}}, context={"a": 1, "b": 1}),
        TAKEN,
    ),
    (
        "unparseable output, once it is reached",
        only({"any": [{"result": "failure"}, output("a", "missing")]}),
        at_work(OK | {"output_error": "no JSON"}),
        stuck("OutputDataParseError", "r1"),
    ),
    (
        "unparseable output that is not reached",
        only({"any": [{"result": "success"}, output("a", "missing")]}),
        at_work(OK | {"output_error": "no JSON"}),
        TAKEN,
    ),
    (
        "a faulty rule that is reached",
        line({"when": {"result": "failure"}, "to": "plan"}, {"to": "nowhere"}),
        at_work(OK),
        stuck("InvalidTransitionSyntax", "r2"),
    ),
    (
        "a fault after the match",
        line({"to": "plan"}, {"when": {"result": "fine"}, "to": "plan"}),
        at_work(OK),
        move("plan", "r1"),
    ),
    (
        "an unknown answer is asked",
        only(QUESTION | {"answer": "yes"}),
        at_work(OK),
        {"decision": "ask", "evaluation": QUESTION},
    ),
    (
        "an answer, and its text as feedback",
        line({"when": HOOK | {"answer": "block"}, "to": "work", "feedback": True}),
        at_work(OK, answers=[HOOK | {"answer": "block", "text": "Too long."}]),
        move("work", "r1", feedback="Too long."),
    ),
    (
        "nobody answered",
        only(QUESTION | {"answer": "no"}),
        at_work(OK, answers=[QUESTION | {"answer": "yes"}, QUESTION | {"answer": "unanswered"}]),
        wait("blocked", evaluation=QUESTION),
    ),
    (
        "settled before the question",
        only({"all": [{"result": "failure"}, QUESTION | {"answer": "yes"}]}),
        at_work(OK),
        LEFT,
    ),
]

FORWARD = {"to": "review", "gates": ["human"]}
AGAIN = {"when": {"result": "failure"}, "to": "plan"}
SIGNALS: list[Case] = [
    ("abort", line({"to": "plan"}), at_work(signal("abort")), finish("failed", None, "signal")),
    (
        "the first valid one decides",
        line(),
        at_work(OK | {"signals": [{"verdict": "stop"}, {"verdict": "rework"}, {"verdict": "abort"}]}),
        move("work", by="signal"),
    ),
    (
        "hold asks",
        line(),
        at_work(signal("hold", "needs_human", question="Which?")),
        wait("blocked", question="Which?"),
    ),
    (
        "a jump, past the revisit policy",
        line(policy={"revisit": "forbid"}),
        at_work(
            signal("hold", "already_complete", targetState="plan"),
            visits={"plan": 1},
            **word("approve", "@jump"),
        ),
        move("plan", by="signal"),
    ),
    (
        "a jump is reviewed where some gate always asks",
        line(),
        at_work(signal("hold", "already_complete", targetState="ship")),
        wait("awaiting_review", gates=["@jump"], to=["ship"]),
    ),
    (
        "a jump to nowhere is a hold",
        line(),
        at_work(signal("hold", "already_complete", targetState="moon", question="Where?")),
        wait("blocked", question="Where?"),
    ),
    ("rework three times", line(), at_work(signal("rework"), signal_reworks=2), move("work", by="signal")),
    (
        "rework exhausted: verdict fail, eval and result as they were",
        line(
            {
                "when": {
                    "all": [
                        {"verdict": "fail"},
                        {"result": "success"},
                        {"eval": {"op": "equals", "value": "ok"}},
                    ]
                },
                "to": "plan",
            }
        ),
        at_work(signal("rework"), signal_reworks=3),
        move("plan", "r1"),
    ),
    (
        "proceed forces success, past the checks of the station gate",
        line({"when": {"result": "success"}, "to": "plan"}, at={"gate": "sure"}),
        at_work(BAD | {"signals": [{"verdict": "proceed"}]}),
        move("plan", "r1", "signal"),
    ),
    (
        "proceed keeps the human step",
        line({"to": "plan"}, at={"gate": "human"}),
        at_work(SIGNAL),
        wait("awaiting_review", gates=["human"]),
    ),
    (
        "a second forced route",
        line(FORWARD, AGAIN),
        at_work(SIGNAL, **word("rework")),
        stuck("ForcedRouteLoop", "r1"),
    ),
    (
        "blockers take the fallback, past the station gate",
        line({"when": {"verdict": "blocked"}, "to": "plan"}, at={"gate": "human"}),
        at_work(OK | {"blockers": [{"title": "no key"}]}),
        move("plan", "r1", "fallback"),
    ),
    (
        "a required result document is missing",
        line(at={"result_document": "required"}),
        at_work({"exit_code": 0}),
        wait("blocked"),
    ),
    (
        "an invalid one is no output to the rules of the fallback",
        line({"when": output("a", "missing"), "to": "plan"}, at={"result_document": "required"}),
        at_work({"exit_code": 0, "output_error": "no JSON"}),
        move("plan", "r1", "fallback"),
    ),
]

TARGETS: list[Case] = [
    ("@origin", line({"to": "@origin"}), at_work(OK, origin="plan"), move("plan", "r1")),
    ("no origin", line({"to": "@origin"}), at_work(OK), stuck("NoOrigin", "r1")),
    ("@blocked", line({"to": "@blocked"}), at_work(OK), wait("blocked", rule="r1")),
    ("an end", line({"to": "cancelled"}), at_work(OK), finish("cancelled", "r1", "rule")),
    ("a fork", line({"to": ["review", "ship"]}), at_work(OK), move(["review", "ship"], "r1")),
    (
        "revisit forbidden, failed attempts included",
        line({"to": "plan"}, preset="vibe-factory"),
        at_work(OK, visited=["plan", "work"]),
        stuck("CircularWorkflow", "r1"),
    ),
    (
        "allow_revisit overrides",
        line({"to": "plan", "allow_revisit": True}, preset="vibe-factory"),
        at_work(OK, visited=["plan", "work"]),
        move("plan", "r1"),
    ),
    (
        "limit:1 allows one re-entry",
        line({"to": "plan"}, policy={"revisit": "limit:1"}),
        at_work(OK, visits={"plan": 1}),
        move("plan", "r1"),
    ),
    (
        "and no second",
        line({"to": "plan"}, policy={"revisit": "limit:1"}),
        at_work(OK, visits={"plan": 2}),
        stuck("CircularWorkflow", "r1"),
    ),
    (
        "the cap",
        line({"to": "plan"}, policy={"visit_cap": 3}),
        at_work(OK, visits={"plan": 3}),
        stuck("VisitLimitExceeded", "r1"),
    ),
    (
        "max_retries",
        line({"to": "work", "max_retries": 2}),
        at_work(OK, rules={"r1": 2}),
        finish("failed", "r1", "policy", "RetryLimitExceeded"),
    ),
    (
        "max_retries not yet",
        line({"to": "work", "max_retries": 2}),
        at_work(OK, rules={"r1": 1}),
        move("work", "r1"),
    ),
    (
        "self_loop_limit",
        line({"to": "work"}),
        at_work(OK, rules={"r1": 3}),
        finish("failed", "r1", "policy", "RetryLimitExceeded"),
    ),
    (
        "max_visits, its own on_exhausted",
        line({"to": "plan", "max_visits": 2, "on_exhausted": "escalate"}),
        at_work(OK, visits={"plan": 2}),
        escalate("RetryLimitExceeded", "r1"),
    ),
    (
        "a target of on_exhausted says rule, asks no gate, sets no variable",
        line(
            {
                "to": "plan",
                "max_retries": 0,
                "on_exhausted": {"to": "ship"},
                "gates": ["human"],
                "compose": [{"var": "v", "path": "$.a"}],
            }
        ),
        at_work(OK | {"output": {"a": 1}}),
        move("ship", "r1", "rule"),
    ),
    (
        "and is checked for its cap",
        line({"to": "plan", "max_retries": 0, "on_exhausted": {"to": "ship"}}, policy={"visit_cap": 2}),
        at_work(OK, visits={"ship": 2}),
        stuck("VisitLimitExceeded", "r1"),
    ),
    (
        "of several breaches fail wins over a target",
        line(
            {"to": "review", "max_retries": 0, "on_exhausted": {"to": "ship"}},
            review={"limits": {"max_visits": 1}},
        ),
        at_work(OK, visits={"review": 1}),
        finish("failed", "r1", "policy", "RetryLimitExceeded"),
    ),
    (
        "a completed end is forward",
        line({"to": "completed"}),
        at_work(OK, open_escalations=2),
        wait("held", to=["completed"], rule="r1", missing=["no_open_escalation"]),
    ),
    (
        "a failed end is not",
        line({"to": "failed"}),
        at_work(OK, open_escalations=2),
        finish("failed", "r1", "rule"),
    ),
    ("backwards is not", line({"to": "plan"}), at_work(OK, preconditions={"x": False}), move("plan", "r1")),
    (
        "compose: one node its value, several a list",
        line({"to": "plan", "compose": [{"var": "one", "path": "$.a[0]"}, {"var": "all", "path": "$.a[*]"}]}),
        at_work(OK | {"output": {"a": [1, 2]}}),
        move("plan", "r1", variables={"one": 1, "all": [1, 2]}),
    ),
    (
        "compose fails before the revisit policy",
        line({"to": "plan", "compose": [{"var": "v", "path": "$.a"}]}, policy={"revisit": "forbid"}),
        at_work(OK, visits={"plan": 1}),
        finish("failed", "r1", "policy", "compose_failed"),
    ),
    (
        "compose failed, on_failure escalates",
        line({"to": "plan", "compose": [{"var": "v", "path": "$.a"}]}, policy={"on_failure": "escalate"}),
        at_work(OK),
        escalate("compose_failed", "r1"),
    ),
]

WORK_AGAIN = {"when": {"result": "failure"}, "to": "work"}
GATED: list[Case] = [
    (
        "a gate waits",
        line(FORWARD),
        at_work(OK),
        wait("awaiting_review", gates=["human"], to=["review"], rule="r1"),
    ),
    ("approved", line(FORWARD), at_work(OK, **word("approve")), move("review", "r1")),
    (
        "two gates are asked together, the open one is named",
        line({"to": "review", "gates": ["human", "skipped", "second"]}),
        at_work(OK, **word("approve")),
        wait("awaiting_review", gates=["second"], to=["review"], rule="r1"),
    ),
    ("no approval required", line({"to": "review", "gates": ["silent"]}), at_work(OK), move("review", "r1")),
    ("skip passes", line({"to": "review", "gates": ["skipped"]}), at_work(OK), move("review", "r1")),
    (
        "rejected, alp",
        line(FORWARD, AGAIN),
        at_work(OK, **word("reject", reason="no")),
        finish("failed", "r1", "gate"),
    ),
    (
        "rejected, rework",
        line(FORWARD, policy={"on_reject": "rework"}),
        at_work(OK, **word("reject", reason="no")),
        move("work", "r1", "gate", feedback="no"),
    ),
    (
        "rejected, the gate's own route",
        line({"to": "review", "gates": ["own"]}, gates=[{"key": "own", "on_reject": "route:plan"}]),
        at_work(OK, **word("reject", "own", reason="no")),
        move("plan", "r1", "gate", feedback="no"),
    ),
    (
        "rejected, the reviewer chooses",
        line(FORWARD, policy={"on_reject": "reviewer_chooses"}),
        at_work(OK, **word("reject", reason="no", route="ship")),
        move("ship", "r1", "gate", feedback="no"),
    ),
    (
        "sent back",
        line(FORWARD),
        at_work(OK, **word("send_back", reason="more")),
        move("work", "r1", "gate", feedback="more"),
    ),
    (
        "sent back too often: refused, so it still waits",
        line({"to": "review", "gates": ["twice"]}),
        at_work(OK, rounds={"twice": 1}, **word("send_back", "twice")),
        wait("awaiting_review", gates=["twice"], to=["review"], rule="r1"),
    ),
    (
        "a word at the station gate names no rule",
        line(FORWARD, at={"gate": "human"}),
        at_work(OK, **word("send_back", reason="more")),
        move("work", None, "gate", feedback="more"),
    ),
    (
        "rework forces failure and leaves its rule out",
        line({"to": "review", "gates": ["human"]}, {"when": {"verdict": "fail"}, "to": "plan"}),
        at_work(OK, **word("rework", reason="weak")),
        move("plan", "r2", "gate", feedback="weak"),
    ),
    (
        "rework that no rule takes",
        line(FORWARD),
        at_work(OK, **word("rework")),
        finish("failed", None, "policy"),
    ),
    ("aborted", line(FORWARD), at_work(OK, **word("abort")), finish("failed", "r1", "gate")),
    (
        "abort outweighs reject at an earlier gate",
        line({"to": "review", "gates": ["human", "second"]}, policy={"on_reject": "rework"}),
        at_work(OK, gates={"human": {"decision": "reject"}, "second": {"decision": "abort"}}),
        finish("failed", "r1", "gate"),
    ),
    (
        "a word is decided before step 7",
        line(FORWARD),
        at_work(OK, open_escalations=1, **word("reject")),
        finish("failed", "r1", "gate"),
    ),
    (
        "step 7 before the gates are asked",
        line(FORWARD),
        at_work(OK, open_escalations=1),
        wait("held", to=["review"], rule="r1", missing=["no_open_escalation"]),
    ),
    (
        "an automatic gate holds",
        line({"to": "review", "gates": ["sure"]}),
        at_work({"exit_code": 1} | OK),
        wait("awaiting_review", gates=["sure"], to=["review"], rule="r1"),
    ),
    (
        "and passes",
        line({"to": "review", "gates": ["sure"]}),
        at_work({"exit_code": 0}),
        move("review", "r1"),
    ),
    (
        "an absent value fails its check, not_equals included",
        line({"to": "review", "gates": ["c"]}, gates=[gate("c", check("abort", operator="not_equals"))]),
        at_work(OK),
        finish("failed", "r1", "gate"),
    ),
    (
        "warn routes nothing",
        line({"to": "review", "gates": ["c"]}, gates=[gate("c", check("abort", severity="warn"))]),
        at_work(OK),
        move("review", "r1"),
    ),
    (
        "the worst failed action of all gates: rework over hold",
        line({"to": "review", "gates": ["sure", "c"]}, WORK_AGAIN, gates=[gate("c", check("rework"))]),
        at_work({"exit_code": 1} | OK),
        move("work", "r2", "gate"),
    ),
    (
        "a passed any group counts as nothing",
        line(
            {"to": "review", "gates": ["c"]},
            gates=[
                gate("c") | {"checks": {"any": [check("abort"), {"field": "result", "operator": "exists"}]}}
            ],
        ),
        at_work(OK),
        move("review", "r1"),
    ),
    (
        "the station gate aborts",
        line({"to": "review"}, at={"gate": "c"}, gates=[gate("c", check("abort"))]),
        at_work(BAD),
        finish("failed", None, "gate"),
    ),
    (
        "checks of a manual gate are only shown",
        line({"to": "review", "gates": ["c"]}, gates=[gate("c", check("abort"), mode="manual")]),
        at_work(OK, **word("approve", "c")),
        move("review", "r1"),
    ),
    (
        "checks see the outcome as recorded, not the forced values",
        line(
            {"when": {"result": "success"}, "to": "review", "gates": ["c"]},
            gates=[
                gate("c", {"field": "result", "operator": "equals", "value": "failure", "action": "abort"})
            ],
        ),
        at_work(BAD | {"signals": [{"verdict": "proceed"}]}),
        move("review", "r1", "signal"),
    ),
    (
        "gates at @blocked apply",
        line({"to": "@blocked", "gates": ["human"]}),
        at_work(OK),
        wait("awaiting_review", gates=["human"], to=["@blocked"], rule="r1"),
    ),
]

CASES: list[Case] = POLICIES + CONDITIONS + SIGNALS + TARGETS + GATED
