"""The mail of an invitation, composed at the moment of sending: its link is made then and stored nowhere."""

from __future__ import annotations

from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from pipelines.models import Invitation
from pipelines.people.invitations import secret_of
from pipelines.routing.basics.visible import visible
from pipelines.web.addresses import absolute
from pipelines.web.shell.visible import visible_page
from reviews.mail.review_mail import SUBJECT_LENGTH, host


def invitation_mail(invitation: Invitation) -> EmailMultiAlternatives:
    """Text complete by itself, HTML beside it."""
    project_name = invitation.project.name or invitation.project.key
    context = {
        "invitation": invitation,
        "project_name": project_name,
        "link": absolute("join", secret_of(invitation)),
    }
    text = _("%(who)s invited you to %(project)s") % {"who": invitation.created_by, "project": project_name}
    message = EmailMultiAlternatives(
        subject=visible(" ".join(text.split()))[:SUBJECT_LENGTH],
        body=visible(render_to_string("reviews/mail/invitation.txt", context)),
        to=[invitation.email],
        # The key changes when it is renewed: that is another mail.
        headers={
            "Message-ID": f"<invitation-{invitation.pk}-{invitation.expires_at.timestamp():.0f}@{host()}>",
            "Auto-Submitted": "auto-generated",
            "X-Auto-Response-Suppress": "All",
        },
    )
    page = visible_page(render_to_string("reviews/mail/invitation.html", context))
    message.attach_alternative(page, "text/html")
    return message
