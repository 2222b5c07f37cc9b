"""The Django admin is for administrators who have set up what their projects require, as every other page is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from pipelines.people import accounts

OPEN = ("login", "logout", "jsi18n")


class AdminGuard:
    """Middleware. Leads who lacks a password or a required second factor from the admin to where it is set up."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: Any, kwargs: Any
    ) -> HttpResponse | None:
        at = request.resolver_match
        if at is None or at.app_name != "admin" or at.url_name in OPEN or not request.user.is_authenticated:
            return None
        if accounts.needs_password(request.user):
            return redirect("password-set")
        return redirect("mfa_index") if accounts.needs_second_factor(request.user) else None
