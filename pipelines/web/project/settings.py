"""Settings of a project: members and what their roles allow, groups. Tokens of machines: `tokens`."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pipelines import access
from pipelines.models import Group, Membership, Project, Role, User
from pipelines.people import groups as groups_of
from pipelines.people import leaving
from pipelines.people import members as members_of
from pipelines.queries import workers
from pipelines.web.project import invitation_list
from pipelines.web.project.roles import role_boxes, role_table
from pipelines.web.shell import errors
from pipelines.web.shell.forms import AddMember, GroupPeople, NewGroup, RolesForm
from pipelines.web.shell.page import SignedIn, in_project, show, tab_trail


@in_project("view")
@require_safe
def start(request: SignedIn, project: Project) -> HttpResponse:
    """The address of a project leads to its lines."""
    return redirect("lines", project.owner.key, project.key)


def _address(project: Project, name: str) -> str:
    return reverse(name, args=[project.owner.key, project.key])


@in_project("view")
@require_safe
def members(request: SignedIn, project: Project) -> HttpResponse:
    """Members see who else is one; only admins change it."""
    return members_page(request, project, AddMember(project))


def members_page(
    request: SignedIn,
    project: Project,
    form: AddMember,
    status: int = 200,
    invite: invitation_list.InviteForm | None = None,
) -> HttpResponse:
    people = Membership.objects.filter(project=project).select_related("user").order_by("user__username")
    listed = [(member, role_boxes(member.roles)) for member in people]
    return show(
        request,
        "project/members.html",
        project=project,
        section="settings",
        trail=tab_trail(project, _("Settings")),
        status=status,
        form=form,
        members=listed,
        new_roles=role_boxes(form["roles"].value() or ()),
        roles=Role.choices,
        table=role_table(),
        unprotected=workers.unprotected(timezone.now()),
        **(invitation_list.context(project, invite) if access.can(request.user, "admin", project) else {}),
    )


@in_project("admin")
@require_POST
def add_member(request: SignedIn, project: Project) -> HttpResponse:
    form = AddMember(project, request.POST)
    if not form.is_valid():
        return members_page(request, project, form, status=422)
    members_of.add(
        project,
        form.user,
        roles=form.cleaned_data["roles"],
        execute=form.cleaned_data["execute"],
        by=request.user,
        now=timezone.now(),
    )
    messages.success(request, _("%(who)s is a member now.") % {"who": form.user})
    return redirect(_address(project, "project-settings"))


@in_project("admin")
@require_POST
def change_member(request: SignedIn, project: Project, member: int) -> HttpResponse:
    """Change the roles, or remove somebody (`remove` in the form). A project always keeps an admin."""
    form = RolesForm(request.POST)
    removing = "remove" in request.POST
    if not removing and not form.is_valid():
        messages.error(request, str(next(iter(form.errors.values()))[0]))
        return redirect(_address(project, "project-settings"))
    try:
        if removing:
            _remove(project, member, request.user)
        else:
            given = form.cleaned_data
            members_of.change(
                project,
                member,
                roles=given["roles"],
                execute=given["execute"],
                by=request.user,
                now=timezone.now(),
            )
    except (members_of.LastAdmin, leaving.NeedsHeir) as refused:
        messages.error(request, _why(refused))
    else:
        messages.success(request, _("Saved"))
    return redirect(_address(project, "project-settings"))


def _remove(project: Project, member: int, by: User) -> None:
    """Who removes somebody takes over their agents. Raises NotFound, LastAdmin, NeedsHeir."""
    found = Membership.objects.filter(project=project, pk=member).select_related("user").first()
    if found is None:
        raise Http404
    heir = by if found.user_id != by.pk else None
    leaving.leave(project, found.user, heir=heir, by=by, now=timezone.now())


@in_project("view")
@require_POST
def leave(request: SignedIn, project: Project) -> HttpResponse:
    """Of one's own accord (`leave` in the form); who answers for agents hands them on first."""
    if "leave" not in request.POST:
        return errors.bad_request(request)
    try:
        leaving.leave(project, request.user, heir=None, by=request.user, now=timezone.now())
    except (members_of.LastAdmin, leaving.NeedsHeir) as refused:
        messages.error(request, _why(refused))
        return redirect(_address(project, "project-settings"))
    messages.success(request, _("You have left %(project)s.") % {"project": project.name or project.key})
    return redirect("home")


def _why(refused: Exception) -> str:
    if isinstance(refused, leaving.NeedsHeir):
        return _("You answer for agents of this project. Give each another owner first.")
    return _("A project keeps at least one admin. Make somebody else an admin first.")


@in_project("admin")
@require_http_methods(["GET", "HEAD", "POST"])
def groups(request: SignedIn, project: Project) -> HttpResponse:
    form = NewGroup(project, request.POST or None)
    if request.method == "POST" and form.is_valid():
        key, name = form.cleaned_data["key"], form.cleaned_data["name"]
        groups_of.create(project, key, name, by=request.user, now=timezone.now())
        messages.success(request, _("Group added"))
        return redirect(_address(project, "project-groups"))
    found = Group.objects.filter(project=project).prefetch_related("members").order_by("key")
    return show(
        request,
        "project/groups.html",
        project=project,
        section="settings",
        trail=tab_trail(project, _("Groups")),
        status=422 if form.is_bound else 200,
        form=form,
        groups=[(group, {user.pk for user in group.members.all()}) for group in found],
        members=Membership.objects.filter(project=project).select_related("user").order_by("user__username"),
    )


@in_project("admin")
@require_POST
def change_group(request: SignedIn, project: Project, group: int) -> HttpResponse:
    found = Group.objects.filter(project=project, pk=group).first()
    if found is None:
        raise Http404
    if "delete" in request.POST:
        groups_of.delete(found, by=request.user, now=timezone.now())
        messages.success(request, _("Group deleted"))
        return redirect(_address(project, "project-groups"))
    form = GroupPeople(project, request.POST)
    if not form.is_valid():
        return errors.bad_request(request)
    groups_of.set_people(found, form.cleaned_data["members"], by=request.user, now=timezone.now())
    messages.success(request, _("Saved"))
    return redirect(_address(project, "project-groups"))
