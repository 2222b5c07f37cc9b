"""Settings of a project: members and what their roles allow, groups. Tokens of machines: `tokens`."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pipelines import access
from pipelines.engine.moves.entitlement import single_member_approves_from
from pipelines.models import Group, Membership, Project, Role
from pipelines.people import groups as groups_of
from pipelines.people import members as members_of
from pipelines.queries import members as members_in
from pipelines.web.project import invitation_list
from pipelines.web.project.member import leaving_context
from pipelines.web.project.roles import role_boxes, role_table
from pipelines.web.shell import errors
from pipelines.web.shell.forms import AddMemberForm, GroupMembersForm, NewGroupForm
from pipelines.web.shell.page import SignedInRequest, project_breadcrumb, project_required, render_in_shell


@project_required("view")
@require_safe
def redirect_to_lines(request: SignedInRequest, project: Project) -> HttpResponse:
    """The address of a project leads to its lines."""
    return redirect("lines", project.owner.key, project.key)


def _project_url(project: Project, name: str) -> str:
    return reverse(name, args=[project.owner.key, project.key])


@project_required("view")
@require_safe
def project_members_page(request: SignedInRequest, project: Project) -> HttpResponse:
    """Members see who else is one; only admins change it."""
    return members_page(request, project, AddMemberForm(project, request.user))


def members_page(
    request: SignedInRequest,
    project: Project,
    form: AddMemberForm,
    status: int = 200,
    invite: invitation_list.InviteForm | None = None,
) -> HttpResponse:
    listed = members_in.member_rows(project)
    return render_in_shell(
        request,
        "project/members.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, "Settings"),
        status=status,
        form=form,
        members=listed,
        new_roles=role_boxes(form["roles"].value() or ()),
        roles=Role.choices,
        table=role_table(),
        active=sum(member.membership.user.is_active for member in listed),
        alone_from=single_member_approves_from(project, timezone.now()),
        unprotected_people=sum(member.is_unprotected for member in listed),
        **leaving_context(project, request.user),
        **(
            invitation_list.invitation_context(project, invite)
            if access.is_permitted(request.user, "admin", project)
            else {}
        ),
    )


@project_required("admin")
@require_POST
def add_member(request: SignedInRequest, project: Project) -> HttpResponse:
    form = AddMemberForm(project, request.user, request.POST)
    if not form.is_valid():
        return members_page(request, project, form, status=422)
    members_of.add_member(
        project,
        form.user,
        roles=form.cleaned_data["roles"],
        execute=form.cleaned_data["execute"],
        by=request.user,
        now=timezone.now(),
    )
    messages.success(request, f"{form.user} is now a member.")
    return redirect(_project_url(project, "project-settings"))


@project_required("admin")
@require_http_methods(["GET", "HEAD", "POST"])
def groups_page(request: SignedInRequest, project: Project) -> HttpResponse:
    form = NewGroupForm(project, request.POST or None)
    if request.method == "POST" and form.is_valid():
        key, name = form.cleaned_data["key"], form.cleaned_data["name"]
        groups_of.create_or_get_group(project, key, name, by=request.user, now=timezone.now())
        messages.success(request, "Group added")
        return redirect(_project_url(project, "project-groups"))
    project_groups = Group.objects.filter(project=project).prefetch_related("members").order_by("key")
    return render_in_shell(
        request,
        "project/groups.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, "Groups"),
        status=422 if form.is_bound else 200,
        form=form,
        groups=[(group, {user.pk for user in group.members.all()}) for group in project_groups],
        members=Membership.objects.filter(project=project).select_related("user").order_by("user__username"),
    )


@project_required("admin")
@require_POST
def change_group(request: SignedInRequest, project: Project, group: int) -> HttpResponse:
    project_group = get_object_or_404(Group.objects.filter(project=project, pk=group))
    if "delete" in request.POST:
        groups_of.delete_group(project_group, by=request.user, now=timezone.now())
        messages.success(request, "Group deleted")
        return redirect(_project_url(project, "project-groups"))
    form = GroupMembersForm(project, request.POST)
    if not form.is_valid():
        return errors.bad_request(request)
    groups_of.set_group_members(
        project_group, form.cleaned_data["members"], by=request.user, now=timezone.now()
    )
    messages.success(request, "Saved")
    return redirect(_project_url(project, "project-groups"))
