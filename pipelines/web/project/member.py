"""Page of one member: roles, what leaving leaves behind, and the account where an admin may act on it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from pipelines.errors import Forbidden
from pipelines.models import Membership, Project, User
from pipelines.people import accounts, departures, members
from pipelines.people import members as members_of
from pipelines.people.groups import gates_naming_user
from pipelines.queries.addresses import absolute_url, is_base_url_local
from pipelines.web.project.roles import role_boxes
from pipelines.web.shell import errors
from pipelines.web.shell.forms import RolesForm
from pipelines.web.shell.page import SignedInRequest, breadcrumbs, project_required, render_in_shell

REFUSALS = (members_of.LastAdmin, departures.NeedsHeir, departures.NoHeir)


@project_required("admin")
@require_http_methods(["GET", "HEAD", "POST"])
def member_page(request: SignedInRequest, project: Project, member: int) -> HttpResponse:
    """Change the roles, or remove somebody (`remove` in the form). A project always keeps an admin."""
    membership = _get_membership(project, member)
    if request.method != "POST":
        return _member_page(request, membership)
    form = RolesForm(request.POST)
    if "remove" in request.POST:
        return _remove_member(request, membership)
    if not form.is_valid():
        messages.error(request, str(next(iter(form.errors.values()))[0]))
        return _redirect_to_member(membership)
    roles, execute = form.cleaned_data["roles"], form.cleaned_data["execute"]
    try:
        members_of.change_member(
            project, membership.pk, roles=roles, execute=execute, by=request.user, now=timezone.now()
        )
    except members_of.LastAdmin as refused:
        messages.error(request, _refusal_message(refused))
    else:
        messages.success(request, "Saved")
    return _redirect_to_member(membership)


def _remove_member(request: SignedInRequest, membership: Membership) -> HttpResponse:
    """Unless another heir is chosen, who removes somebody takes over their agents."""
    is_self = membership.user_id == request.user.pk
    heir = _chosen_heir_or_none(request, membership.project) or (None if is_self else request.user)
    try:
        departures.remove_person(
            membership.project, membership.user, heir=heir, by=request.user, now=timezone.now()
        )
    except REFUSALS as refused:
        messages.error(request, _refusal_message(refused))
        return _redirect_to_member(membership)
    messages.success(request, f"{membership.user} is no longer a member.")
    return redirect("home") if is_self else _redirect_to_members(membership.project)


@project_required("view")
@require_POST
def leave_project(request: SignedInRequest, project: Project) -> HttpResponse:
    """Leave the project of one's own accord (`leave` in the form); whoever answers for agents names who takes
    them over."""
    if "leave" not in request.POST:
        return errors.bad_request(request)
    heir = _chosen_heir_or_none(request, project)
    try:
        departures.remove_person(project, request.user, heir=heir, by=request.user, now=timezone.now())
    except REFUSALS as refused:
        messages.error(request, _refusal_message(refused))
        return _redirect_to_members(project)
    messages.success(request, f"You have left {project.name or project.key}.")
    return redirect("home")


@project_required("admin")
@require_POST
def change_account(request: SignedInRequest, project: Project, member: int) -> HttpResponse:
    """Deactivate the account (`deactivate` in the form), or activate it again (`again`)."""
    membership = _get_membership(project, member)
    has_action = "again" in request.POST or "deactivate" in request.POST
    if not has_action or not members.may_manage_account(request.user, membership.user):
        return errors.bad_request(request)
    now = timezone.now()
    if "again" in request.POST:
        departures.reactivate_user(membership.user, by=request.user, now=now)
        messages.success(request, f"{membership.user} can sign in again.")
        return _redirect_to_member(membership)
    heir = _chosen_heir_or_none(request, project) or request.user
    try:
        departures.deactivate_user(membership.user, heir=heir, by=request.user, now=now)
    except REFUSALS as refused:
        messages.error(request, _refusal_message(refused))
    else:
        messages.success(request, "The account is deactivated.")
    return _redirect_to_member(membership)


@project_required("admin")
@require_POST
def reset_link(request: SignedInRequest, project: Project, member: int) -> HttpResponse:
    """Shows the link (`link` in the form), once: only what it is made from is kept."""
    membership = _get_membership(project, member)
    if "link" not in request.POST:
        return errors.bad_request(request)
    try:
        uid, key = members.create_user_id_and_key_of_reset_link(
            membership.user, by=request.user, now=timezone.now()
        )
    except Forbidden:
        return errors.bad_request(request)
    return _member_page(
        request, membership, reset_link=absolute_url("account_reset_password_from_key", uid, key)
    )


def leaving_context(project: Project, user: User) -> dict[str, Any]:
    """Return what somebody leaves behind, as it is listed before they go."""
    others = Membership.objects.filter(project=project, user__is_active=True).exclude(user=user)
    return {
        "agents": departures.agents_of_owner(user, project),
        "heirs": [
            (str(membership.user_id), str(membership.user)) for membership in others.select_related("user")
        ],
        "named": gates_naming_user(user, project),
    }


def _member_page(request: SignedInRequest, membership: Membership, **more: Any) -> HttpResponse:
    project, user = membership.project, membership.user
    settings_ = reverse("project-settings", args=[project.owner.key, project.key])
    return render_in_shell(
        request,
        "project/member.html",
        project=project,
        section="settings",
        trail=breadcrumbs(("Members", settings_), str(user)),
        member=membership,
        boxes=role_boxes(membership.roles),
        manages=members.may_manage_account(request.user, user),
        by_provider=accounts.signs_in_by_provider(user),
        provider_name=settings.OIDC_NAME,
        opens_only_here=is_base_url_local(),
        me=str(request.user.pk),
        **leaving_context(project, user),
        **more,
    )


def _get_membership(project: Project, member: int) -> Membership:
    membership = get_object_or_404(
        Membership.objects.filter(project=project, pk=member).select_related("user")
    )
    # Loaded already, with its owner
    membership.project = project
    return membership


def _chosen_heir_or_none(request: SignedInRequest, project: Project) -> User | None:
    """Chosen in the form. A stranger to the project is nobody."""
    heir_id = request.POST.get("heir", "")
    # 18 digits fit into a bigint; more would be an error of the database.
    pk = int(heir_id) if heir_id.isascii() and heir_id.isdigit() and len(heir_id) < 19 else 0
    return User.objects.filter(pk=pk, memberships__project=project).first()


def _redirect_to_member(membership: Membership) -> HttpResponse:
    return redirect("member-change", membership.project.owner.key, membership.project.key, membership.pk)


def _redirect_to_members(project: Project) -> HttpResponse:
    return redirect("project-settings", project.owner.key, project.key)


def _refusal_message(refused: Exception) -> str:
    if isinstance(refused, departures.NeedsHeir):
        return "You are responsible for agents of this project. Choose another owner for each first."
    if isinstance(refused, departures.NoHeir):
        return "The new owner of the agents must be an active member of each of their projects."
    return "A project needs at least one admin. Make somebody else an admin first."
