"""Admin views of what is changed elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import ForeignKey, Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from pipelines.models import LineVersion, Project, Task

READ_BY_NAME: dict[Any, str] = {Project: "owner", Task: "project", LineVersion: "line"}
"""Rows that the name of such a row reads."""


class ListAdmin(admin.ModelAdmin):
    """A list of rows, read by one statement with the rows that its columns name."""

    def get_list_select_related(self, request: HttpRequest) -> list[str]:
        paths = [READ_BY_NAME[self.model]] if self.model in READ_BY_NAME else []
        for field in self.model._meta.concrete_fields:
            if isinstance(field, ForeignKey) and field.name in self.list_display:
                besides = READ_BY_NAME.get(field.related_model)
                paths.append(f"{field.name}__{besides}" if besides else field.name)
        return paths


class ReadOnlyRows:
    """Rows that are never added, changed or deleted here."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyAdmin(ReadOnlyRows, ListAdmin):
    """Shown, never added, changed or deleted: what the engine or publishing wrote, who belongs to what, or a
    credential. What changes it elsewhere keeps a record of it, and sees to what follows."""


def register_with_list_options(options_by_model: Mapping[type[Model], Mapping[str, Any]]) -> None:
    """Register these models, each with the options of its list."""
    for model, options in options_by_model.items():
        admin.site.register(model, ReadOnlyAdmin, **options)


def login(request: HttpRequest, extra_context: Any = None) -> HttpResponse:
    """Lead to the page of signing in: the admin's own asks for no second factor, and slows no guessing down."""
    if not request.user.is_authenticated:
        return redirect_to_login(request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index"))
    if admin.site.has_permission(request):
        return redirect("admin:index")
    raise PermissionDenied
