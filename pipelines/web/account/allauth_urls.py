"""The pages of django-allauth that the product uses, under its own addresses. The names are those that allauth asks
`reverse` for. What is not listed (sign-up, changing addresses) is not there."""

from __future__ import annotations

from typing import Any

from allauth.account import views as account
from allauth.mfa.base import views as factors
from allauth.mfa.recovery_codes import views as recovery
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as passkeys
from django.urls import path, re_path, reverse_lazy
from django.views.generic import RedirectView

from pipelines.web.account import provider, sign_in

# Where the pages of second factors are in the shell.
HERE: dict[str, Any] = {
    "section": "account",
    "breadcrumb": [
        {"label": "Personal settings", "url": reverse_lazy("account")},
        {"label": "Second factor"},
    ],
}

urlpatterns = [
    path("sign-in/", sign_in.SignInView.as_view(), name="account_login"),
    path("sign-out/", sign_in.sign_out, name="account_logout"),
    # Nobody signs up: allauth names the page in mail to addresses that it does not know.
    path("sign-in/new/", RedirectView.as_view(pattern_name="sign-in"), name="account_signup"),
    path("sign-in/inactive/", account.account_inactive, name="account_inactive"),
    path("sign-in/second-factor/", factors.authenticate, name="mfa_authenticate"),
    path("sign-in/with/<str:provider_id>/", provider.begin, name="openid_connect_login"),
    path("sign-in/with/<str:provider_id>/back/", provider.come_back, name="openid_connect_callback"),
    path(
        "sign-in/cancelled/",
        RedirectView.as_view(pattern_name="sign-in"),
        name="socialaccount_login_cancelled",
    ),
    path("sign-in/reset/", account.password_reset, name="account_reset_password"),
    path("sign-in/reset/sent/", account.password_reset_done, name="account_reset_password_done"),
    path(
        "sign-in/reset/done/",
        account.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    re_path(
        r"^sign-in/reset/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        account.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path("sign-in/passkey/", passkeys.login_webauthn, name="mfa_login_webauthn"),
    path("account/confirm/passkey/", passkeys.reauthenticate_webauthn, name="mfa_reauthenticate_webauthn"),
    path(
        "account/second-factor/passkeys/",
        RedirectView.as_view(pattern_name="mfa_index"),
        name="mfa_list_webauthn",
    ),
    path(
        "account/second-factor/passkeys/new/",
        passkeys.AddWebAuthnView.as_view(extra_context=HERE),
        name="mfa_add_webauthn",
    ),
    path(
        "account/second-factor/passkeys/<int:pk>/remove/",
        passkeys.RemoveWebAuthnView.as_view(extra_context=HERE),
        name="mfa_remove_webauthn",
    ),
    path("account/confirm/", account.reauthenticate, name="account_reauthenticate"),
    path("account/confirm/second-factor/", factors.reauthenticate, name="mfa_reauthenticate"),
    path("account/second-factor/", factors.IndexView.as_view(extra_context=HERE), name="mfa_index"),
    path(
        "account/second-factor/app/",
        totp.ActivateTOTPView.as_view(extra_context=HERE),
        name="mfa_activate_totp",
    ),
    path(
        "account/second-factor/app/remove/",
        totp.DeactivateTOTPView.as_view(extra_context=HERE),
        name="mfa_deactivate_totp",
    ),
    path(
        "account/second-factor/codes/",
        recovery.ViewRecoveryCodesView.as_view(extra_context=HERE),
        name="mfa_view_recovery_codes",
    ),
    path(
        "account/second-factor/codes/new/",
        recovery.GenerateRecoveryCodesView.as_view(extra_context=HERE),
        name="mfa_generate_recovery_codes",
    ),
    path(
        "account/second-factor/codes/download/",
        recovery.download_recovery_codes,
        name="mfa_download_recovery_codes",
    ),
]
