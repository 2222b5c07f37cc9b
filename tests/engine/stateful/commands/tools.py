"""What a command is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pipelines.errors import Conflict, Forbidden, Invalid, NotFound, Refused
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.sight import Subject

KINDS = (NotFound, Forbidden, Conflict, Invalid)
# Does it, and says in one word what was answered.
Act = Callable[[], str]


@dataclass(frozen=True)
class Command:
    """`on` says what to do at this token, or None when there is nothing to do it to. `wide`: it is done to every
    token at once; `whole`: to every token of the task. `alone`: it is one transaction of the engine about this token,
    which may be cut in the middle. `lets_go`: others of the same task that waited for the same go on with it.
    `reach`: whether it is done to another position, too, and its task is told."""

    key: str
    says: str
    on: Callable[[Scene, Subject], Act | None]
    wide: bool = False
    whole: bool = False
    alone: bool = True
    lets_go: bool = False
    reach: Callable[[Subject, Subject], bool] | None = None

    def act(self, scene: Scene, subject: Subject) -> Act | None:
        found = self.on(scene, subject)
        return None if found is None else (lambda: answered(found))


def answered(act: Callable[[], Any]) -> str:
    """Refusals are answers; any other error is a fault of the engine."""
    try:
        return str(act())
    except Refused as refused:
        return next(each.__name__ for each in KINDS if isinstance(refused, each))


def doing(do: Callable[[Scene, Subject], Any]) -> Callable[[Scene, Subject], Act]:
    """Always possible; answers `done` unless it is refused."""

    def on(scene: Scene, subject: Subject) -> Act:
        def act() -> str:
            do(scene, subject)
            return "done"

        return act

    return on


# What stations say: every standing, every signal, what the rules of the lines wait for, and what nobody expects.
OUTCOMES: list[dict[str, Any]] = [
    {"result": "success"},
    *(
        {"result": "success", "eval": word, "output": {"n": 1}}
        for word in (
            "two",
            "three",
            "pair",
            "one",
            "sure",
            "question",
            "evaluate",
            "hook",
            "pass",
            "fork",
            "loop",
            "over",
            "back",
            "give",
            "paper",
            "lab",
            "bench",
            "strict",
            "urgent",
            "meet",
        )
    ),
    *(
        {"result": "success", "eval": word}
        for word in ("desk", "rest", "done", "lost", "gone", "odd", "new-2", "new-5")
    ),
    {"result": "success", "eval": "meet", "output": {"n": 2}},
    {"result": "failure", "summary": "It failed."},
    {"result": "failure", "eval": "loop"},
    {"result": "cancelled", "reason": "idle_timeout"},
    {"verdict": "fail", "exit_code": 0, "output": {"n": 0}},
    {"exit_code": 0, "output_error": "not JSON"},
    {"exit_code": 3},
    {"verdict": "blocked"},
    {"result": "success", "blockers": ["a", "b"]},
    {
        "result": "success",
        "signals": [{"verdict": "hold", "reason": "needs_human", "meta": {"question": "Which?"}}],
    },
    {"result": "success", "signals": [{"verdict": "rework"}]},
    {"result": "success", "signals": [{"verdict": "abort", "reason": "wrong"}]},
    {"result": "failure", "signals": [{"verdict": "proceed"}]},
    *(
        {
            "result": "success",
            "signals": [{"verdict": "hold", "reason": "already_complete", "meta": {"targetState": target}}],
        }
        for target in ("ship", "nowhere")
    ),
]
