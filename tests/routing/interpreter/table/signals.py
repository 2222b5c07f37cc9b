"""§5, steps 3 and 4: signals and the fallback."""

from .words import BAD, OK, SIGNAL, Case, at_work, finish, line, move, output, signal, wait, word

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
        line(policy={"revisit": "forbid"}, jumps="all"),
        at_work(
            signal("hold", "already_complete", targetState="plan"),
            visits={"plan": 1},
            **word("approve", "@jump"),
        ),
        move("plan", by="signal"),
    ),
    (
        "a jump is reviewed where some gate always asks",
        line(jumps="all"),
        at_work(signal("hold", "already_complete", targetState="ship")),
        wait("awaiting_review", gates=["@jump"], to=["ship"]),
    ),
    (
        "a jump of a line that says nothing of jumps is a hold",
        line(),
        at_work(signal("hold", "already_complete", targetState="ship", question="Where?")),
        wait("blocked", question="Where?"),
    ),
    (
        "a jump to nowhere is a hold",
        line(jumps="all"),
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
        "a word at that step decides at once: the success route is not demanded any more",
        line({"when": {"result": "failure"}, "to": "plan"}, at={"gate": "human"}),
        at_work(SIGNAL, **word("rework", reason="weak")),
        move("plan", "r1", "gate", feedback="weak"),
    ),
    (
        "a person's word begins anew: the forced route that led to the gate does not count",
        line(FORWARD, AGAIN),
        at_work(SIGNAL, **word("rework")),
        move("plan", "r2", "gate"),
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
