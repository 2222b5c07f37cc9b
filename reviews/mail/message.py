"""Form of every mail of the product: text that is complete by itself, HTML beside it, and headers that say
who it is from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string

from pipelines.routing.basics.hidden_characters import escape_hidden, escape_hidden_page

SUBJECT_LENGTH = 200


def multipart_message(
    template: str,
    context: Mapping[str, Any],
    *,
    subject: str,
    to: str,
    unique: str,
    headers: Mapping[str, str] | None = None,
) -> EmailMultiAlternatives:
    """`template`: the name of a pair in `templates/reviews/mail`. `unique`: the Message-ID, fixed by the row that the
    mail is sent for, so that one that is sent twice is one mail to a mail client."""
    made = EmailMultiAlternatives(
        # In one line: Django refuses a header with line ends
        subject=escape_hidden(" ".join(subject.split()))[:SUBJECT_LENGTH],
        body=escape_hidden(render_to_string(f"reviews/mail/{template}.txt", dict(context))),
        to=[to],
        headers={
            "Message-ID": f"<{unique}>",
            # So that no out-of-office notice answers: RFC 3834, and what Exchange heeds
            "Auto-Submitted": "auto-generated",
            "X-Auto-Response-Suppress": "All",
            **(headers or {}),
        },
    )
    page = escape_hidden_page(render_to_string(f"reviews/mail/{template}.html", dict(context)))
    made.attach_alternative(page, "text/html")
    return made


def mail_host_or_localhost() -> str:
    return urlsplit(settings.BASE_URL).hostname or "localhost"
