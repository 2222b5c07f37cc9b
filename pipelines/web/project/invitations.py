"""Inviting people into a project: one or several addresses, or a link to hand over."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from pipelines.models import Invitation, Project
from pipelines.people import invitations
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.web.project.invitation_list import InviteForm
from pipelines.web.project.settings import members_page
from pipelines.web.shell.forms import AddMemberForm
from pipelines.web.shell.page import SignedInRequest, project_required


@project_required("admin")
@require_POST
def invite_person(request: SignedInRequest, project: Project) -> HttpResponse:
    form = InviteForm(project, request.POST)
    if not form.is_valid():
        return members_page(request, project, AddMemberForm(project, request.user), status=422, invite=form)
    form_data = form.cleaned_data
    made = invitations.create_invitations(
        project,
        form_data["emails"],
        roles=form_data["roles"],
        execute=form_data["execute"],
        groups=form_data["groups"],
        by=request.user,
        now=timezone.now(),
    )
    count = len(made)
    messages.success(
        request,
        singular_or_plural("%(n)s invitation created", "%(n)s invitations created", count) % {"n": count},
    )
    return redirect("project-settings", project.owner.key, project.key)


@project_required("admin")
@require_POST
def renew_or_revoke_invitation(request: SignedInRequest, project: Project, invitation: int) -> HttpResponse:
    """Renew it, or revoke it (`revoke` in the form)."""
    stored_invitation = get_object_or_404(Invitation.objects.filter(project=project, pk=invitation))
    revoking = "revoke" in request.POST
    do = invitations.revoke_invitation if revoking else invitations.renew_invitation
    try:
        do(stored_invitation, by=request.user, now=timezone.now())
    except invitations.InvitationRefused:
        messages.error(request, "This invitation was used or revoked.")
    else:
        messages.success(request, "Invitation revoked" if revoking else "New link created")
    return redirect("project-settings", project.owner.key, project.key)
