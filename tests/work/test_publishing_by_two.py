"""A protection can say that two people publish a line that delivers there: neither who asks nor who wrote any change of
the draft does, whichever way they come (law §14)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from django.urls import reverse
from django.utils import timezone

from pipelines.errors import InputError
from pipelines.models import (
    AdministrativeAct,
    Line,
    LineEvent,
    LineVersion,
    Membership,
    Project,
    PublishRequest,
    Repository,
    RepositoryProtection,
    User,
)
from pipelines.queries import versions
from pipelines.queries.four_eyes import were_versions_published_by_two
from pipelines.queries.protections import canonical_address
from pipelines.routing.guarantees.protection import Protection
from pipelines.web.setup import templates
from pipelines.work.transport.local.delivery_approvals import Involved, missing_approvals_sentence_or_empty
from reviews.models import Notification
from reviews.tasks import deliver_notification
from tests.api.conftest import Api
from tests.factories import World, make_member, make_project, station
from tests.fixtures.mailbox import Mailbox, mailbox
from tests.pages.conftest import client_of
from tests.pages.test_prepare_form import typed
from tests.work.publishing_pair import FOLDER, SCOPES, Pair, document
from tests.work.repository_lines import to

__all__ = ["mailbox"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pair(world: World) -> Pair:
    return Pair(world)


# By each door


def test_by_the_api_one_asks_and_another_publishes(pair: Pair, mailbox: Mailbox) -> None:
    pair.protect()
    line = pair.save(pair.mallory)
    asked = pair.publish(pair.mallory, line)
    assert asked.status_code == 202, asked.content
    assert asked.json()["requested_by"] == str(pair.mallory) and asked.json()["state"] == "open"
    assert pair.live(line) is None
    again = pair.publish(pair.mallory, line)
    assert again.status_code == 202 and PublishRequest.objects.count() == 1
    assert pair.as_(pair.world.viewer).get("/lines/line/publish").json()["draft"] == line.draft_number
    told = Notification.objects.filter(kind="publishing")
    assert {row.user for row in told} >= {pair.ann} and pair.mallory not in {row.user for row in told}
    deliver_notification(told.get(user=pair.ann).pk)
    ((receivers, message),) = mailbox.received
    assert receivers == [pair.ann.email] and "asks for publishing Line" in str(message["Subject"])
    done = pair.publish(pair.ann, line)
    assert done.status_code == 201, done.content
    assert done.json()["published_by"] == str(pair.ann)
    record = LineEvent.objects.get(kind="published")
    assert record.data["requested_by"] == pair.mallory.username
    kinds = list(AdministrativeAct.objects.order_by("pk").values_list("kind", flat=True))
    assert [kind for kind in kinds if kind.startswith("publish.")] == ["publish.asked", "publish.confirmed"]
    assert pair.as_(pair.world.viewer).get("/lines/line/publish").json() is None
    task = pair.as_(pair.mallory).post("/stages/line/tasks", {"title": "Fix it"})
    assert task.status_code == 201, task.content


def test_on_the_page_one_asks_and_another_sees_it_and_publishes(pair: Pair) -> None:
    pair.protect()
    line = pair.save(pair.mallory)
    place = reverse("line-publish", args=["acme", pair.world.project.key, "line"])
    part = client_of(pair.mallory).get(place, {"part": "findings"}).content.decode()
    assert "Ask for publishing" in part and "Lines that reach app are published by four eyes" in part
    assert pair.page(pair.mallory, line).headers["Location"] == place
    assert pair.live(line) is None
    own = client_of(pair.mallory).get(place).content.decode()
    assert "You asked for publishing" in own
    other = client_of(pair.ann)
    shown = other.get(place).content.decode()
    assert f"{pair.mallory} asks for publishing this draft" in shown and "Send back" in shown
    part = other.get(place, {"part": "findings"}).content.decode()
    assert "Ask for publishing" not in part
    for name in ("guarantees", "difference", "impact"):
        assert other.get(place, {"part": name}).status_code == 200
    answer = pair.page(pair.ann, line)
    version = pair.live(line)
    assert answer.status_code == 302 and version is not None and version.published_by == pair.ann


@pytest.mark.smoke(1)
@pytest.mark.parametrize("door", ["page", "api"])
def test_a_draft_is_sent_back_with_a_reason(pair: Pair, door: str) -> None:
    pair.protect()
    line = pair.save(pair.mallory)
    pair.publish(pair.mallory, line)
    number = line.draft_number

    def send_back(by: User, reason: str) -> int:
        if door == "page":
            return int(pair.page(by, line, "line-send-back", draft=str(number), reason=reason).status_code)
        said = {"draft": number, "reason": reason}
        return int(pair.as_(by).post("/lines/line/publish/send-back", said).status_code)

    refusals = {"page": (302, 404, 403), "api": (400, 404, 403)}[door]
    assert send_back(pair.ann, " ") == refusals[0]
    assert send_back(pair.world.stranger, "No") == refusals[1]
    assert send_back(pair.world.viewer, "No") == refusals[2]
    assert PublishRequest.objects.get().state == "open"
    assert send_back(pair.ann, "Ask the reviewers, too.") == {"page": 302, "api": 200}[door]
    request = PublishRequest.objects.get()
    assert (request.state, request.reason) == ("sent_back", "Ask the reviewers, too.")
    assert Notification.objects.get(user=pair.mallory, kind="publishing").data["reason"] == request.reason
    place = reverse("line-publish", args=["acme", pair.world.project.key, "line"])
    assert "Ask the reviewers, too." in client_of(pair.mallory).get(place).content.decode()
    assert AdministrativeAct.objects.filter(kind="publish.sent_back").exists()
    assert pair.publish(pair.ann, line).status_code == 202, "nothing waits any more: she asks"


def test_nothing_of_it_exists_for_another_owner(pair: Pair) -> None:
    pair.protect()
    pair.publish(pair.mallory, pair.save(pair.mallory))
    stranger = make_member(make_project("theirs", "another"), ["admin"], "stranger", execute=True)
    other = Api(pair.world.project, pair.world.token_of(stranger, *SCOPES)[1])
    for answer in (
        other.get("/lines/line/publish"),
        other.post("/lines/line/publish", {"draft": 1}),
        other.post("/lines/line/publish/send-back", {"draft": 1, "reason": "No"}),
        pair.page(stranger, Line.objects.get(), "line-send-back", draft="1", reason="No"),
    ):
        assert answer.status_code == 404
    assert PublishRequest.objects.get().state == "open"
    assert not Notification.objects.filter(user=stranger).exists()


# Ways around it: each returns the line that would be live


def asking_twice(pair: Pair) -> Line:
    line = pair.save(pair.mallory)
    for _attempt in range(2):
        pair.publish(pair.mallory, line)
        pair.page(pair.mallory, line)
    return line


def asking_for_what_another_wrote(pair: Pair) -> Line:
    """Ann wrote it and published nothing; whoever asks does not publish."""
    line = pair.save(pair.ann)
    for _attempt in range(2):
        pair.publish(pair.mallory, line)
    return line


def writing_what_another_asked_for(pair: Pair) -> Line:
    line = pair.save(pair.mallory)
    pair.publish(pair.ann, line)
    pair.page(pair.mallory, line)
    return line


def undoing_ones_change(pair: Pair) -> Line:
    """Mallory's words are in no place any more, but for what nobody looks at."""
    pair.save(pair.ann)
    pair.save(pair.mallory, document(description="Mallory was here"))
    line = pair.save(pair.ann)
    pair.publish(pair.ann, line)
    pair.publish(pair.mallory, line)
    return line


def changing_it_after_asking(pair: Pair) -> Line:
    """Ann saw another draft than is there: her confirmation names it."""
    line = pair.save(pair.mallory)
    pair.publish(pair.mallory, line)
    seen = line.draft_number
    pair.save(pair.mallory, document(description="Easier"))
    stale = pair.as_(pair.ann).post("/lines/line/publish", {"draft": seen})
    assert stale.status_code == 409, stale.content
    assert pair.publish(pair.ann, line).status_code == 202, "void: nobody asked for this draft"
    return line


def changing_it_there_and_back(pair: Pair) -> Line:
    line = pair.save(pair.mallory)
    pair.publish(pair.mallory, line)
    pair.save(pair.ann, document(description="Other"))
    pair.save(pair.ann)
    pair.publish(pair.ann, line)
    return line


def with_a_machine_token(pair: Pair) -> Line:
    line = pair.save(pair.mallory)
    pair.publish(pair.mallory, line)
    machine = Api(pair.world.project, pair.world.machine("read", "design", role="designer")[1])
    assert machine.post("/lines/line/publish", {"draft": line.draft_number}).status_code == 403
    return line


def alone(pair: Pair) -> Line:
    """In a project of one."""
    line = pair.save(pair.mallory)
    Membership.objects.filter(project=pair.world.project).exclude(user=pair.mallory).delete()
    Project.objects.update(left_at=None)
    asking = pair.publish(pair.mallory, line)
    assert asking.status_code == 202
    pair.page(pair.mallory, line)
    return line


def with_an_input(pair: Pair) -> Line:
    """The repository is named when a task starts."""
    where = [{"key": "where", "type": "repository", "required": True}]
    line = pair.save(pair.mallory, document(inputs=where, workspace={"git": {"repository": "input.where"}}))
    pair.publish(pair.mallory, line)
    pair.publish(pair.mallory, line)
    return line


def under_another_name(pair: Pair) -> Line:
    """The same place, connected again."""
    Repository.objects.create(
        project=pair.world.project, name="other", address=FOLDER + "/", connected_at=timezone.now()
    )
    line = pair.save(pair.mallory, document(workspace={"git": {"repository": "other"}}))
    pair.publish(pair.mallory, line)
    pair.publish(pair.mallory, line)
    return line


def by_a_copy(pair: Pair) -> Line:
    line = pair.save(pair.mallory)
    said = {"owner": "acme", "project": pair.world.project.key}
    made = pair.as_(pair.mallory).post("/lines/line/duplicate", said)
    assert made.status_code == 201, made.content
    copy = Line.objects.get(key=made.json()["key"])
    pair.publish(pair.mallory, copy)
    pair.publish(pair.mallory, copy)
    assert pair.live(line) is None
    return copy


def from_a_template(pair: Pair) -> Line:
    """As Set-up begins and publishes one."""
    line = pair.save(pair.mallory)
    with pytest.raises(Exception, match="published by four eyes"):
        templates.publish_draft(line, pair.mallory)
    return line


def after_it_was_sent_back(pair: Pair) -> Line:
    line = pair.save(pair.mallory)
    pair.publish(pair.mallory, line)
    said = {"draft": line.draft_number, "reason": "No"}
    assert pair.as_(pair.ann).post("/lines/line/publish/send-back", said).status_code == 200
    pair.publish(pair.mallory, line)
    pair.publish(pair.mallory, line)
    return line


WAYS = (
    asking_twice,
    asking_for_what_another_wrote,
    writing_what_another_asked_for,
    undoing_ones_change,
    changing_it_after_asking,
    changing_it_there_and_back,
    with_a_machine_token,
    alone,
    with_an_input,
    under_another_name,
    by_a_copy,
    from_a_template,
    after_it_was_sent_back,
)


@pytest.mark.smoke(5)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_nobody_publishes_alone(pair: Pair, way: Callable[[Pair], Line]) -> None:
    pair.protect()
    line = way(pair)
    assert pair.live(line) is None and not LineVersion.objects.exists()


def test_a_restored_version_is_published_by_two_as_well(pair: Pair) -> None:
    line = pair.save(pair.mallory, document(description="Easy"))
    assert pair.publish(pair.mallory, line).status_code == 201, "open without the protection"
    line = pair.save(pair.mallory)
    assert pair.publish(pair.mallory, line).status_code == 201
    pair.protect()
    said = {"source": "1", "based_on": str(line.draft_number)}
    assert pair.page(pair.mallory, line, "line-restore", **said).status_code == 302
    for _attempt in range(2):
        assert pair.publish(pair.mallory, line).status_code == 202
    version = pair.live(line)
    assert version is not None and version.number == 2


def lead(who: Api, address: str) -> None:
    """Change the address of the repository."""
    path = f"{who.base}/repositories/app"
    answer = who.client.put(path, {"address": address}, "application/json", headers=who.headers)
    assert answer.status_code == 200, answer.content


def test_another_repository_under_the_same_name_is_published_for_anew(pair: Pair) -> None:
    """Two people published what reaches one place; an administrator leads its name to another one."""
    pair.protect()
    line = pair.save(pair.mallory)
    assert pair.publish(pair.mallory, line).status_code == 202
    assert pair.publish(pair.ann, line).status_code == 201
    begin = partial(pair.as_(pair.mallory).post, "/stages/line/tasks", {"title": "Fix it"})
    assert begin().status_code == 201
    who, other = pair.as_(pair.mallory), "https://code.example/team/other"
    owner = pair.world.project.owner
    RepositoryProtection.objects.create(
        owner=owner, place=canonical_address(other), rules={"four_eyes": True}
    )
    lead(who, other)
    refused = begin()
    assert refused.status_code == 400 and "two people" in refused.content.decode()
    assert pair.publish(pair.mallory, line).status_code == 202, "the same draft, for another to look at"
    assert pair.publish(pair.ann, line).status_code == 201
    assert begin().status_code == 201
    lead(who, other + ".git")
    assert begin().status_code == 201, "the same place"


def test_what_one_person_published_before_starts_and_delivers_nothing(pair: Pair) -> None:
    """Nor what is published while the repository is not connected: the place counts, not the connection."""
    line = pair.save(pair.mallory)
    assert pair.publish(pair.mallory, line).status_code == 201
    version = pair.live(line)
    assert version is not None and pair.world.start(version, by=pair.mallory)
    pair.protect()
    refused = pair.as_(pair.mallory).post("/stages/line/tasks", {"title": "Fix it"})
    assert refused.status_code == 400 and "was not published by two people" in refused.content.decode()
    with pytest.raises(InputError, match="two people"):
        pair.world.start(version, by=pair.mallory)
    nobody = Involved(frozenset(), frozenset(), anonymous=False)
    by_two = partial(were_versions_published_by_two, versions.parsed_version(version), pair.repository)
    assert "two people published" in missing_approvals_sentence_or_empty(
        Protection(four_eyes=True), [], nobody, by_two, version.pk
    )
    assert pair.publish(pair.mallory, line).status_code == 202, "the same draft, for another to look at"
    assert pair.publish(pair.ann, line).status_code == 201
    version = pair.live(line)
    assert version is not None and pair.world.start(version, by=pair.mallory)
    assert not missing_approvals_sentence_or_empty(Protection(four_eyes=True), [], nobody, by_two, version.pk)


def test_a_line_that_delivers_elsewhere_is_published_by_one(pair: Pair) -> None:
    pair.protect()
    line = pair.save(pair.mallory, document(stations=[station("build", to("completed"))], gates=[]))
    assert pair.publish(pair.mallory, line).status_code == 201


def test_it_is_set_on_the_page_and_over_http(pair: Pair) -> None:
    who = pair.as_(pair.mallory)
    place = f"/p/acme/{pair.world.project.key}/settings/repositories/{pair.repository.pk}/"
    form = {"approvals": "0", "groups": "", "gates": "", "four_eyes": "yes", "scope": "admin"}
    settings = {"name": "app", "address": "https://git.test/app.git", "pushing": "nobody"}
    assert client_of(pair.mallory).post(place, typed(**settings, **form)).status_code == 302
    shown = client_of(pair.mallory).get(place).content.decode()
    assert "Lines that deliver here are published by two people" in shown
    [row] = who.get("/repositories").json()
    assert row["protection"] == {
        "approvals": 0, "groups": [], "gates": [], "four_eyes": True, "changed_by": "admin"
    }  # fmt: skip
    assert AdministrativeAct.objects.get(kind="repository.protected").data["after"]["four_eyes"] is True
