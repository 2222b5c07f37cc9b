"""Whether a person's word would count at a gate visit now: the engine's own rules, asked without voting."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from pipelines.engine.entitlement import Person, barred, meets_any, people_of
from pipelines.models import GateVisit, User
from pipelines.versions import parsed
from reviews.gates import gate_of


@dataclass(frozen=True)
class Standing:
    """`why` says what keeps the person from deciding, or is empty."""

    may: bool
    why: str = ""


@dataclass
class Standings:
    """Of one person, at many visits: the members of a project are read once."""

    user: User
    _people: dict[int, dict[int, Person]] = field(default_factory=dict)

    def at(self, visit: GateVisit) -> Standing:
        if visit.state != GateVisit.State.OPEN:
            return Standing(False)
        if any(vote.user_id == self.user.pk for vote in visit.votes.all()):
            return Standing(False, _("You have voted; more votes are needed."))
        policy = gate_of(parsed(visit.asked_by.pinned), visit.gate).approval
        person = self._members(visit.task.project_id).get(self.user.pk)
        if person is None or not meets_any(person, policy.who):
            return Standing(False, _("You are not among those whom this gate asks."))
        why = barred(self.user.pk, visit.task, visit, policy)
        return Standing(not why, why)

    def _members(self, project_id: int) -> dict[int, Person]:
        if project_id not in self._people:
            self._people[project_id] = people_of(project_id)
        return self._people[project_id]
