"""Entitlement of a person to decide at a gate visit now, by the engine's own rules, without voting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipelines.engine.moves.absences import Seat, seats_of_user_by_project, usable_seats_of
from pipelines.engine.moves.entitlement import is_allowed_only_as_sole_member, meets_any_requirement
from pipelines.engine.moves.gates import approval_policy_of_visit
from pipelines.models import GateVisit, Role, User
from pipelines.queries import versions


@dataclass(frozen=True)
class Entitlement:
    """Entitlement of a person. `why`: what keeps the person from deciding, or "". `alone`: they may decide
    only because the project has nobody else; their approval is recorded as self-approved. `overrides`:
    whether they may approve instead of those asked. `seats`: in whose place they may decide, their own
    first."""

    may: bool
    why: str = ""
    alone: bool = False
    overrides: bool = False
    seats: Sequence[Seat] = ()

    @property
    def stands_in(self) -> bool:
        return any(seat.is_stand_in for seat in self.seats)

    @property
    def absent_person_id(self) -> int | None:
        """The id of whom they would decide in the place, or None where they may as themselves, or not at all."""
        first = self.seats[0] if self.seats else None
        return first.person.user_id if first is not None and first.is_stand_in else None


@dataclass
class Entitlements:
    """The entitlement of one person at many visits, read once for all projects."""

    user: User
    _seats: dict[int, list[Seat]] | None = field(default=None)

    def entitlement_to_visit(self, visit: GateVisit) -> Entitlement:
        if visit.state != GateVisit.State.OPEN:
            return Entitlement(False)
        policy = approval_policy_of_visit(visit, versions.parsed_line_by_version_id(visit.asked_by.pinned_id))
        own_seats = self._seats_in_project(visit.task.project_id)
        # A person's own seat stands first
        own = own_seats[0] if own_seats else None
        why = own.reason_seat_is_barred(visit.task, visit, policy) if own else ""
        overrides = own is not None and Role.ADMIN in own.person.roles and not why
        votes = visit.votes.all()
        if any(vote.user_id == self.user.pk for vote in votes):
            return Entitlement(False, "You have voted; more votes are needed.", overrides=overrides)
        usable_seats = usable_seats_of(own_seats, visit, policy, votes)
        if usable_seats:
            alone = usable_seats[0] is own and is_allowed_only_as_sole_member(
                own.person, visit.task, visit, policy
            )
            return Entitlement(True, alone=alone, overrides=overrides, seats=usable_seats)
        if own is None or not meets_any_requirement(own.person, policy.who):
            why = "This gate does not ask you to review."
        elif not why:
            by_chat = any(vote.connected_by == self.user.pk for vote in votes)
            why = (
                "A vote came by the chat that you connected, and counts as yours; more votes are needed."
                if by_chat
                else "Your stand-in has voted for you; more votes are needed."
            )
        return Entitlement(False, why, overrides=overrides)

    @property
    def seats(self) -> dict[int, list[Seat]]:
        if self._seats is None:
            self._seats = seats_of_user_by_project(self.user)
        return self._seats

    def _seats_in_project(self, project_id: int) -> list[Seat]:
        return self.seats.get(project_id, [])
