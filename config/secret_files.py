"""Secrets that lie in files, as containers and systemd hand them over: NAME_FILE names the file in place of NAME.
Standard library only: the start asks before Django is there."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

from config.embedded.errors import LauncherError

NAMES: Final = (
    "SECRET_KEY",
    "GATELINE_ENCRYPTION_KEYS",
    "GATELINE_RECEIPT_KEY",
    "GATELINE_METRICS_TOKEN",
    "GATELINE_MODEL_KEY",
    "DATABASE_URL",
    "DATABASE_DIRECT_URL",
    "REDIS_URL",
    "EMAIL_URL",
    "OIDC_CLIENT_SECRET",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
)
SUFFIX: Final = "_FILE"


def read_secret_files_into_environment(environment: MutableMapping[str, str]) -> None:
    """Put what the files hold into the environment of this process, once.

    :raises LauncherError: a file cannot be read or is empty, or a secret is there twice"""
    for name in NAMES:
        # Compose files often set a variable to nothing where it is not used
        path = environment.get(name + SUFFIX, "").strip()
        if not path:
            continue
        # Only the operator knows which of the two is right
        if environment.get(name, "").strip():
            raise LauncherError(f"{name} and {name}{SUFFIX} are both set.", "Leave one of them out.")
        try:
            # Editors end a file with a line break, which is no part of the secret
            value = Path(path).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise LauncherError(
                f"{name}{SUFFIX} names {path}, which cannot be read: {reason}.",
                "Name a file that its user can read.",
            ) from error
        if not value:
            raise LauncherError(f"{name}{SUFFIX} names {path}, which is empty.", f"Write {name} into it.")
        environment[name] = value
        # Processes that are started from here have the value, and would find both
        del environment[name + SUFFIX]
