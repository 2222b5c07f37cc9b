"""The audit log of a project: who changed what about its people, groups and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from pipelines.models import ApiToken, Project, Role
from pipelines.ports.audit import KINDS
from pipelines.queries import actor_names
from pipelines.queries.audit import ActFilter, acts_as_flat_dicts, administrative_acts
from pipelines.queries.dates import DateRange
from pipelines.web.shell.ndjson import ndjson_response
from pipelines.web.shell.page import (
    SignedInRequest,
    project_breadcrumb,
    project_required,
    render_in_shell,
    requested_date_range,
)

ON_A_PAGE = 50


class AuditSearchForm(forms.Form):
    """A value that is none narrows nothing: addresses are kept, words change."""

    kind = forms.CharField(required=False)
    who = forms.CharField(required=False, max_length=150)

    def act_filter(self, dates: DateRange) -> ActFilter:
        # Not `is_valid`: what is faulty is left out, the other fields count.
        self.full_clean()
        form_data = self.cleaned_data
        return ActFilter(form_data.get("kind", ""), form_data.get("who", ""), dates.since, dates.until)


@project_required("admin")
@require_safe
def audit_log(request: SignedInRequest, project: Project) -> HttpResponse:
    dates = requested_date_range(request)
    act_filter = AuditSearchForm(request.GET).act_filter(dates)
    page = Paginator(administrative_acts(project, act_filter), ON_A_PAGE).get_page(request.GET.get("page"))
    who = actor_names.label_by_actor(act.actor for act in page)
    parameters = {name: request.GET[name] for name in AuditSearchForm.base_fields if request.GET.get(name)}
    parameters |= dates.query
    return render_in_shell(
        request,
        "project/audit.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, "Audit log"),
        page=page,
        rows=[(act, KINDS.get(act.kind, act.kind), who[act.actor], change_text(act.data)) for act in page],
        kinds=sorted(KINDS.items(), key=lambda entry: str(entry[1])),
        search=act_filter,
        query=urlencode(parameters),
    )


@project_required("admin")
@require_safe
def export_audit(request: SignedInRequest, project: Project) -> StreamingHttpResponse:
    """Export all entries of the page as JSON lines."""
    return ndjson_response(
        acts_as_flat_dicts(
            administrative_acts(
                project, AuditSearchForm(request.GET).act_filter(requested_date_range(request))
            )
        ),
        f"{project.key}-audit.jsonl",
    )


def change_text(data: Mapping[str, Any]) -> str:
    """The change in a line: “Viewer → Operator”, or what was given."""
    if "before" in data and "after" in data:
        return f"{_roles_text(data['before'])} → {_roles_text(data['after'])}"
    parts = [_roles_text(data)]
    parts += [f"added: {', '.join(data['added'])}"] if data.get("added") else []
    parts += [f"removed: {', '.join(data['removed'])}"] if data.get("removed") else []
    scopes = dict(ApiToken.Scope.choices)
    parts += (
        [", ".join(str(scopes.get(scope, scope)) for scope in data["scopes"])] if data.get("scopes") else []
    )
    parts += [str(data["why"])] if data.get("why") else []
    parts += [f"from {data['source']}"] if data.get("source") else []
    parts += [f"Line: {data['line']}"] if data.get("line") else []
    parts += [f"All projects of {data['owner']}"] if data.get("owner") else []
    return " · ".join(part for part in parts if part)


def _roles_text(data: Mapping[str, Any]) -> str:
    labels = dict(Role.choices)
    words = [str(labels.get(role, role)) for role in data.get("roles", ())]
    words += [str(data["name"])] if data.get("name") else []
    return ", ".join([*words, *(["can publish programs"] if data.get("execute") else [])])
