"""The servers that somebody has signed in to, with their tokens: one file that only its owner may read.

It is the only place where a token is kept. A keyring would ask for a desktop, which runners and CI have not.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from dataclasses import asdict, dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import typer

from gateline.failures import SignInFailure, UsageFailure

LOG_IN = "Sign in first: gateline login https://your-server"


@dataclass(frozen=True)
class Profile:
    """`url` has no slash at its end; `project` is `owner/key`, where a line's key alone is looked for first."""

    name: str
    url: str
    token: str = field(repr=False)
    project: str = ""


@dataclass(frozen=True)
class Profiles:
    """Stored profiles by name, and the default for when none is named."""

    by_name: dict[str, Profile]
    default: str = ""

    def get_profile(self, name: str) -> Profile:
        """The profile of this name, or the default. Raises SignInFailure."""
        profile_name = name or self.default
        if profile_name in self.by_name:
            return self.by_name[profile_name]
        if not profile_name:
            raise SignInFailure("You are not signed in to a server.", LOG_IN)
        known = ", ".join(sorted(self.by_name)) or "none"
        raise SignInFailure(f"There is no profile “{profile_name}”.", f"Known profiles: {known}. {LOG_IN}")

    def with_profile(self, profile: Profile, *, default: bool) -> Profiles:
        chosen = profile.name if default or not self.default else self.default
        return replace(self, by_name={**self.by_name, profile.name: profile}, default=chosen)

    def without_profile(self, name: str) -> Profiles:
        remaining = {key: profile for key, profile in self.by_name.items() if key != name}
        default = self.default if self.default in remaining else next(iter(sorted(remaining)), "")
        return replace(self, by_name=remaining, default=default)


def profiles_path() -> Path:
    """Return the file of the profiles: GATELINE_CONFIG, else in the folder that this system has for it."""
    override = os.environ.get("GATELINE_CONFIG")
    return Path(override) if override else Path(typer.get_app_dir("gateline")) / "profiles.json"


def load_profiles() -> Profiles:
    """Return the stored profiles; nothing is stored at first. Raises Usage: the file cannot be read, or
    others may read it."""
    path = profiles_path()
    try:
        with path.open(encoding="utf-8") as stored:
            # Of the open file, so that what is checked is what is read
            if os.name == "posix" and stat.S_IMODE(os.fstat(stored.fileno()).st_mode) & 0o077:
                raise UsageFailure(
                    f"{path} holds tokens, and other users may read it.", f"Run: chmod 600 {path}"
                )
            stored_data = json.load(stored)
        by_name = {name: Profile(name, **fields) for name, fields in stored_data["profiles"].items()}
        return Profiles(by_name, stored_data.get("default", ""))
    except FileNotFoundError:
        return Profiles({})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        raise UsageFailure(
            f"{path} cannot be read: {fault}", "Mend it, or remove it and sign in again."
        ) from fault


def save_profiles(profiles: Profiles) -> None:
    """Written as a whole beside the old one, readable by its owner alone, and then put in its place."""
    path = profiles_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    stored = {name: {key: value for key, value in asdict(profile).items() if key != "name"}
              for name, profile in sorted(profiles.by_name.items())}  # fmt: skip
    # mkstemp makes a file that only its owner may read.
    handle, written = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump({"default": profiles.default, "profiles": stored}, stream, indent=2)
        Path(written).replace(path)
    # Ctrl-C, too: no file with tokens is left behind.
    except BaseException:
        Path(written).unlink(missing_ok=True)
        raise


def current_profile(name: str = "") -> Profile:
    """The profile that a command works with. GATELINE_URL and GATELINE_TOKEN together need no stored one.

    Raises SignInFailure, Usage."""
    url, token = os.environ.get("GATELINE_URL", ""), os.environ.get("GATELINE_TOKEN", "")
    if url and token and not name:
        return Profile(
            "environment", checked_server_address(url), token, os.environ.get("GATELINE_PROJECT", "")
        )
    profile = load_profiles().get_profile(name)
    return replace(profile, project=os.environ.get("GATELINE_PROJECT") or profile.project)


def checked_server_address(url: str) -> str:
    """Return the address as it is stored, and as requests go to it. A token travels in clear only within this
    machine. Raises Usage."""
    parts = urlsplit(url if "://" in url else f"https://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageFailure(f"“{url}” is not the address of a server.", "Use https://…")
    if parts.scheme == "http" and not _is_local_host(parts.hostname):
        raise UsageFailure("Over http:// anybody on the way could read the token.", "Use https://…")
    if parts.username or parts.query or parts.fragment:
        raise UsageFailure("The address of a server is its host and, at most, a path.", "Use https://…")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _is_local_host(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
