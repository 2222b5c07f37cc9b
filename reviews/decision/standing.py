"""Whether a person may decide at a gate visit now, by the engine's own rules, without voting."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from pipelines.engine.moves.entitlement import EntitledPerson, barred, decides_alone, everywhere, meets_any
from pipelines.models import GateVisit, Role, User
from pipelines.queries import versions
from reviews.decision.gates import gate_of


@dataclass(frozen=True)
class Entitlement:
    """`why`: what keeps the person from deciding, or "". `alone`: they may decide only because the project has nobody
    else; their approval is recorded as self-approved. `overrides`: whether they may approve instead of those asked."""

    may: bool
    why: str = ""
    alone: bool = False
    overrides: bool = False


@dataclass
class Standings:
    """The entitlement of one person at many visits, read once for all projects."""

    user: User
    _as: dict[int, EntitledPerson] | None = field(default=None)

    def at(self, visit: GateVisit) -> Entitlement:
        if visit.state != GateVisit.State.OPEN:
            return Entitlement(False)
        policy = gate_of(versions.by_id(visit.asked_by.pinned_id), visit.gate).approval
        person = self._in(visit.task.project_id)
        why = barred(person, visit.task, visit, policy) if person else ""
        overrides = person is not None and Role.ADMIN in person.roles and not why
        if any(vote.user_id == self.user.pk for vote in visit.votes.all()):
            return Entitlement(False, _("You have voted; more votes are needed."), overrides=overrides)
        if person is None or not meets_any(person, policy.who):
            return Entitlement(False, _("This gate does not ask you to review."), overrides=overrides)
        alone = decides_alone(person, visit.task, visit, policy)
        return Entitlement(not why, why, alone=alone, overrides=overrides)

    def _in(self, project_id: int) -> EntitledPerson | None:
        if self._as is None:
            self._as = everywhere(self.user)
        return self._as.get(project_id)
