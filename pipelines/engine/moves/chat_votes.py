"""A vote in a chat, which whoever connected the chat could have cast as well: they typed the secret that vouches for it
(law §15)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pipelines.engine.moves.entitlement import entitled_person_or_none, is_barred, meets_any_requirement
from pipelines.models import GateVisit, User, Vote
from pipelines.routing.document.line import Approval


@dataclass(frozen=True)
class Chat:
    """`name`: of the connection; `connected_by`: who typed its secret, None where they are gone."""

    name: str
    connected_by: User | None

    def reason_chat_cannot_vote(self, visit: GateVisit, policy: Approval, votes: Iterable[Vote]) -> str:
        """Say why nobody votes at this visit through the chat, or ""."""
        voucher = self.connected_by
        if voucher is None:
            return ""
        person = entitled_person_or_none(visit.task.project_id, voucher)
        # law §6, A project of one: nobody else could decide.
        if person is not None and person.alone:
            return ""
        if is_barred(voucher.pk, visit.task, visit, policy):
            return f"{voucher} connected this chat and requested or produced what is reviewed. Decide on the page."
        needs_everybody = (
            policy.is_unanimous and person is not None and meets_any_requirement(person, policy.who)
        )
        if needs_everybody or any(voucher.pk in (vote.user_id, vote.connected_by) for vote in votes):
            return (
                f"This gate asks more than one person, and {voucher}, who connected this chat, counts as one already. "
                "Decide on the page."
            )
        return ""

    def fields_stored_with_vote(self) -> dict[str, Any]:
        """Return the chat as a vote stores it beside what entitled the person."""
        return {
            "chat": self.name,
            **({"connected_by": self.connected_by.pk} if self.connected_by else {}),
        }
