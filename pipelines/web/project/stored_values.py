"""Secrets and variables of a project, of its lines and of its owner, on one page. A secret is never shown again."""

from __future__ import annotations

from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from pipelines import access
from pipelines.errors import Conflict, Invalid
from pipelines.models import Owner, Project, StoredValue, User
from pipelines.ports.vault import store
from pipelines.ports.vault.credentials import repository_by_credential_value
from pipelines.queries.value_uses import ValueUse, uses_by_value
from pipelines.web.shell.forms import ChoiceForm
from pipelines.web.shell.page import (
    SignedInRequest,
    project_breadcrumb,
    project_required,
    render_in_shell,
    require_permission,
)

PROJECT, OWNER, LINE = "project", "owner", "line:"


class ValueForm(ChoiceForm):
    """`place`: project, owner, or line:<key>. Which places there are depends on who asks."""

    name = forms.CharField(max_length=64)
    kind = forms.ChoiceField(choices=StoredValue.ValueKind.choices)
    offered = "place"
    place = forms.ChoiceField()
    # Not stripped: the end of the last line belongs to a key file.
    value = forms.CharField(strip=False, max_length=store.LONGEST, widget=forms.Textarea)


@dataclass(frozen=True)
class StoredValueRow:
    value: StoredValue
    place: str
    uses: list[ValueUse]
    may_delete: bool
    repository: str
    """The one whose credential it is, or none."""

    @property
    def is_secret(self) -> bool:
        return self.value.kind == StoredValue.ValueKind.SECRET


@sensitive_post_parameters("value")
@project_required("design")
@require_http_methods(["GET", "HEAD", "POST"])
def stored_values_page(request: SignedInRequest, project: Project) -> HttpResponse:
    """Designers see which names there are; only admins change what is behind them."""
    places = place_choices(request.user, project)
    form = ValueForm(places, request.POST or None)
    if request.method == "POST":
        require_permission(request, "secrets", project)
        if form.is_valid() and _try_to_store_value(request, project, form):
            messages.success(request, f"{form.cleaned_data['name']} is saved")
            return redirect("project-secrets", project.owner.key, project.key)
    return render_in_shell(
        request,
        "project/secrets.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, "Secrets and variables"),
        status=422 if request.method == "POST" else 200,
        form=form,
        value_help="Enter the value again: it is not kept on this page."
        if form.errors
        else "A secret needs at least 8 characters. You cannot view it again after saving.",
        kinds=StoredValue.ValueKind.choices,
        places=places,
        rows=value_rows(request.user, project),
    )


def _try_to_store_value(request: SignedInRequest, project: Project, form: ValueForm) -> bool:
    """False where it is refused; then the form says why."""
    form_data = form.cleaned_data
    place = _value_place(project, form_data["place"])
    try:
        # A browser sends the ends of lines as CR LF; a key file has LF.
        value = form_data["value"].replace("\r\n", "\n")
        store.create_or_replace_value(
            place, form_data["name"], value, kind=form_data["kind"], by=request.user, now=timezone.now()
        )
    except Invalid as fault:
        form.add_error(fault.path if fault.path in form.fields else None, fault.message)
    except Conflict as conflict:
        form.add_error("name", conflict.detail)
    return form.is_valid()


def place_choices(user: User, project: Project) -> list[tuple[str, str]]:
    """Return the places where this person may store a value. A value of the owner reaches every project of
    it."""
    lines = [(f"{LINE}{line.key}", f"Line: {line.name}") for line in project.lines.order_by("name")]
    owner_option = [(OWNER, f"All projects of {project.owner.name}")]
    return [
        (PROJECT, "This project"),
        *lines,
        *(owner_option if _may_store_in_owner(user, project.owner) else []),
    ]


def _may_store_in_owner(user: User, owner: Owner) -> bool:
    return access.can_in_every_project_of_owner(user, "secrets", owner)


def _value_place(project: Project, place_key: str) -> store.ValuePlace:
    if place_key.startswith(LINE):
        return store.ValuePlace(project.lines.get(key=place_key.removeprefix(LINE)))
    return store.ValuePlace(project.owner if place_key == OWNER else project)


def value_rows(user: User, project: Project) -> list[StoredValueRow]:
    values = list(store.values_any_station_can_get(project))
    lines, owners = uses_by_value(project, values), _may_store_in_owner(user, project.owner)
    credentials = repository_by_credential_value(project, values)
    may_store = access.is_permitted(user, "secrets", project)
    return [
        StoredValueRow(
            value,
            _place_label(value, project),
            lines[value.pk],
            # A value of the owner reaches all its projects, so a role in this one is not enough.
            may_store and (owners or value.owner_id is None),
            credentials.get(value.pk, ""),
        )
        for value in values
    ]


def _place_label(value: StoredValue, project: Project) -> str:
    if value.line is not None:
        return f"Line: {value.line.name}"
    return "This project" if value.project_id else f"All projects of {project.owner.name}"


@project_required("secrets")
@require_POST
def delete_stored_value(request: SignedInRequest, project: Project, value: int) -> HttpResponse:
    stored_value = get_object_or_404(store.values_any_station_can_get(project).filter(pk=value))
    if stored_value.owner is not None and not _may_store_in_owner(request.user, stored_value.owner):
        raise Http404
    of = stored_value.line or stored_value.project or stored_value.owner
    assert of is not None
    store.remove_value_if_there(store.ValuePlace(of), stored_value.name, by=request.user, now=timezone.now())
    messages.success(request, f"{stored_value.name} is deleted")
    return redirect("project-secrets", project.owner.key, project.key)
