"""Count the approvals of what a task delivers, without requester and producers (law §14)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from django.db.models import Q

from pipelines.engine.moves.producers import manual_workers_of_tasks
from pipelines.models import (
    UNKNOWN,
    ApiToken,
    BranchPush,
    Event,
    GateVisit,
    MigrationEntry,
    Task,
    User,
    Vote,
    Word,
)
from pipelines.routing.decide.approval import UNPROVEN
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.guarantees.protection import ExactApproval, Protection, missing_approvals

PERSON, MACHINE = "person:", "machine:"


@dataclass(frozen=True)
class Involved:
    """`requesters`, `producers`: ids of people. `anonymous`: somebody who requested or produced it is not known."""

    requesters: frozenset[int]
    producers: frozenset[int]
    anonymous: bool


def involved_people(task: Task, line: ParsedLine) -> Involved:
    """Read who had a part in a task and in those that it follows, whose files it may have."""
    chain = list(_task_and_followed_tasks(task))
    ids = [link.pk for link in chain]
    # The first event of a task names who began it
    began = Event.objects.filter(task__in=ids, seq=1).values_list("actor", flat=True)
    requesters = {link.requester_id for link in chain if link.requester_id}
    # Whoever lets an ended task run again wants the change as well.
    authors = {actor for link in chain for actor in link.requesters}
    # A trigger starts tasks in the name of a person, whoever may have called it
    anonymous = UNKNOWN in authors or any(link.requester_id is None for link in chain)
    requesters |= {pk for actor in (*began, *authors) if (pk := _person_id_or_zero(actor))}
    made, unmade = _token_makers_and_has_unknown(began)
    requesters |= made
    pushed = GateVisit.objects.filter(task__in=ids).order_by().values_list("producers", flat=True).distinct()
    actors = {*manual_workers_of_tasks(ids), *(actor for actors in pushed for actor in actors)}
    producers = {pk for actor in actors if (pk := _person_id_or_zero(actor))}
    pushes = BranchPush.objects.filter(task__in=ids)
    producers |= set(pushes.filter(people__isnull=False).values_list("people", flat=True))
    unknown = UNPROVEN in actors or pushes.filter(Q(people__isnull=True) | Q(by_host=False)).exists()
    head = line.workspace is not None and bool(line.workspace.head)
    return Involved(frozenset(requesters), frozenset(producers), anonymous or unmade or unknown or head)


def _token_makers_and_has_unknown(actors: Iterable[str]) -> tuple[set[int], bool]:
    """Find who made the tokens among those who let a task run (law §15), and whether one of them is not known."""
    tokens = {int(actor.removeprefix(MACHINE)) for actor in actors if actor.startswith(MACHINE)}
    makers = (
        set(ApiToken.objects.filter(pk__in=tokens).values_list("created_by", flat=True)) if tokens else set()
    )
    return {pk for pk in makers if pk}, None in makers


def exact_approvals(visits: list[GateVisit]) -> Iterator[ExactApproval]:
    """List the votes of these visits, each of which approved exactly what is delivered. An override is no approval of
    those whom the gate asks."""
    counted = [visit.pk for visit in visits if not visit.overridden]
    for vote in (
        Vote.objects.filter(visit__in=counted, word=Word.APPROVE).select_related("visit").order_by("pk")
    ):
        entitled = vote.entitled_as
        # Whoever connected a chat could have cast what comes through it.
        voter = vote.connected_by or vote.user_id
        people = frozenset((voter, vote.user_id, vote.seat_id, *entitled.get("people", ())))
        groups = frozenset(entitled.get("groups", ()))
        yield ExactApproval(vote.visit.gate, voter, vote.seat_id, people, groups)


def missing_approvals_sentence_or_empty(
    protection: Protection,
    visits: list[GateVisit],
    involved: Involved,
    by_two: Callable[..., bool],
    version: int,
    *earlier: int,
) -> str:
    """Say in one sentence what is missing, "" where nothing is. `by_two`: tells that two people published versions;
    `version`: the id of the one that delivers; `earlier`: of others, by whose gates the task may have come here."""
    barred = involved.requesters | involved.producers
    sentences = missing_approvals(protection, exact_approvals(visits), barred, anonymous=involved.anonymous)
    if protection.four_eyes and not by_two(version):
        sentences.append("a version of the line that two people published")
    elif protection.four_eyes and not by_two(version, *earlier):
        sentences.append("a task that worked only by versions that two people published")
    return ", ".join(map(str, sentences))


def ids_of_versions_worked_by_before(task: Task) -> set[int]:
    """Return the ids of the versions by which a task worked before: from and to which it was migrated, and those of the
    tasks that it repeats from a later station on."""
    # A retry begins behind stations and gates of the task that it repeats; what merely follows one begins at the start.
    retries = list(takewhile(lambda link: link.retry_of_id, _task_and_followed_tasks(task)))
    links = [task, *(link.follows for link in retries if link.follows)]
    done = MigrationEntry.Result.MIGRATED, MigrationEntry.Result.RESTORED
    moves = MigrationEntry.objects.filter(task__in=links, result__in=done).values_list("was", "to")
    return {link.pinned_id for link in links[1:]} | {version for move in moves for version in move}


def receipt_people(task: Task, involved: Involved, protection: Protection) -> dict[str, Any]:
    """Return what a delivery stores for its receipt: requester, producers and the protection of the repository."""
    names = dict(User.objects.filter(pk__in=involved.producers).values_list("pk", "username"))
    requester = task.requester.username if task.requester else task.requested_by
    people: dict[str, Any] = {"requester": requester, "producers": sorted(names.values())}
    rules = {key: value for key, value in protection.to_dict().items() if key != "four_eyes" or value}
    return people | ({"protection": rules} if protection else {})


def _person_id_or_zero(actor: str) -> int:
    number = actor.removeprefix(PERSON)
    # 0 is nobody's id: no person acted
    return int(number) if number != actor and number.isdigit() else 0


def _task_and_followed_tasks(task: Task) -> Iterator[Task]:
    here: Task | None = task
    while here is not None:
        yield here
        here = here.follows
