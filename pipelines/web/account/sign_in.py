"""Signing in by password or by a one-time link, setting the first password, signing out."""

from __future__ import annotations

from typing import Any

from allauth.account.forms import LoginForm
from allauth.account.views import LoginView
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import login, logout, update_session_auth_hash
from django.contrib.auth.forms import SetPasswordForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from pipelines.models import User
from pipelines.people import accounts
from pipelines.web.shell.page import SignedInRequest, is_local_request, sign_in_required

BACKEND = "pipelines.people.accounts.Backend"


class SignInView(LoginView):
    template_name = "account/sign_in.html"

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        context = super().get_context_data(**context)
        context["session_ended"] = self.request.GET.get("reason") == "ended"
        if settings.OIDC_ISSUER:
            address = reverse("openid_connect_login", args=["oidc"])
            context["provider_name"] = settings.OIDC_NAME
            context["provider_url"] = self.passthrough_next_url(address)
        return context

    def form_invalid(self, form: Any) -> HttpResponse:
        """422: the form came back with its errors."""
        return self.render_to_response(self.get_context_data(form=form), status=422)


def begin_session(request: HttpRequest, user: User) -> None:
    """Signs in whoever has shown a link of their own instead of a password."""
    login(request, user, backend=BACKEND)
    # Allauth lists the sessions of its own sign-ins only.
    UserSession.objects.create_from_request(request)


def _is_link_allowed(request: HttpRequest) -> bool:
    """The link is for the person at this machine only, and a database of one's own may serve many machines."""
    return is_local_request(request) and settings.SIGN_IN_LINKS


@sensitive_variables("secret")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_by_link(request: HttpRequest, secret: str) -> HttpResponse:
    """GET only shows a button: whatever looks at links ahead of people must not use one up."""
    # A link in the output of a start is for whoever sits at this machine (house §5)
    if not _is_link_allowed(request):
        return _page_with_same_origin_referrer(request, "account/sign_in_local.html", status=403)
    if request.method != "POST":
        return _page_with_same_origin_referrer(request, "account/sign_in_link.html")
    try:
        user = accounts.person_of_redeemed_link(secret, timezone.now())
    except accounts.LinkRefused:
        return _page_with_same_origin_referrer(request, "errors/expired.html", status=410)
    begin_session(request, user)
    return redirect("home" if user.has_usable_password() else "password-set")


def _page_with_same_origin_referrer(request: HttpRequest, template: str, status: int = 200) -> HttpResponse:
    response = render(request, template, status=status)
    # Not “no-referrer”: the browser would then send “Origin: null” with the form, which no CSRF check accepts.
    response["Referrer-Policy"] = "same-origin"
    return response


@sensitive_post_parameters()
@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def set_password(request: SignedInRequest) -> HttpResponse:
    """The first password. Whoever has one changes it in their account, by the old one; for whom a provider vouches sets
    none, by which they would come in after it removed them."""
    user = request.user
    if user.has_usable_password() or accounts.signs_in_by_provider(user):
        return redirect("account")
    form = SetPasswordForm(user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        # Otherwise the changed password hash would end this very session.
        update_session_auth_hash(request, user)
        return HttpResponseRedirect(_next_url(request))
    status = 422 if form.is_bound else 200
    return render(
        request, "account/password_set.html", {"form": form, "next": _next_url(request)}, status=status
    )


def _next_url(request: HttpRequest) -> str:
    next_url = request.POST.get("next") or request.GET.get("next") or ""
    # Addresses of this site only: whoever made the link chose “next”.
    safe = url_has_allowed_host_and_scheme(next_url, {request.get_host()}, require_https=request.is_secure())
    return next_url if safe else reverse("home")


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """The sockets of this browser notice within seconds (pipelines.web.live.hint_repair)."""
    logout(request)
    return redirect("sign-in")


# Forms of signing in.


class SignInForm(LoginForm):
    """Sign-in form with the field name that password managers have stored for this page."""

    def add_prefix(self, field_name: str) -> str:
        return "username" if field_name == "login" else super().add_prefix(field_name)
