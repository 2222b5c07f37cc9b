"""The mail of an invitation, composed at the moment of sending: its link is made then and stored nowhere."""

from __future__ import annotations

from django.core.mail import EmailMultiAlternatives

from pipelines.models import Invitation
from pipelines.people.invitations import secret_of
from pipelines.queries.addresses import absolute
from reviews.mail.message import host, message


def invitation_mail(invitation: Invitation) -> EmailMultiAlternatives:
    project_name = invitation.project.name or invitation.project.key
    context = {
        "invitation": invitation,
        "project_name": project_name,
        "link": absolute("join", secret_of(invitation)),
    }
    text = f"{invitation.created_by} invited you to {project_name}"
    # The key changes when it is renewed: that is another mail.
    unique = f"invitation-{invitation.pk}-{invitation.expires_at.timestamp():.0f}@{host()}"
    return message("invitation", context, subject=text, to=invitation.email, unique=unique)
