"""Personal and machine tokens: made, shown once, revoked."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from pipelines.models import ApiToken, Project
from pipelines.people import accounts
from pipelines.web.account import account
from pipelines.web.shell.forms import NewMachineTokenForm, NewTokenForm
from pipelines.web.shell.page import (
    SignedInRequest,
    breadcrumbs,
    project_breadcrumb,
    project_required,
    render_in_shell,
    sign_in_required,
)


@sign_in_required
@require_POST
def create_personal_token(request: SignedInRequest) -> HttpResponse:
    form = NewTokenForm(request.POST)
    if not form.is_valid():
        return account.account_page(request, new_token=form, status=422)
    token, secret = accounts.mint_token_and_secret(
        kind=ApiToken.TokenKind.PERSON,
        name=form.cleaned_data["name"],
        scopes=form.cleaned_data["scopes"],
        now=timezone.now(),
        created_by=request.user,
        user=request.user,
        lasts=timedelta(days=form.cleaned_data["days"]),
    )
    return _token_page(request, token, secret)


@sign_in_required
@require_POST
def revoke_personal_token(request: SignedInRequest, token: int) -> HttpResponse:
    _revoke_token(request, ApiToken.objects.filter(pk=token, user=request.user).first())
    return redirect("account")


@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def create_command_line_token(request: SignedInRequest, port: int, state: str) -> HttpResponse:
    """Make a token for `gateline login`, which waits at this port of the person's own machine. `state` goes back with
    it: by that the program knows that it asked."""
    # A program without rights of its own cannot listen below 1024.
    if not 1024 <= port < 1 << 16:
        raise Http404
    answer = ""
    if request.method == "POST":
        _token, secret = accounts.mint_token_and_secret(
            kind=ApiToken.TokenKind.PERSON,
            name="Command line",
            scopes=ApiToken.Scope.values,
            now=timezone.now(),
            created_by=request.user,
            user=request.user,
            lasts=timedelta(days=90),
        )
        answer = f"http://127.0.0.1:{port}/?{urlencode({'state': state, 'token': secret})}"
    return render_in_shell(
        request, "account/command_line.html", trail=breadcrumbs("Command line"), answer=answer
    )


@project_required("admin")
@require_http_methods(["GET", "HEAD", "POST"])
def machine_tokens(request: SignedInRequest, project: Project) -> HttpResponse:
    form = NewMachineTokenForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        token, secret = accounts.mint_token_and_secret(
            kind=ApiToken.TokenKind.MACHINE,
            name=form.cleaned_data["name"],
            scopes=form.cleaned_data["scopes"],
            now=timezone.now(),
            created_by=request.user,
            project=project,
            role=form.cleaned_data["role"],
            lasts=timedelta(days=form.cleaned_data["days"]),
        )
        return _token_page(request, token, secret, project)
    return render_in_shell(
        request,
        "project/tokens.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, "Machine tokens"),
        status=422 if form.is_bound else 200,
        form=form,
        tokens=ApiToken.objects.filter(project=project, kind=ApiToken.TokenKind.MACHINE).order_by(
            "revoked_at", "-created_at"
        ),
        now=timezone.now(),
    )


@project_required("admin")
@require_POST
def revoke_machine_token(request: SignedInRequest, project: Project, token: int) -> HttpResponse:
    _revoke_token(
        request, ApiToken.objects.filter(pk=token, project=project, kind=ApiToken.TokenKind.MACHINE).first()
    )
    return redirect("project-tokens", project.owner.key, project.key)


def _revoke_token(request: SignedInRequest, token: ApiToken | None) -> None:
    if token is None:
        raise Http404
    accounts.revoke_token(token, timezone.now(), request.user)
    messages.success(request, f"“{token.name}” is revoked.")


def _token_page(
    request: SignedInRequest, token: ApiToken, secret: str, project: Project | None = None
) -> HttpResponse:
    return render_in_shell(
        request,
        "project/token_made.html",
        project=project,
        section="settings",
        trail=breadcrumbs("New machine token" if project else "New personal token"),
        token=token,
        secret=secret,
    )
