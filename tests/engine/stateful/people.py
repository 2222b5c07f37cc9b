"""Who acts: people of one project in every standing towards its gates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from pipelines import engine
from pipelines.models import User
from pipelines.routing.decide.approval import Voter
from tests.engine.stateful.sight import Row, Subject
from tests.factories import World, make_member, make_project

ALL_ROLES = frozenset({"viewer", "operator", "reviewer"})


class Cast:
    """`requester` and `producer` could review, were they not barred; `leads` is a group with one member."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.requester, self.producer = (
            make_member(world.project, "reviewer", "requester"),
            make_member(world.project, "reviewer", "producer"),
        )
        self.lead, *self.reviewers = world.reviewers(4)
        world.group("leads", self.lead)
        self.outsider = make_member(make_project(f"{world.project.key}-elsewhere"), "admin")
        self.unasked = world.viewer
        for key, until in (("robot", None), ("gone", timezone.now() - timedelta(days=1))):
            engine.register_agent(world.project, key, self._contract(until), actor=engine.ENGINE)
        everybody = [self.requester, self.producer, self.lead, *self.reviewers]
        self._by_id = {user.pk: user for user in everybody}

    def _contract(self, until: datetime | None) -> dict[str, Any]:
        """Of the agents `robot`, which works, and `gone`, whose contract is over."""
        lists = {key: ["all"] for key in ("allowed_inputs", "allowed_outputs", "required_checks")}
        return {"owner_id": self.requester.pk, "contract_version": "1", "valid_until": until, **lists}

    @property
    def voters(self) -> list[Voter]:
        """Who is entitled at every gate of the lines used here."""
        lead = Voter(self.lead.username, ALL_ROLES, frozenset({"leads"}))
        return [lead, *(Voter(user.username, ALL_ROLES, frozenset()) for user in self.reviewers)]

    def by_id(self, user_id: int) -> User:
        return self._by_id[user_id]

    def next_voter(self, subject: Subject, visit: Row) -> User:
        """The first who is entitled and has not voted here."""
        voted = {vote["user_id"] for vote in subject.votes(visit)}
        entitled: Sequence[User] = (self.lead, *self.reviewers)
        return next(user for user in entitled if user.pk not in voted)
