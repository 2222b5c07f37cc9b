"""The form of notification settings: a row for each kind, the digest, the quiet hours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from pipelines.models import User
from reviews.models import NotificationSettings
from reviews.notifications.kind import NotificationKind
from reviews.notifications.table import KINDS

HOURS = [(hour, f"{hour:02}:00") for hour in range(24)]


@dataclass(frozen=True)
class KindRow:
    """Row of one kind, as the page draws it."""

    kind: NotificationKind
    bell: forms.BoundField
    mail: forms.BoundField


class SettingsForm(forms.Form):
    digest_hour = forms.TypedChoiceField(label="Digest at", choices=HOURS, coerce=int)
    quiet = forms.BooleanField(label="Quiet hours", required=False)
    quiet_from = forms.TypedChoiceField(label="From", choices=HOURS, coerce=int)
    quiet_until = forms.TypedChoiceField(label="Until", choices=HOURS, coerce=int)

    def __init__(self, user: User, data: Mapping[str, Any] | None = None) -> None:
        self.user = user
        stored = NotificationSettings.objects.filter(user=user).first() or NotificationSettings(user=user)
        quiet = stored.quiet_from is not None
        super().__init__(
            data,
            initial={
                "digest_hour": stored.digest_hour,
                "quiet": quiet,
                "quiet_from": stored.quiet_from if quiet else 22,
                "quiet_until": stored.quiet_until if quiet else 7,
            },
        )
        for kind in KINDS:
            chosen = stored.choices.get(kind.key, {})
            self.fields[f"{kind.key}-bell"] = forms.BooleanField(
                required=False, initial=chosen.get("bell", True)
            )
            self.fields[f"{kind.key}-mail"] = forms.ChoiceField(
                choices=kind.mails, initial=chosen.get("mail", kind.mail.value)
            )

    @property
    def rows(self) -> list[KindRow]:
        return [KindRow(kind, self[f"{kind.key}-bell"], self[f"{kind.key}-mail"]) for kind in KINDS]

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        if cleaned.get("quiet") and cleaned.get("quiet_from") == cleaned.get("quiet_until"):
            self.add_error("quiet_until", "Quiet hours have to start and end at different times.")
        return cleaned

    def save(self) -> None:
        cleaned = self.cleaned_data
        NotificationSettings.objects.update_or_create(
            user=self.user,
            defaults={
                "choices": {
                    kind.key: {"bell": cleaned[f"{kind.key}-bell"], "mail": cleaned[f"{kind.key}-mail"]}
                    for kind in KINDS
                },
                "digest_hour": cleaned["digest_hour"],
                "quiet_from": cleaned["quiet_from"] if cleaned["quiet"] else None,
                "quiet_until": cleaned["quiet_until"] if cleaned["quiet"] else None,
            },
        )
