"""§6, and the words of persons."""

from .words import BAD, OK, Case, at_work, check, finish, gate, line, move, wait, word

FORWARD = {"to": "review", "gates": ["human"]}
AGAIN = {"when": {"result": "failure"}, "to": "plan"}
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
        "rejected, vibe-factory",
        line(FORWARD, preset="vibe-factory"),
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
    (
        "the reason goes to whichever station is entered, that of on_failure too",
        line(FORWARD, policy={"on_failure": "station:plan"}),
        at_work(OK, **word("rework", reason="weak")),
        move("plan", None, "policy", feedback="weak"),
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
        "a group of nothing but warnings is no member of the group around it",
        line(
            {"to": "review", "gates": ["c"]},
            gates=[
                gate("c") | {"checks": {"any": [{"all": [check("abort", severity="warn")]}, check("rework")]}}
            ],
        ),
        at_work(BAD),
        finish("failed", None, "policy"),
    ),
    (
        "an eval that is no number differs from every number",
        line(
            {"to": "review", "gates": ["c"]},
            gates=[gate("c", {"field": "eval", "operator": "not_equals", "value": 3, "action": "abort"})],
        ),
        at_work(OK),
        move("review", "r1"),
    ),
    (
        "a gate whose checks are all warnings has none",
        line(
            {"to": "review", "gates": ["c"]},
            gates=[gate("c") | {"checks": {"any": [{"any": [check("abort", severity="warn")]}]}}],
        ),
        at_work(BAD),
        move("review", "r1"),
    ),
    (
        "an eval is in a list by its number, among numbers",
        line(
            {"to": "review", "gates": ["c"]},
            gates=[gate("c", {"field": "eval", "operator": "in", "value": ["x", 7], "action": "abort"})],
        ),
        at_work({"eval": " 7.0"}),
        move("review", "r1"),
    ),
    (
        "and as text among texts",
        line(
            {"to": "review", "gates": ["c"]},
            gates=[gate("c", {"field": "eval", "operator": "in", "value": ["7.0"], "action": "abort"})],
        ),
        at_work({"eval": "7"}),
        finish("failed", "r1", "gate"),
    ),
    (
        "and one that is compares as a number",
        line(
            {"to": "review", "gates": ["c"]},
            gates=[gate("c", {"field": "eval", "operator": "equals", "value": 3, "action": "abort"})],
        ),
        at_work({"eval": " 3.0"}),
        move("review", "r1"),
    ),
    (
        "nobody speaks at a gate that is skipped",
        line({"to": "review", "gates": ["skipped"]}),
        at_work(OK, **word("abort", "skipped")),
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
