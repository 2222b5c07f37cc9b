"""The bell, the page of all notifications, and the notification settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pipelines.models import User
from pipelines.web.shell.page import (
    SignedInRequest,
    breadcrumbs,
    is_fragment_request,
    render_in_shell,
    sign_in_required,
)
from reviews.models import NotificationSettings
from reviews.notifications import notification_queries
from reviews.notifications.kind import NotificationKind
from reviews.notifications.table import KINDS


@sign_in_required
@require_safe
def notifications_page(request: SignedInRequest) -> HttpResponse:
    if is_fragment_request(request, "count"):
        # Nothing at all for none: a badge that holds a blank is drawn.
        return HttpResponse(str(notification_queries.capped_unread_count_text(request.user) or ""))
    if is_fragment_request(request, "bell"):
        return _bell_fragment(request)
    unread = request.GET.get("show") == "unread"
    return render_in_shell(
        request,
        "reviews/notifications/page.html",
        trail=breadcrumbs("Notifications"),
        rows=notification_queries.latest_bell_notifications(
            request.user, unread=unread, limit=notification_queries.LISTED
        ),
        unread_only=unread,
        unread_count=notification_queries.capped_unread_count_text(request.user),
        most=notification_queries.LISTED,
    )


def _bell_fragment(request: SignedInRequest) -> HttpResponse:
    rows = notification_queries.latest_bell_notifications(
        request.user, unread=True, limit=notification_queries.FIRST
    )
    return render(request, "reviews/notifications/bell.html", {"rows": rows})


@sign_in_required
@require_safe
def open_notification(request: SignedInRequest, notification: int) -> HttpResponse:
    """Redirect to the page that the notification speaks of. A GET, so that it is a link like any other: mails
    have it, and it opens in another tab; whoever follows it has read it."""
    stored_notification = notification_queries.visible_notification_or_none(request.user, notification)
    if stored_notification is None:
        raise Http404
    # A HEAD only looks whether the page is there
    if request.method == "GET":
        notification_queries.mark_read_and_count(request.user, timezone.now(), pk=notification)
    return HttpResponseRedirect(stored_notification.address)


@sign_in_required
@require_POST
def mark_read(request: SignedInRequest) -> HttpResponse:
    """Mark as read one notification (`notification`), or all that this person sees."""
    which = request.POST.get("notification", "")
    # PostgreSQL's bigint holds any number of 18 digits
    if which and not (which.isdecimal() and len(which) < 19):
        raise Http404
    notification_queries.mark_read_and_count(
        request.user, timezone.now(), **({"pk": int(which)} if which else {})
    )
    return (
        _response_with_count_trigger(_bell_fragment(request))
        if request.headers.get("HX-Request")
        else redirect("notifications")
    )


def _response_with_count_trigger(response: HttpResponse) -> HttpResponse:
    """The count beside the bell is asked for again."""
    response["HX-Trigger"] = "gl:notified"
    return response


@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def notification_settings_page(request: SignedInRequest) -> HttpResponse:
    form = SettingsForm(request.user, request.POST or None)
    if form.is_bound and form.is_valid():
        form.save()
        messages.success(request, "Saved")
        return redirect("account-notifications")
    trail = breadcrumbs(("Personal settings", reverse("account")), "Notifications")
    context: dict[str, Any] = {"form": form}
    return render_in_shell(
        request,
        "account/notifications.html",
        section="account",
        trail=trail,
        status=422 if form.is_bound else 200,
        **context,
    )


# The form of notification settings: a row for each kind, the digest, the quiet hours.


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
