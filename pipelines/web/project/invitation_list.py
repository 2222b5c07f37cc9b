"""Invitations on the page of members: the form, and those that are still open, each with its link."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.core.validators import validate_email
from django.utils import timezone

from pipelines.models import Group, Invitation, Membership, Project
from pipelines.people import invitations
from pipelines.queries.addresses import absolute_url, is_base_url_local
from pipelines.web.project.roles import role_boxes
from pipelines.web.shell.forms import RolesForm

MOST_AT_ONCE = 50


class InviteForm(RolesForm):
    """Form of an invitation; without an address: one link, for whoever gets it."""

    emails = forms.CharField(label="E-mail addresses", max_length=10_000, required=False)
    groups = forms.ModelMultipleChoiceField(label="Groups", queryset=Group.objects.none(), required=False)

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        groups = self.fields["groups"]
        assert isinstance(groups, forms.ModelMultipleChoiceField)
        groups.queryset = Group.objects.filter(project=project).order_by("key")

    def clean_emails(self) -> list[str]:
        addresses = self.cleaned_data["emails"].replace(",", " ").replace(";", " ").split()
        # Whoever is named twice, in other letters of either case, is invited once
        emails = list(dict.fromkeys(address.casefold() for address in addresses))
        if len(emails) > MOST_AT_ONCE:
            raise forms.ValidationError(f"Invite at most {MOST_AT_ONCE} people at once.")
        for email in emails:
            self._check_email(email)
        return emails

    def clean(self) -> dict[str, Any]:
        """Refuse a link for anybody that would make an admin or let them run programs: whoever saw it could use it."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        roles, execute = cleaned.get("roles", ()), cleaned.get("execute", False)
        # Without the key the addresses were refused already.
        if cleaned.get("emails") == [] and invitations.must_name_address(roles, execute=execute):
            self.add_error(
                "emails",
                "Name the e-mail address of whoever becomes an admin or can publish stations that run programs.",
            )
        return cleaned

    def _check_email(self, email: str) -> None:
        try:
            validate_email(email)
        except forms.ValidationError as wrong:
            raise forms.ValidationError(f"“{email}” is not an e-mail address.") from wrong
        # Told here, since whoever invites sees the members anyway
        if Membership.objects.filter(project=self.project, user__email__iexact=email).exists():
            raise forms.ValidationError(f"{email} is already a member.")
        if invitations.pending_invitations(self.project).filter(email__iexact=email).exists():
            raise forms.ValidationError(f"{email} is already invited. Renew the invitation instead.")


@dataclass(frozen=True, slots=True)
class InvitationRow:
    """An invitation as its row in the list shows it."""

    invitation: Invitation
    link: str
    expired: bool


def invitation_rows(project: Project, now: datetime) -> list[InvitationRow]:
    return [
        InvitationRow(
            invitation, invitation_link(invitation), invitation.state(now) == Invitation.State.EXPIRED
        )
        for invitation in invitations.pending_invitations(project)
    ]


def invitation_link(invitation: Invitation) -> str:
    return absolute_url("join", invitations.invitation_secret(invitation))


def invitation_context(project: Project, form: InviteForm | None = None) -> dict[str, Any]:
    """Return the context of the page of members for those who may invite."""
    form = form or InviteForm(project)
    return {
        "invite": form,
        "invite_roles": role_boxes(form["roles"].value() or ["operator"]),
        "invite_groups": Group.objects.filter(project=project).order_by("key"),
        "invitations": invitation_rows(project, timezone.now()),
        "mail_stays_here": bool(settings.EMAIL_FILE_PATH),
        "opens_only_here": is_base_url_local(),
    }
