"""The default mail backend: a folder of `.eml` files, one per message."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend


class FolderBackend(BaseEmailBackend):
    """Writes each message to EMAIL_FILE_PATH as the bytes that SMTP would have carried; names sort by time."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        folder = settings.EMAIL_FILE_PATH
        if folder is None:
            raise ImproperlyConfigured("Mails as files need a folder: EMAIL_URL=file:///folder")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for message in email_messages:
            self._write(folder, message)
        return len(email_messages)

    @staticmethod
    def _write(folder: Path, message: EmailMessage) -> None:
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        target = folder / f"{stamp}-{time.time_ns() % 10**9:09d}-{uuid.uuid4().hex[:8]}.eml"
        unfinished = target.with_suffix(".part")
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(message.message().as_bytes(linesep="\r\n"))
        # A reader of the folder never sees half a message.
        unfinished.rename(target)
