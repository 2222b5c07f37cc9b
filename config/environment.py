"""The environment, read once with types: every name that is read here stands in docs/operating.md."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from pipelines.work.artifact_stores import table
from pipelines.work.outgoing import authorities, nat64


def variable_text(name: str, default: str = "") -> str:
    # A name with nothing behind it (`NAME=`) counts as not set.
    return os.environ.get(name, "").strip() or default


def variable_flag(name: str, default: bool = False) -> bool:
    """yes/no, true/false, on/off, 1/0; anything else is refused."""
    value = variable_text(name).lower()
    if not value:
        return default
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} is “{value}”. Use yes or no.")


def variable_number(name: str, default: int, least: int = 0) -> int:
    value = variable_text(name, str(default))
    # isdigit alone is true of characters such as ², too, which int() refuses.
    if not value.isascii() or not value.isdigit() or int(value) < least:
        raise ImproperlyConfigured(f"{name} is “{value}”. Use a whole number from {least} on.")
    return int(value)


def variable_process_count(name: str, most: int) -> int:
    """So many processes: a number, or `auto`, one for each core and at most `most`."""
    if variable_text(name) == "auto":
        return min(
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, most
        )
    return variable_number(name, 1, least=1)


def variable_secret(name: str, least: int) -> str:
    """A secret of at least so many characters; empty where none is set."""
    value = variable_text(name)
    if value and len(value) < least:
        raise ImproperlyConfigured(f"{name} has {len(value)} characters. Use {least} random ones or more.")
    return value


def variable_words(name: str, default: list[str]) -> list[str]:
    """Comma-separated, blanks around a word do not count."""
    value = variable_text(name)
    return [word.strip() for word in value.split(",") if word.strip()] if value else default


def nat64_prefixes(name: str) -> list[ipaddress.IPv6Network]:
    """Prefixes of IPv6, separated by commas, each of a length that RFC 6052 knows."""
    prefixes = []
    for word in variable_words(name, []):
        try:
            prefixes.append(nat64.parsed_prefix(word))
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{name} has “{word}”: {error}. Use prefixes such as 64:ff9b::/96."
            ) from error
    return prefixes


def trusted_certificates() -> authorities.Authorities:
    """Return the authorities that every call and every station of this process trusts, besides the public
    ones."""
    try:
        return authorities.configured_authorities(os.environ)
    except authorities.WrongBundle as error:
        raise ImproperlyConfigured(f"{error} Name a file with certificates in PEM.") from error


def variable_pairs(name: str) -> dict[str, str]:
    """`memory_mb=2048, disk_mb=8192` as names and values."""
    parts = (word.partition("=") for word in variable_words(name, []))
    return {key.strip(): value.strip() for key, _, value in parts}


def variables_with_prefix(prefix: str) -> dict[str, str]:
    """Every variable that begins so, by the rest of its name."""
    variables = (
        (name, variable_text(name)) for name in os.environ if name.startswith(prefix) and name != prefix
    )
    return {name.removeprefix(prefix): value for name, value in variables if value}


ROLES = frozenset({"viewer", "operator", "designer", "reviewer", "admin"})
"""Those of `pipelines.models.Role`, which is read after the settings."""


def roles_of_groups(name: str) -> dict[str, dict[str, list[str]]]:
    """`reviewers=acme/app:reviewer; leads=acme/app:designer+reviewer` → {group: {"owner/project": roles}}."""
    roles_by_group: dict[str, dict[str, list[str]]] = {}
    for entry in filter(None, (part.strip() for part in variable_text(name).split(";"))):
        # From the right: the name of a group may itself hold a “=”.
        group, _, rest = entry.rpartition("=")
        project, _, roles = rest.partition(":")
        chosen = [role.strip() for role in roles.split("+")]
        if not group.strip() or "/" not in project or not set(chosen) <= ROLES:
            raise ImproperlyConfigured(f"{name}: write {entry!r} as group=owner/project:role+role.")
        roles_by_group.setdefault(group.strip(), {}).setdefault(project.strip(), []).extend(chosen)
    return roles_by_group


def variable_folders(name: str, default: list[Path]) -> list[Path]:
    """Folders as in PATH, separated by the system's separator."""
    value = variable_text(name)
    return [Path(part).expanduser().resolve() for part in value.split(os.pathsep) if part] or default


def variable_address(name: str, default: str) -> str:
    """An absolute http(s) address without a slash at its end; it may carry a path prefix."""
    value = variable_text(name, default).rstrip("/")
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ImproperlyConfigured(
            f"{name} is “{value}”. Use an absolute address such as https://gateline.example.com/prefix."
        )
    return value


def artifact_storage(name: str, default: str) -> dict[str, Any]:
    """An entry of STORAGES out of an address: `file:///folder`, or `s3://bucket/prefix?endpoint=https://…`."""
    address = variable_text(name, default)
    try:
        return table.storage_settings(address)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is “{address}”: {error}.") from error


@dataclass(frozen=True)
class MailSettings:
    """Django's EMAIL_* settings."""

    backend: str
    folder: Path | None = None
    host: str = ""
    port: int = 25
    user: str = ""
    password: str = ""
    starttls: bool = False
    tls: bool = False


SERVERS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


def mail_settings(folder: Path) -> MailSettings:
    """Out of EMAIL_URL: `smtp://user:password@host:587` (plain), `smtp+tls://` (STARTTLS), `smtps://` (TLS from the
    start), `console://`, `file:///folder`, or nothing: `.eml` files in the folder."""
    parts = urlsplit(variable_text("EMAIL_URL", "file://"))
    if parts.scheme == "console":
        return MailSettings("django.core.mail.backends.console.EmailBackend")
    if parts.scheme == "file":
        return MailSettings(
            "config.mail.FolderBackend", Path(unquote(parts.path)) if parts.path.strip("/") else folder
        )
    if parts.scheme not in SERVERS or not parts.hostname:
        raise ImproperlyConfigured(
            "EMAIL_URL must begin with smtp://, smtp+tls://, smtps://, file:// or console:// and name a host."
        )
    return MailSettings(
        "django.core.mail.backends.smtp.EmailBackend",
        None,
        parts.hostname,
        parts.port or SERVERS[parts.scheme],
        unquote(parts.username or ""),
        unquote(parts.password or ""),
        starttls=parts.scheme == "smtp+tls",
        tls=parts.scheme == "smtps",
    )
