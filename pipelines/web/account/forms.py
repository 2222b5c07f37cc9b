"""Forms of signing in."""

from __future__ import annotations

from allauth.account.forms import LoginForm


class SignInForm(LoginForm):
    """Sign-in form with the field name that password managers have stored for this page."""

    def add_prefix(self, field_name: str) -> str:
        return "username" if field_name == "login" else super().add_prefix(field_name)
