"""What a back-test says of a decision that differs: where it is and what can be done, by names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pipelines.lines.backtest.backtest_result import MESSAGES, effects_in_words
from pipelines.models import Decision, Task
from pipelines.routing.analysis import redecide
from pipelines.routing.analysis.redecide.decided_effect import DecidedEffect
from pipelines.routing.analysis.redecide.verdict import Redecision, Verdict
from pipelines.routing.analysis.redecide.verdict import redecide as redecided
from pipelines.routing.document.line import read_line
from tests.api.conftest import Apis
from tests.backtest.test_api import PATH, said
from tests.backtest.test_verdicts import FAILED, LOOK, PASSED, approved, gated, line, run
from tests.backtest.trying import messages
from tests.engine.breaks import unguarded
from tests.factories import World

pytestmark = pytest.mark.django_db
NAMED = {"name": "Build"}


def test_a_word_that_is_not_offered_names_word_gate_and_remedy(world: World) -> None:
    task = approved(world, gated("look", build=NAMED), "send_back", reason="again")
    now = gated("look", build=NAMED)
    now["gates"][0] = {**LOOK, "offers": ["approve", "reject"]}
    assert messages(task, now)[1] == (
        "“Send back” was said at Look, which does not offer it any more. "
        "Offer it again, or simulate another answer."
    )


def test_a_word_under_another_approval_names_both(world: World) -> None:
    task = approved(world, gated("look", build=NAMED))
    now = gated("look", build=NAMED)
    now["gates"][0] = {**LOOK, "approval": {"who": [{"role": "reviewer", "count": 2}]}}
    assert messages(task, now)[1].startswith(
        "“Approve” was said at Look when other people could decide there."
    )


def test_a_rejection_elsewhere_names_both_gates(world: World) -> None:
    task = approved(world, gated("look"), "reject", reason="no")
    assert messages(task, gated("lead"))[1] == (
        "Look decided it then. Now Lead is asked, where nobody has spoken: simulate both answers."
    )


def test_a_round_that_would_be_refused_names_its_gate(world: World) -> None:
    task = world.start(world.line(gated("look")))
    for number in range(2):
        world.report(task, {"result": "success", "output": {"try": number}})
        world.vote(task, "send_back", reason="again")
    now = gated("look")
    now["gates"][0] = {**LOOK, "approval": {"max_rounds": 1}}
    assert messages(task, now)[3].startswith("What was said at Look would be refused now. ")


def test_a_field_that_was_not_recorded_is_said_by_its_label(world: World) -> None:
    task = run(world, gated(build=NAMED))
    now = gated("look", inputs=[{"key": "risk", "type": "text", "label": "Risk"}], build=NAMED)
    check = {"field": "input.risk", "operator": "equals", "value": "high", "action": "hold"}
    now["gates"][0] = {**LOOK, "mode": "auto", "checks": {"all": [check]}}
    assert messages(task, now)[0].startswith("A check at Build reads Risk, ")


def test_why_a_task_would_be_stuck_is_said_in_words(world: World) -> None:
    task = run(world, line(PASSED, policy={"no_match": "fail"}))
    now = line(FAILED, policy={"no_match": "stuck"})
    [found] = Decision.objects.filter(task=task)
    again = redecided(read_line(line(PASSED)), found.situation, found.answer, read_line(now))
    words = effects_in_words("build", again, read_line(line(PASSED)), read_line(now))
    assert words["now"]["detail"] == "no rule matches"


ABOUT: dict[str, Any] = {
    "gates": ("look",),
    "assumed": ("lead",),
    "word": "send_back",
    "origin": "fix",
    "field": "gates.look",
    "counters": [("edges", "build->fix"), ("rules", "ok")],
}


def _reasons() -> set[str]:
    """The codes that `redecide` answers with, as its source says them."""
    room = Path(redecide.__file__).parent
    source = (room / "verdict.py").read_text()
    found = re.findall(
        r'(?:UnrecordedFact\(\s*|return |decided_effect\(answer\), |_undecidable_redecision\(\s*then, )"(\w+)", ',
        source,
    )
    return {*found, *re.findall(r'skipped, "(\w+)"', source)}


def test_every_reason_has_its_message() -> None:
    assert _reasons() == {key for key in MESSAGES if not isinstance(key, Verdict)}


@pytest.mark.parametrize("reason", [key for key in MESSAGES if not isinstance(key, Verdict)])
def test_a_message_has_names_and_no_keys(reason: str) -> None:
    now = read_line(gated("look", "lead", build=NAMED))
    found = Redecision(
        Verdict.UNDECIDABLE, DecidedEffect("move"), None, ("look",), ("lead",), reason, "build look", ABOUT
    )
    said = effects_in_words("build", found, now, now)["message"]
    assert any(name in said for name in ("Build", "Look", "Send back"))
    assert not re.search(r"\b(build|look|lead|send_back|ok)\b", said.replace("to look", ""))


# What keeps a back-test from its end


@pytest.fixture
def damaged(world: World) -> Task:
    task = run(world, line(build=NAMED))
    with unguarded():
        Decision.objects.filter(task=task).update(situation={"station": 7})
    return task


@pytest.mark.broken
@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators")
def test_a_damaged_decision_is_named_with_the_remedy(world: World, damaged: Task) -> None:
    told = said(Apis(world).as_(world.viewer).get(f"{PATH}?to=live"))
    assert told[-1]["status"] == 500
    assert told[-1]["detail"] == (
        f"The decision of {damaged.name} at Build is damaged and cannot be tried. "
        "Leave it out by a later date under “Decided since”."
    )
