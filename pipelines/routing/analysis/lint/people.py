"""Facts about people, handed in as a value: who there is to decide. Without them nothing is said of them."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.routing.decide.approval import Voter
from pipelines.routing.document.escalations import group_key_of_role, keys_of_groups_with_role


@dataclass(frozen=True, slots=True)
class People:
    """People of one project. `voters`: everybody whose vote can count, with their roles and groups.
    `operators`: those among them who may start tasks and do manual jobs, so who may be the requester or
    the producer. `groups`: key and name of each group."""

    voters: tuple[Voter, ...] = ()
    operators: frozenset[str] = frozenset()
    groups: tuple[tuple[str, str], ...] = ()

    def has_holder_of_role(self, role: str) -> bool:
        """Return whether somebody stands for a role that a line names in words; else the administrators do."""
        groups, key = keys_of_groups_with_role(role, self.groups), group_key_of_role(role)
        # A role of a line is a word: a group of that name stands for it as well as a role of ours
        return any(groups & voter.groups or key in voter.roles for voter in self.voters)
