"""The record of administrative acts: one call inside the transaction of the act, so that neither is without the other.

Agents keep a record of their own (`AgentEvent`), lines and tasks theirs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pipelines.models import AdministrativeAct, Project, User

# One line adds a kind.
KINDS: dict[str, str] = {
    "invitation.created": "Invited",
    "invitation.renewed": "Renewed the invitation",
    "invitation.revoked": "Revoked the invitation",
    "invitation.accepted": "Accepted the invitation",
    "member.added": "Added the member",
    "member.changed": "Changed the roles",
    "member.removed": "Removed the member",
    "member.left": "Left the project",
    "person.deactivated": "Deactivated the account",
    "person.reactivated": "Reactivated the account",
    "group.created": "Created the group",
    "group.changed": "Changed the group",
    "group.deleted": "Deleted the group",
    "absence.set": "Named a stand-in",
    "absence.ended": "Ended an absence",
    "token.created": "Created the token",
    "token.revoked": "Revoked the token",
    "runner.drained": "Drained the runner",
    "runner.resumed": "Let the runner work again",
    "password.set": "Set a password",
    "password.reset": "Reset the password",
    "password.link": "Created a link to reset the password",
    "factor.added": "Added a second factor",
    "factor.removed": "Removed a second factor",
    "sessions.ended": "Ended sessions",
    "owner.created": "Created the owner",
    "project.created": "Created the project",
    "project.renamed": "Renamed the project",
    "project.archived": "Archived the project",
    "project.restored": "Restored the project",
    "project.transferred": "Transferred the project",
    "project.factor_required": "Required a second factor",
    "project.factor_optional": "Made the second factor optional",
    "project.cost_limited": "Set the monthly cost limit",
    "project.cost_unlimited": "Removed the monthly cost limit",
    "project.working_time": "Changed the working time",
    "project.quotas": "Changed the quotas of the project",
    "project.retention": "Changed the retention of the project",
    "line.limited": "Changed the limit of the line",
    "line.renamed": "Renamed the line",
    "line.archived": "Archived the line",
    "line.restored": "Restored the line",
    "line.duplicated": "Duplicated the line",
    "publish.asked": "Asked for publishing the line",
    "publish.confirmed": "Published the line for whoever asked",
    "publish.sent_back": "Sent the draft back instead of publishing it",
    "station.tried": "Ran one station by itself",
    "line.described": "Changed owner or tags of a line",
    "line.evaluated": "Ran past tasks again on a draft",
    "repository.connected": "Connected the repository",
    "repository.changed": "Changed the repository",
    "repository.prepare": "Changed how the repository is prepared",
    "repository.protected": "Changed the protection of repositories",
    "repository.tested": "Tested the connection to the repository",
    "repository.disconnected": "Disconnected the repository",
    "notice.failed": "Could not be told at the host",
    "notice.sent_again": "Sent to the host again",
    "notice.dropped": "Dropped what was not told at the host",
    "folder.allowed": "Allowed the folder",
    "folder.revoked": "Revoked the permission for the folder",
    "channel.connected": "Connected the channel",
    "channel.changed": "Changed what the channel tells of",
    "channel.disconnected": "Disconnected the channel",
    "chat.linked": "Linked a chat account",
    "chat.unlinked": "Unlinked a chat account",
    "trigger.created": "Created the trigger",
    "trigger.changed": "Changed the trigger",
    "work.paused": "Paused",
    "work.resumed": "Resumed",
    "trigger.paused": "Paused the trigger",
    "trigger.resumed": "Resumed the trigger",
    "trigger.rotated": "Changed the secret of the trigger",
    "trigger.deleted": "Deleted the trigger",
    "trigger.added": "Let issues start tasks",
    "trigger.removed": "Let issues start no tasks any more",
    "secret.created": "Stored the secret",
    "secret.changed": "Changed the secret",
    "secret.deleted": "Deleted the secret",
    "secrets.rotated": "Encrypted all secrets with a new key",
    "variable.created": "Stored the variable",
    "variable.changed": "Changed the variable",
    "variable.deleted": "Deleted the variable",
}
COMMAND = "command"
"""Who acts in the shell of this machine."""
ENGINE = "engine"
"""What Gateline does by itself."""


def record_administrative_act(
    kind: str,
    *,
    by: User | str | None,
    at: datetime,
    project: Project | None = None,
    about: str = "",
    name: str = "",
    **data: Any,
) -> None:
    """Record an administrative act. `by`: None for the shell, ENGINE for what nobody did. `data`: what it was
    and what it became, never a secret."""
    # A kind without its words would be shown as a key
    if kind not in KINDS:
        raise KeyError(kind)
    AdministrativeAct.objects.create(
        at=at,
        actor=actor_reference_or_command(by),
        kind=kind,
        project=project,
        about=about,
        name=name[:300],
        data=data,
    )


def actor_reference_or_command(user: User | str | None) -> str:
    """A person as the record names them; what is named already stays so."""
    if isinstance(user, str):
        return user
    return COMMAND if user is None else f"person:{user.pk}"
