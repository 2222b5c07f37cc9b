"""The folder that development mail is written to, read back for a page."""

from __future__ import annotations

import email
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest

from pipelines.web.shell.page import is_local_request
from reviews.models import Mail, Posted

# `\Z`: a `$` would also match before a line end
NAME = re.compile(r"[\w-]{1,100}\.eml\Z")
MOST = 200


@dataclass(frozen=True)
class Letter:
    """Message as a reader sees it; `source` is the file, byte for byte as text."""

    name: str
    subject: str
    sender: str
    to: str
    date: datetime | None
    text: str
    headers: tuple[tuple[str, str], ...]
    source: str


def goes_mail_into_a_folder(configured: Any) -> bool:
    """Return whether mail goes into a folder at all; with an SMTP server there is nothing to see here."""
    return bool(getattr(configured, "EMAIL_FILE_PATH", None)) and "smtp" not in configured.EMAIL_BACKEND


def may_open_folder(request: HttpRequest) -> bool:
    """Administrators, from this machine, and only while mail goes into a folder (house §5)."""
    user = getattr(request, "user", None)
    return (
        goes_mail_into_a_folder(settings)
        and user is not None
        and user.is_authenticated
        and user.is_superuser
        and is_local_request(request)
    )


def was_anybody_mailed_about_visit(visit: UUID) -> bool:
    """Tell if anybody was mailed about this review."""
    return Mail.objects.filter(visit=visit).exclude(state=Posted.State.SKIPPED).exists()


def _folder_path() -> Path:
    # Set by config.environment only while mail goes into a folder.
    return Path(getattr(settings, "EMAIL_FILE_PATH", ""))


def latest_letters() -> list[Letter]:
    """The newest first."""
    path = _folder_path()
    files = sorted(path.glob("*.eml"), reverse=True)[:MOST] if path.is_dir() else []
    return [letter for file in files if (letter := read_letter_or_none(file.name)) is not None]


def read_letter_or_none(name: str) -> Letter | None:
    """Return the message of this file name; None if there is none, or if the name could lead out of the folder."""
    # The name comes from the address, and must not lead out of the folder
    if not NAME.match(name):
        return None
    path = _folder_path() / name
    if not path.is_file():
        return None
    raw = path.read_bytes()
    message = email.message_from_bytes(raw, policy=default)
    body = message.get_body(("plain",)) if isinstance(message, EmailMessage) else None
    return Letter(
        name=name,
        subject=str(message["Subject"] or ""),
        sender=str(message["From"] or ""),
        to=str(message["To"] or ""),
        date=_header_time_or_none(message["Date"]),
        text=body.get_content() if body is not None else "",
        headers=tuple((key, str(value)) for key, value in message.items()),
        source=raw.decode("utf-8", errors="replace"),
    )


def _header_time_or_none(header: Any) -> datetime | None:
    """Return the time of a header, in UTC where it says no zone (`-0000`); None where it is none."""
    value: datetime | None = getattr(header, "datetime", None)
    return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value
