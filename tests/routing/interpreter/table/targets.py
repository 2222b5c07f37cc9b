"""§5, step 7, and compose."""

from .words import OK, Case, at_work, escalate, finish, line, move, stuck, wait

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
        "the present station was visited, said or not",
        line({"to": "work"}, preset="vibe-factory"),
        at_work(OK, visited=["plan"]),
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
        "a forbidden pair of one fork",
        line({"to": ["review", "ship"]}, forbidden_parallel=[["ship", "review"]]),
        at_work(OK),
        stuck("ForbiddenParallel", "r1"),
    ),
    (
        "a forbidden pair, the other token stands there",
        line({"to": "ship"}, forbidden_parallel=[["review", "ship"]]),
        at_work(OK, beside=["review"]),
        stuck("ForbiddenParallel", "r1"),
    ),
    (
        "another token stands somewhere else",
        line({"to": "ship"}, forbidden_parallel=[["review", "ship"]]),
        at_work(OK, beside=["plan"]),
        move("ship", "r1"),
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
        "and for the revisit policy",
        line(
            {"to": "review", "max_retries": 0, "on_exhausted": {"to": "plan"}}, policy={"revisit": "forbid"}
        ),
        at_work(OK, visits={"plan": 1}),
        stuck("CircularWorkflow", "r1"),
    ),
    (
        "and is bound by its own max_visits like every entry",
        line(
            {"to": "plan", "max_retries": 0, "on_exhausted": {"to": "review"}},
            policy={"on_exhausted": "stuck"},
            review={"limits": {"max_visits": 1}},
        ),
        at_work(OK, visits={"review": 1}),
        stuck("RetryLimitExceeded", "r1"),
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
        "output that is not JSON gives compose nothing, in the merged scope too",
        line({"to": "plan", "compose": [{"var": "v", "path": "$.a"}]}, policy={"condition_scope": "merged"}),
        at_work(OK | {"output_error": "no JSON"}, context={"a": 1}),
        finish("failed", "r1", "policy", "compose_failed"),
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
