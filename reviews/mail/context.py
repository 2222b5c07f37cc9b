"""Pages that speak of mail lead to the development mail, for who may see it (templates/shell/mail_note.html)."""

from __future__ import annotations

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from reviews.mail import folder


def lazy_mail_folder_url(request: HttpRequest) -> dict[str, object]:
    """`mail_folder_url`, empty for all others; asked for only where a page shows it."""
    return {
        "mail_folder_url": SimpleLazyObject(
            lambda: reverse("mail-dev") if folder.may_open_folder(request) else ""
        )
    }
