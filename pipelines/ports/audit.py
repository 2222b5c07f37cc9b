"""The record of administrative acts: one call inside the transaction of the act, so that neither is without the other.

Agents keep a record of their own (`AgentEvent`), lines and tasks theirs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from pipelines.models import AdministrativeAct, Project, User

# One line adds a kind.
KINDS: dict[str, str | Promise] = {
    "invitation.created": _("Invited"),
    "invitation.renewed": _("Renewed the invitation"),
    "invitation.revoked": _("Revoked the invitation"),
    "invitation.accepted": _("Accepted the invitation"),
    "member.added": _("Added the member"),
    "member.changed": _("Changed the roles"),
    "member.removed": _("Removed the member"),
    "member.left": _("Left the project"),
    "person.deactivated": _("Deactivated the account"),
    "person.reactivated": _("Reactivated the account"),
    "group.created": _("Created the group"),
    "group.changed": _("Changed the group"),
    "group.deleted": _("Deleted the group"),
    "absence.set": _("Named a stand-in"),
    "absence.ended": _("Ended an absence"),
    "token.created": _("Created the token"),
    "token.revoked": _("Revoked the token"),
    "runner.drained": _("Drained the runner"),
    "runner.resumed": _("Let the runner work again"),
    "password.set": _("Set a password"),
    "password.reset": _("Reset the password"),
    "password.link": _("Created a link to reset the password"),
    "factor.added": _("Added a second factor"),
    "factor.removed": _("Removed a second factor"),
    "sessions.ended": _("Ended sessions"),
    "owner.created": _("Created the owner"),
    "project.created": _("Created the project"),
    "project.renamed": _("Renamed the project"),
    "project.archived": _("Archived the project"),
    "project.restored": _("Restored the project"),
    "project.transferred": _("Transferred the project"),
    "project.factor_required": _("Required a second factor"),
    "project.factor_optional": _("Made the second factor optional"),
    "project.cost_limited": _("Set the monthly cost limit"),
    "project.cost_unlimited": _("Removed the monthly cost limit"),
    "project.working_time": _("Changed the working time"),
    "line.renamed": _("Renamed the line"),
    "line.archived": _("Archived the line"),
    "line.restored": _("Restored the line"),
    "line.duplicated": _("Duplicated the line"),
    "publish.asked": _("Asked for publishing the line"),
    "publish.confirmed": _("Published the line for whoever asked"),
    "publish.sent_back": _("Sent the draft back instead of publishing it"),
    "station.tried": _("Ran one station by itself"),
    "repository.connected": _("Connected the repository"),
    "repository.changed": _("Changed the repository"),
    "repository.prepare": _("Changed how the repository is prepared"),
    "repository.protected": _("Changed the protection of repositories"),
    "repository.tested": _("Tested the connection to the repository"),
    "repository.disconnected": _("Disconnected the repository"),
    "notice.failed": _("Could not be told at the host"),
    "notice.sent_again": _("Sent to the host again"),
    "notice.dropped": _("Dropped what was not told at the host"),
    "folder.allowed": _("Allowed the folder"),
    "folder.revoked": _("Revoked the permission for the folder"),
    "channel.connected": _("Connected the channel"),
    "channel.disconnected": _("Disconnected the channel"),
    "chat.linked": _("Linked a chat account"),
    "chat.unlinked": _("Unlinked a chat account"),
    "trigger.added": _("Let issues start tasks"),
    "trigger.removed": _("Let issues start no tasks any more"),
    "secret.created": _("Stored the secret"),
    "secret.changed": _("Changed the secret"),
    "secret.deleted": _("Deleted the secret"),
    "secrets.rotated": _("Encrypted all secrets with a new key"),
    "variable.created": _("Stored the variable"),
    "variable.changed": _("Changed the variable"),
    "variable.deleted": _("Deleted the variable"),
}
COMMAND = "command"
"""Who acts in the shell of this machine."""
ENGINE = "engine"
"""What Gateline does by itself."""


def record(
    kind: str,
    *,
    by: User | str | None,
    at: datetime,
    project: Project | None = None,
    about: str = "",
    name: str = "",
    **data: Any,
) -> None:
    """`by`: None for the shell, ENGINE for what nobody did. `data`: what it was and what it became, never a secret."""
    if kind not in KINDS:
        raise KeyError(kind)
    AdministrativeAct.objects.create(
        at=at, actor=ref(by), kind=kind, project=project, about=about, name=name[:300], data=data
    )


def ref(user: User | str | None) -> str:
    """A person as the record names them; what is named already stays so."""
    if isinstance(user, str):
        return user
    return COMMAND if user is None else f"person:{user.pk}"
