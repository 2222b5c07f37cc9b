"""Bringing out what a task made: exactly the tree that a gate approved, by one push (law §15); or proposing it."""

from __future__ import annotations

from pipelines.routing.document.work.keys import ChoiceKey, GateKey
from pipelines.routing.document.work.kind import Kind

MERGE, REQUEST, PUSH = "merge", "request", "push"
TO = {
    MERGE: "Merge into the branch that the task started from",
    REQUEST: "Push the branch of the task, and open a pull or merge request",
    PUSH: "Push the branch of the task",
}
NEVER, SAME_PATCH = "never", "same_patch"

KIND = Kind(
    key="deliver",
    name="Deliver",
    about="The approved change is merged, proposed as a pull or merge request, or pushed.",
    icon="git-merge",
    docs="kinds.md#deliver",
    title="Delivery",
    keys={
        "to": ChoiceKey(TO, default=MERGE, label="How"),
        "gate": GateKey(
            label="Approved at",
            help="Only what was approved at this gate is delivered, and nothing that changed since.",
            asked="name the gate that approves the change",
            none="No gate",
            spared=lambda work: work.get("to") in (REQUEST, PUSH),
        ),
        "rebase": ChoiceKey(
            {
                NEVER: "People are asked again",
                SAME_PATCH: "The same change lands without them, once its checks passed again",
            },
            default=NEVER,
            label="If the branch moved",
        ),
    },
    fields=("to", "gate", "rebase"),
    calls=True,
    of_a_branch=True,
    evals=(
        "delivered",
        "base_moved",
        "branch_changed",
        "not_approved",
        "push_refused",
        "host_refused",
        "host_away",
    ),
    tells=True,
    actor="system",
    says=lambda station: str(station.work.get("gate", "")),
    said_as="What was approved at %(said)s",
    silent="The branch of the task is pushed.",
)
