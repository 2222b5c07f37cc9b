"""The inbox and the dossier as a server gives them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from pipelines.models import GateVisit, LineVersion, Membership, Task, User, Worker
from tests.factories import World, make_member, station
from tests.pages.conftest import text
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db


def as_(user: User) -> Client:
    user.set_password("a password")
    user.save()
    client = Client()
    client.force_login(user)
    return client


def inbox(user: User, tab: str = "needs-me") -> str:
    return as_(user).get(reverse("inbox"), {"tab": tab}).content.decode()


def decision(visit: GateVisit, word: str, **more: Any) -> dict[str, Any]:
    shown = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
    return {"word": word, **shown, **more}


def decide(user: User, visit: GateVisit, word: str, **more: Any) -> Any:
    return as_(user).post(reverse("gate-decide", args=[visit.pk]), decision(visit, word, **more))


def test_each_list_of_reviews_has_what_its_name_says(world: World, waiting: Task) -> None:
    assert "Add login" in inbox(world.operator, "mine")
    for user in (world.viewer, world.reviewer):
        assert "Add login" in inbox(user, "others"), "every open review, whoever is asked"
    for user, tab in ((world.reviewer, "mine"), (world.stranger, "others")):
        assert "Add login" not in inbox(user, tab)
    world.vote(waiting, "approve")
    assert "Add login" in inbox(world.reviewer, "done")


def test_what_needs_me_has_one_page_and_beside_a_dossier_the_same_list(world: World, waiting: Task) -> None:
    other = world.start(world.line(stations=[station("sort", kind="manual")], key="other"), title="Sort it")
    for tab in ("", "needs-me", "nonsense"):
        answer = as_(world.reviewer).get(reverse("inbox"), {"tab": tab})
        assert (answer.status_code, answer.headers["Location"]) == (302, reverse("needs-me"))
    beside = {"tab": "needs-me", "fragment": "list"}
    listed = as_(world.reviewer).get(reverse("inbox"), beside).content.decode()
    assert waiting.name in listed and other.name in listed
    assert waiting.name not in as_(world.operator).get(reverse("inbox"), beside).content.decode()


def test_the_dossier_shows_what_is_asked_and_what_each_word_does(world: World, waiting: Task) -> None:
    visit = world.visit(waiting)
    shown = as_(world.reviewer).get(reverse("gate-visit", args=[visit.pk])).content.decode()
    for expected in (
        "Add login",
        "Approve → ship",
        "Send back → build",
        "Reject: the task fails",
        "send-back 1 of 3",
        "Rule “Built” of",
        "Path",
        "Built it &lt;b&gt;well&lt;/b&gt;",
        "&quot;files&quot;: 3",
        visit.evidence_digest[:12],
    ):
        assert expected in shown, expected


def test_a_warning_for_the_operator_is_no_part_of_a_review(world: World, waiting: Task) -> None:
    address = reverse("gate-visit", args=[world.visit(waiting).pk])
    for isolation in ("none", "docker"):
        Worker.objects.update(isolation=isolation, cuts_network=False)
        shown = as_(world.reviewer).get(address).content.decode()
        assert "could forge a decision" not in shown and "Network: not enforced" not in shown


def test_who_may_not_decide_sees_why_and_no_button(world: World, waiting: Task) -> None:
    visit = world.visit(waiting)
    shown = as_(world.viewer).get(reverse("gate-visit", args=[visit.pk])).content.decode()
    assert "This gate does not ask you to review" in shown
    # The bar for several at once is hidden until a row is chosen; none of theirs can be.
    alone = re.sub(r'<form class="inbox-bulk.*?</form>', "", shown, flags=re.DOTALL)
    assert 'name="word"' not in alone and "data-choose\n" not in alone


def test_the_only_member_is_told_before_and_everybody_ever_after_that_it_is_self_approved(
    world: World, line: LineVersion
) -> None:
    only = world.admin
    task = world.start(line, title="Add login", by=only)
    world.report(task, {"result": "success"})
    visit = world.visit(task)
    Membership.objects.filter(project=world.project).exclude(user=only).delete()
    here = reverse("gate-visit", args=[visit.pk])
    before = as_(only).get(here).content.decode()
    assert "your approval is recorded as self-approved" in before and 'name="word"' in before
    assert "The requester cannot vote" not in before
    assert decide(only, visit, "approve").status_code == 302
    decided = as_(only).get(here).content.decode()
    assert "The requester cannot vote" not in decided and "Needs 1 vote" not in decided
    later, owner = as_(make_member(world.project, "viewer")), world.project.owner.key
    assert "Self-approved" in later.get(here).content.decode()
    assert "Self-approved" in inbox(only, "done")
    assert (
        "self-approved, as the project"
        in later.get(reverse("task", args=[owner, world.project.key, task.name])).content.decode()
    )


def test_a_stranger_finds_no_dossier(world: World, waiting: Task) -> None:
    visit = world.visit(waiting)
    client = as_(world.stranger)
    assert client.get(reverse("gate-visit", args=[visit.pk])).status_code == 404
    assert client.post(reverse("gate-decide", args=[visit.pk]), decision(visit, "approve")).status_code == 404
    assert world.status(waiting) == "awaiting_review"


@pytest.mark.parametrize("method", ["get", "head", "options", "put", "delete"])
def test_nothing_but_a_post_decides(world: World, waiting: Task, method: str) -> None:
    visit = world.visit(waiting)
    client = as_(world.reviewer)
    address = reverse("gate-decide", args=[visit.pk])
    assert getattr(client, method)(address, decision(visit, "approve")).status_code == 405
    assert world.status(waiting) == "awaiting_review"


def test_a_decision_without_a_csrf_token_is_refused(world: World, waiting: Task) -> None:
    visit = world.visit(waiting)
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.reviewer)
    answer = client.post(reverse("gate-decide", args=[visit.pk]), decision(visit, "approve"))
    assert answer.status_code == 403
    assert world.status(waiting) == "awaiting_review"


def test_approving_moves_the_task_and_goes_on_to_the_next_item(world: World, waiting: Task) -> None:
    other = world.start(waiting.pinned, title="Another")
    world.report(other)
    answer = decide(world.reviewer, world.visit(waiting), "approve")
    assert world.at(waiting) == ["ship"]
    assert answer.headers["Location"] == reverse("gate-visit", args=[world.visit(other).pk])


@pytest.mark.parametrize("word", ["reject", "send_back"])
def test_a_missing_reason_is_said_at_its_field(world: World, waiting: Task, word: str) -> None:
    answer = decide(world.reviewer, world.visit(waiting), word, reason="  ")
    assert answer.status_code == 400
    assert "field-error" in answer.content.decode()
    assert world.status(waiting) == "awaiting_review"


def test_who_comes_second_is_told_who_was_first_and_keeps_the_text(world: World, waiting: Task) -> None:
    first, second = world.reviewers(2)
    visit = world.visit(waiting)
    world.vote(waiting, "approve", by=first)
    answer = decide(second, visit, "reject", reason="I had a long thought.")
    shown = answer.content.decode()
    assert answer.status_code == 409
    assert str(first) in shown
    assert "I had a long thought." in shown


@pytest.mark.smoke(4)
@pytest.mark.parametrize(
    "change",
    [{"word": "accept"}, {"word": ""}, {"token_version": "x"}, {"token_version": -1}, {"token_version": 10**30},
     {"evidence_digest": ""}, {"evidence_digest": "x" * 100}, {"reason": "a\0b"}, {"reason": "x" * 30_000}],
)  # fmt: skip
def test_a_forged_form_is_400_and_moves_nothing(world: World, waiting: Task, change: dict[str, Any]) -> None:
    visit = world.visit(waiting)
    body = decision(visit, "approve") | change
    assert as_(world.reviewer).post(reverse("gate-decide", args=[visit.pk]), body).status_code == 400
    assert world.status(waiting) == "awaiting_review"


def test_other_evidence_than_what_was_shown_is_a_conflict(world: World, waiting: Task) -> None:
    answer = decide(world.reviewer, world.visit(waiting), "approve", evidence_digest="0" * 64)
    assert answer.status_code == 409
    assert world.status(waiting) == "awaiting_review"


def test_after_three_rounds_sending_back_is_not_offered(world: World) -> None:
    task = world.start(world.line(**gated()))
    for _ in range(3):
        world.report(task)
        world.vote(task, "send_back", reason="Again.")
    world.report(task)
    visit = world.visit(task)
    shown = as_(world.reviewer).get(reverse("gate-visit", args=[visit.pk])).content.decode()
    assert "Approve → ship" in shown
    assert "Send back →" not in shown
    assert "Send back is not possible: 3 of 3 are used." in shown


@pytest.mark.parametrize(
    "offers, said",
    [(["approve", "reject"], "Send back is not offered here: no rule of the line leads back from this gate."),
     (["approve", "rework", "abort"], ""), (["approve", "send_back", "reject"], "")],
)  # fmt: skip
def test_a_gate_without_a_way_back_says_why(world: World, offers: list[str], said: str) -> None:
    task = world.start(world.line(**gated(offers=offers)))
    world.report(task)
    shown = as_(world.reviewer).get(reverse("gate-visit", args=[world.visit(task).pk])).content.decode()
    assert ("is not offered here" in shown, said in shown) == (bool(said), True)


def test_each_word_says_where_what_is_written_goes(world: World, waiting: Task) -> None:
    shown = as_(world.reviewer).get(reverse("gate-visit", args=[world.visit(waiting).pk])).content.decode()
    assert "Goes to ship as feedback" not in shown, "a note of who approves is nobody's feedback"
    assert "Goes to build as feedback, and is kept in the history." in shown
    assert "Kept with the task and in its history." in shown


def test_two_votes_are_counted_down(world: World) -> None:
    task = world.start(world.line(**gated(approval={"who": [{"role": "reviewer", "count": 2}]})))
    world.report(task)
    first, second = world.reviewers(2)
    address = reverse("gate-visit", args=[world.visit(task).pk])
    assert "1 more vote is needed, then ship starts" in as_(first).get(address).content.decode()
    world.vote(task, "approve", by=first)
    assert "1 of 2 approvals" in as_(second).get(address).content.decode()
    assert "You have voted" in as_(first).get(address).content.decode()


def test_who_decides_is_told_what_happens_now(world: World, waiting: Task) -> None:
    def says(word: str, **more: Any) -> str:
        visit = world.visit(waiting)
        at = reverse("gate-decide", args=[visit.pk])
        said = as_(world.reviewer).post(at, decision(visit, word, **more), follow=True)
        return " ".join(said.content.decode().split())

    back = says("send_back", reason="Once more")
    assert f"{waiting.name}: sent back. Build runs again with your reason (send-back 1 of 3)." in back
    world.report(waiting, {"result": "success"})
    page = says("approve")
    assert f"{waiting.name}: approved. Ship starts." in page.partition("<main")[0], "it stays on the page"
    assert "Ship starts." not in page.partition('id="toasts"')[2].partition('id="announcer"')[0]


def test_what_a_decision_starts_is_not_said_of_a_task_that_ended(world: World, waiting: Task) -> None:
    visit, client = world.visit(waiting), as_(world.reviewer)
    answer = client.post(reverse("gate-decide", args=[visit.pk]), decision(visit, "approve"))
    world.report(waiting, {"result": "success"})
    page = client.get(answer["Location"]).content.decode()
    assert 'data-standing="completed"' in page
    assert "Ship starts." not in page.partition("<main")[0]


@pytest.mark.parametrize("question", ["", "Does it do what was asked?"])
def test_a_decided_review_speaks_of_what_was(world: World, question: str) -> None:
    """Nobody is asked any more, so the page asks nothing."""
    task = world.start(world.line(**gated(description=question)), title="Add login")
    world.report(task)
    address = reverse("gate-visit", args=[world.visit(task).pk])
    asking = ("Your decision", "What happens next", "Who decides, and why here")
    opened = text(as_(world.reviewer).get(address))
    assert all(words in opened for words in asking)
    world.vote(task)
    decided = text(as_(world.reviewer).get(address))
    assert not [words for words in asking if words in decided]
    asked = f"The question was: {question}" if question else "Needed 1 vote from the role reviewer."
    assert asked in decided and "Who decided, and why here" in decided


def test_an_output_is_read_as_text(world: World, line: LineVersion) -> None:
    task = world.start(line, title="Plan it")
    plan = "1. Count attempts\n2. Refuse the sixth"
    world.report(task, {"result": "success", "summary": "Planned.", "output": {"plan": plan, "files": 2}})
    shown = as_(world.reviewer).get(reverse("gate-visit", args=[world.visit(task).pk])).content.decode()
    told = shown.partition("As stored")[0]
    assert "<h3>Plan</h3>" in told and plan in told and "&quot;plan&quot;" not in told
    assert "<h3>Files</h3>" in told


def test_an_unchanged_bar_is_not_swapped_under_the_readers_hands(world: World, waiting: Task) -> None:
    visit = world.visit(waiting)
    client, address = as_(world.reviewer), reverse("gate-visit", args=[visit.pk])
    assert client.get(address, {"fragment": "bar", "seen": "open-0"}).status_code == 204
    world.vote(waiting, "approve", by=world.reviewers(1)[0])
    changed = client.get(address, {"fragment": "bar", "seen": "open-0"}).content.decode()
    assert 'name="word"' not in changed


def test_a_person_without_any_project_has_empty_lists(world: World) -> None:
    Membership.objects.filter(user=world.viewer).delete()
    assert "Nothing selected" in inbox(world.viewer, "others")


def test_the_dossier_shows_what_a_tool_said_before_people_were_asked(world: World) -> None:
    warns = {"parse": "json", "warn_if": {"output": {"path": "$.percent", "op": "lt", "value": 80}}}
    gate = {"key": "cover", "mode": "auto", "tool": {"argv": ["coverage"], "outcome": warns}}
    rule = {"id": "on", "to": "ship", "gates": ["cover"]}
    task = world.start(world.line(stations=[station("build", rule), "ship"], gates=[gate]))
    world.report(task)
    world.report(task, {"exit_code": 0, "output": {"percent": 70}, "feedback": "70 % covered"})
    page = as_(world.reviewer).get(reverse("gate-visit", args=[world.visit(task).pk])).content.decode()
    assert "Asked before" in page
    assert "70 % covered" in page


@pytest.mark.wide
def test_a_review_that_was_decided_is_opened_beside_its_own_list(world: World, waiting: Task) -> None:
    """A click in *Decided* once went to *Needs you*, and what was decided looked as if it were open."""
    other = world.start(waiting.pinned, title="Still open")
    world.report(other, {"result": "success"})
    visit = world.visit(waiting)
    world.vote(waiting, by=world.reviewer)
    client = as_(world.reviewer)
    address = f"{reverse('gate-visit', args=[visit.pk])}?tab=done"
    listed = client.get(reverse("inbox"), {"tab": "done", "fragment": "list"}).content.decode()
    assert f'href="{address}"' in listed
    assert "kind-ok" in listed and "kind-attention" not in listed, "it asks for nothing any more"
    page = " ".join(client.get(address).content.decode().split())
    beside = page.partition('id="inbox-list"')[2].partition("<article")[0]
    assert waiting.title in beside and "Still open" not in beside
    tab = f'<a class="tab" href="{reverse("inbox")}?tab=done" aria-current="page"'
    assert tab in page and f'class="inbox-back small row row-4" href="{reverse("inbox")}?tab=done"' in page


FIELDS = [
    {"key": "plan", "type": "yes_no", "label": "Rollback plan read", "required": True},
    {"key": "ring", "type": "choice", "label": "Ring", "choices": ["canary", "all"], "required": True},
]


def test_the_fields_of_a_gate_are_filled_in_with_the_approval(world: World) -> None:
    task = world.start(world.line(**gated(fields=FIELDS)))
    world.report(task, {"result": "success"})
    visit = world.visit(task)
    shown = as_(world.reviewer).get(reverse("gate-visit", args=[visit.pk])).content.decode()
    assert 'name="fields.plan"' in shown and 'name="fields.ring"' in shown
    refused = decide(world.reviewer, visit, "approve", **{"fields.ring": "canary"})
    assert refused.status_code == 400
    page = refused.content.decode()
    assert "Rollback plan read is required." in page and "selected" in page
    answer = decide(world.reviewer, visit, "approve", **{"fields.ring": "canary", "fields.plan": "on"})
    assert answer.status_code == 302
    task.refresh_from_db()
    assert task.variables == {"plan": True, "ring": "canary"}


def test_what_was_filled_in_does_not_hinder_another_word(world: World) -> None:
    task = world.start(world.line(**gated(fields=FIELDS)))
    world.report(task, {"result": "success"})
    typed = {"fields.ring": "canary", "reason": "Not like this"}
    assert decide(world.reviewer, world.visit(task), "reject", **typed).status_code == 302


def test_an_administrator_overrides_on_a_page_of_its_own(world: World) -> None:
    task = world.start(world.line(**gated(approval={"who": [{"role": "reviewer", "count": 3}]})))
    world.report(task, {"result": "success"})
    visit = world.visit(task)
    review, here = (reverse(name, args=[visit.pk]) for name in ("gate-visit", "gate-override"))
    admin = as_(world.admin)
    assert here in admin.get(review).content.decode()
    assert here not in as_(world.reviewer).get(review).content.decode()
    assert "needs 3 approvals and has 0" in admin.get(here).content.decode()
    shown = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
    refused = admin.post(here, {**shown, "comment": "", "confirm": "yes"})
    assert (refused.status_code, visit.votes.count()) == (400, 0)
    assert admin.post(here, {**shown, "comment": "All are away", "confirm": task.name}).status_code == 302
    assert "Approved by override" in admin.get(review).content.decode()
    owner = world.project.owner.key
    history = admin.get(reverse("task", args=[owner, world.project.key, task.name])).content.decode()
    assert "overrode Release review" in history and "All are away" in history


def test_the_history_of_a_decision_is_downloaded_with_rounds_votes_and_evidence(
    world: World, waiting: Task
) -> None:
    world.vote(waiting, "send_back", reason="Add a test")
    world.report(waiting, {"result": "success", "summary": "With a test"})
    visit = world.visit(waiting)
    world.vote(waiting, "approve", via="api")
    answer = as_(world.viewer).get(reverse("gate-history", args=[visit.pk]))
    first, second = answer.json()["rounds"]
    assert (first["word"], first["reason"], second["word"]) == ("send_back", "Add a test", "approve")
    assert [vote["via"] for each in (first, second) for vote in each["votes"]] == ["page", "api"]
    assert second["evidence_digest"] == visit.evidence_digest
    assert second["evidence"]["outcome"]["summary"] == "With a test"
    assert [event["kind"] for event in second["events"]] == ["gate.opened", "gate.voted", "gate.decided"]
    assert as_(world.stranger).get(reverse("gate-history", args=[visit.pk])).status_code == 404
