"""§2 and §4: what follows, and what happens without a match."""

from .words import BAD, LEFT, OK, Case, at_work, escalate, finish, line, move, only, stuck, wait

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
