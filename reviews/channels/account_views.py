"""Personal settings › Chats: who I am in the chats of my projects."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from pipelines.errors import NotFound
from pipelines.web.shell.page import SignedInRequest, crumbs, show, sign_in_required
from reviews.channels import accounts


@sign_in_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: SignedInRequest) -> HttpResponse:
    """A POST (`connection`) makes a code, shown on this page and never again."""
    code, chosen = "", request.POST.get("connection", "")
    status = 200
    if request.method == "POST":
        try:
            # PostgreSQL's bigint holds any number of 18 digits
            code = accounts.create_code(
                request.user, int(chosen) if chosen.isdecimal() and len(chosen) < 19 else 0
            )
        except NotFound:
            status = 422
    chat_accounts = request.user.chat_accounts.select_related("connection__project__owner")
    return show(
        request,
        "account/chats.html",
        section="account",
        trail=crumbs(("Personal settings", reverse("account")), "Chats"),
        status=status,
        connections=accounts.connections(request.user)[:100],
        mine=chat_accounts.order_by("-linked_at")[:100],
        code=code,
        chosen=chosen,
        refused=status == 422,
    )


@sign_in_required
@require_POST
def unlink(request: SignedInRequest, account: int) -> HttpResponse:
    try:
        accounts.unlink(request.user, account)
    except NotFound as problem:
        raise Http404 from problem
    messages.success(request, "Unlinked")
    return redirect("account-chats")
