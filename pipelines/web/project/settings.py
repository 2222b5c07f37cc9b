"""Settings of a project: members and what their roles allow, groups. Tokens of machines: `tokens`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pipelines import access
from pipelines.models import Group, Membership, Project, Role
from pipelines.models.people import INCLUDED, granting
from pipelines.queries import workers
from pipelines.web.shell import errors
from pipelines.web.shell.forms import AddMember, GroupPeople, NewGroup, RolesForm
from pipelines.web.shell.page import SignedIn, in_project, show, tab_trail

# What a row of the table of roles says of an action of `access.TABLE`.
ACTIONS = {
    "view": gettext_lazy("See lines, tasks, logs and outputs"),
    "comment": gettext_lazy("Comment on lines"),
    "submit": gettext_lazy("Start tasks"),
    "operate": gettext_lazy("Answer, complete, retry, cancel"),
    "design": gettext_lazy("Draw and import lines"),
    "publish": gettext_lazy("Publish lines"),
    "decide": gettext_lazy("Approve or reject at gates that ask for reviewers"),
    "admin": gettext_lazy("Change members, groups and tokens"),
}
# The role that gates ask for unless they say otherwise; the table of access says only who may try.
DECIDES = Role.REVIEWER


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


def members_page(request: SignedIn, project: Project, form: AddMember, status: int = 200) -> HttpResponse:
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
    )


@dataclass(frozen=True, slots=True)
class RoleBox:
    """One role to tick. `by`: the name of a chosen role that includes it; `includes`: keys, with spaces between."""

    value: str
    word: str
    chosen: bool
    by: str
    includes: str


def role_boxes(chosen: Collection[str]) -> list[RoleBox]:
    boxes = []
    for role in Role:
        by = [str(other.label) for other in Role if other in chosen and role in INCLUDED[other]]
        includes = " ".join(sorted(INCLUDED[role]))
        boxes.append(RoleBox(role.value, str(role.label), role in chosen, by[-1] if by else "", includes))
    return boxes


def role_table() -> list[dict[str, Any]]:
    """Rows of actions with a yes or no for each role, from the very table that decides."""
    rows = []
    for action, words in ACTIONS.items():
        needed = DECIDES if action == "decide" else access.TABLE[action][0]
        allowed = granting(needed)
        rows.append({"words": words, "may": [role in allowed for role in Role.values]})
    return rows


@in_project("admin")
@require_POST
def add_member(request: SignedIn, project: Project) -> HttpResponse:
    form = AddMember(project, request.POST)
    if not form.is_valid():
        return members_page(request, project, form, status=422)
    # The form has looked already; of two who send it at once the second changes nothing.
    Membership.objects.get_or_create(
        project=project,
        user=form.user,
        defaults={"roles": form.cleaned_data["roles"], "execute": form.cleaned_data["execute"]},
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
    with transaction.atomic():
        # All admins are locked, so that two who demote each other do not leave none.
        admins = Membership.objects.select_for_update().filter(project=project, roles__contains=[Role.ADMIN])
        admin_ids = {each.pk for each in admins}
        found = Membership.objects.filter(project=project, pk=member).select_related("user").first()
        if found is None:
            raise Http404
        stays = not removing and Role.ADMIN in form.cleaned_data["roles"]
        if admin_ids == {found.pk} and not stays:
            messages.error(
                request, _("A project keeps at least one admin. Make somebody else an admin first.")
            )
            return redirect(_address(project, "project-settings"))
        _apply(found, form, removing)
    messages.success(request, _("Saved"))
    return redirect(_address(project, "project-settings"))


def _apply(member: Membership, form: RolesForm, removing: bool) -> None:
    if removing:
        member.delete()
        for group in Group.objects.filter(project=member.project_id, members=member.user_id):
            group.members.remove(member.user_id)
        return
    member.roles, member.execute = form.cleaned_data["roles"], form.cleaned_data["execute"]
    member.save(update_fields=["roles", "execute"])


@in_project("admin")
@require_http_methods(["GET", "HEAD", "POST"])
def groups(request: SignedIn, project: Project) -> HttpResponse:
    form = NewGroup(project, request.POST or None)
    if request.method == "POST" and form.is_valid():
        Group.objects.get_or_create(
            project=project, key=form.cleaned_data["key"], defaults={"name": form.cleaned_data["name"]}
        )
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
        found.delete()
        messages.success(request, _("Group deleted"))
        return redirect(_address(project, "project-groups"))
    form = GroupPeople(project, request.POST)
    if not form.is_valid():
        return errors.bad_request(request)
    found.members.set(form.cleaned_data["members"])
    messages.success(request, _("Saved"))
    return redirect(_address(project, "project-groups"))
