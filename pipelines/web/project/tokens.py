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
from pipelines.web.shell.forms import NewMachineToken, NewToken
from pipelines.web.shell.page import SignedIn, crumbs, in_project, show, signed_in, tab_trail


@signed_in
@require_POST
def mine_new(request: SignedIn) -> HttpResponse:
    form = NewToken(request.POST)
    if not form.is_valid():
        return account.page(request, new_token=form, status=422)
    token, secret = accounts.mint_token(
        kind=ApiToken.TokenKind.PERSON,
        name=form.cleaned_data["name"],
        scopes=form.cleaned_data["scopes"],
        now=timezone.now(),
        created_by=request.user,
        user=request.user,
        lasts=timedelta(days=form.cleaned_data["days"]),
    )
    return _shown_once(request, token, secret)


@signed_in
@require_POST
def mine_revoke(request: SignedIn, token: int) -> HttpResponse:
    _revoke(request, ApiToken.objects.filter(pk=token, user=request.user).first())
    return redirect("account")


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def command_line(request: SignedIn, port: int, state: str) -> HttpResponse:
    """Make a token for `gateline login`, which waits at this port of the person's own machine. `state` goes back with
    it: by that the program knows that it asked."""
    # A program without rights of its own cannot listen below 1024.
    if not 1024 <= port < 1 << 16:
        raise Http404
    answer = ""
    if request.method == "POST":
        _token, secret = accounts.mint_token(
            kind=ApiToken.TokenKind.PERSON,
            name="Command line",
            scopes=ApiToken.Scope.values,
            now=timezone.now(),
            created_by=request.user,
            user=request.user,
            lasts=timedelta(days=90),
        )
        answer = f"http://127.0.0.1:{port}/?{urlencode({'state': state, 'token': secret})}"
    return show(request, "account/command_line.html", trail=crumbs("Command line"), answer=answer)


@in_project("admin")
@require_http_methods(["GET", "HEAD", "POST"])
def machines(request: SignedIn, project: Project) -> HttpResponse:
    form = NewMachineToken(request.POST or None)
    if request.method == "POST" and form.is_valid():
        token, secret = accounts.mint_token(
            kind=ApiToken.TokenKind.MACHINE,
            name=form.cleaned_data["name"],
            scopes=form.cleaned_data["scopes"],
            now=timezone.now(),
            created_by=request.user,
            project=project,
            role=form.cleaned_data["role"],
            lasts=timedelta(days=form.cleaned_data["days"]),
        )
        return _shown_once(request, token, secret, project)
    return show(
        request,
        "project/tokens.html",
        project=project,
        section="settings",
        trail=tab_trail(project, "Machine tokens"),
        status=422 if form.is_bound else 200,
        form=form,
        tokens=ApiToken.objects.filter(project=project, kind=ApiToken.TokenKind.MACHINE).order_by(
            "revoked_at", "-created_at"
        ),
        now=timezone.now(),
    )


@in_project("admin")
@require_POST
def machine_revoke(request: SignedIn, project: Project, token: int) -> HttpResponse:
    _revoke(
        request, ApiToken.objects.filter(pk=token, project=project, kind=ApiToken.TokenKind.MACHINE).first()
    )
    return redirect("project-tokens", project.owner.key, project.key)


def _revoke(request: SignedIn, token: ApiToken | None) -> None:
    if token is None:
        raise Http404
    accounts.revoke(token, timezone.now(), request.user)
    messages.success(request, f"“{token.name}” is revoked.")


def _shown_once(
    request: SignedIn, token: ApiToken, secret: str, project: Project | None = None
) -> HttpResponse:
    return show(
        request,
        "project/token_made.html",
        project=project,
        section="settings",
        trail=crumbs("New machine token" if project else "New personal token"),
        token=token,
        secret=secret,
    )
