"""The form that connects a chat or a webhook."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django import forms

from pipelines.models import Project
from pipelines.ports import clock
from pipelines.work.hosts import standard_webhooks
from reviews.channels.channel import ChannelError
from reviews.channels.table import BY_KEY, KINDS
from reviews.channels.webhook import signature
from reviews.models import ChannelConnection


class ChannelForm(forms.Form):
    kind = forms.ChoiceField(choices=[(kind.key, kind.label) for kind in KINDS])
    name = forms.CharField(max_length=100)
    address = forms.CharField(max_length=500, required=False)
    room = forms.CharField(max_length=200, required=False)
    secret = forms.CharField(max_length=500, required=False)
    signing = forms.CharField(max_length=200, required=False)

    def __init__(self, project: Project, data: Any = None) -> None:
        super().__init__(data)
        self._project = project

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"]).strip()
        if ChannelConnection.objects.filter(project=self._project, name=name).exists():
            raise forms.ValidationError("This project has a channel of this name.")
        return name

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        kind = BY_KEY.get(cleaned.get("kind", ""))
        if kind is None:
            return cleaned
        cleaned["address"] = cleaned.get("address") or kind.address
        if not _is_url(cleaned["address"]):
            self.add_error("address", "Enter an address that begins with https:// or http://.")
        if kind.rooms and not cleaned.get("room"):
            self.add_error("room", "Enter the channel.")
        if kind.makes_secret:
            cleaned["secret"] = cleaned.get("secret") or standard_webhooks.new_secret()
            try:
                signature(cleaned["secret"], "", clock.now(), b"")
            except ChannelError as problem:
                self.add_error("secret", str(problem))
        elif kind.secret_label and not cleaned.get("secret"):
            self.add_error("secret", "Enter the token.")
        if not kind.signing_help:
            cleaned["signing"] = ""
        elif not _printable(cleaned.get("signing", "")):
            self.add_error(
                "signing", "A signing secret has no spaces and only letters, digits and signs of ASCII."
            )
        if not kind.makes_secret and not _printable(cleaned.get("secret", "")):
            # What no header takes would be told with the error.
            self.add_error("secret", "A token has no spaces and only letters, digits and signs of ASCII.")
        return cleaned


def _printable(text: str) -> bool:
    return all("!" <= sign <= "~" for sign in text)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        return False
