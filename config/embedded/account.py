"""Choice of the system user that the server runs as. PostgreSQL refuses root, and initdb needs an entry in
passwd."""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.embedded.errors import LauncherError

# One of these runs the server where we are root. A user of its own is best, then PostgreSQL's.
STAND_INS = ("gateline", "postgres", "nobody")


@dataclass(frozen=True)
class Account:
    name: str
    uid: int
    gid: int
    switch: bool

    def subprocess_arguments(self) -> dict[str, Any]:
        """Keyword arguments that make `subprocess` run something as this user."""
        # Without extra_groups the process would keep the supplementary groups of root.
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.switch else {}

    def give_ownership_if_other_user(self, path: Path) -> None:
        if self.switch:
            os.chown(path, self.uid, self.gid)

    def can_enter(self, folder: Path) -> bool:
        """Tried, not computed: access lists and mounts count too."""
        if not self.switch:
            return os.access(folder, os.X_OK)
        tried = subprocess.run(
            ["/bin/sh", "-c", 'cd "$1"', "sh", folder], capture_output=True, **self.subprocess_arguments()
        )
        return tried.returncode == 0


def choose_account(existing: Path) -> Account:
    """Return the system user that the server runs as: this user; as root the owner of the existing data folder,
    else a stand-in. Raises LauncherError without any."""
    if os.geteuid() != 0:
        return _account_of_uid(os.geteuid(), switch=False)
    # The data is its owner's: another user could not read it
    if existing.exists() and existing.stat().st_uid != 0:
        return _account_of_uid(existing.stat().st_uid, switch=True)
    user_name = os.environ.get("GATELINE_POSTGRES_USER")
    for name in (user_name,) if user_name else STAND_INS:
        try:
            return _account_of_uid(pwd.getpwnam(name).pw_uid, switch=True)
        except KeyError:
            continue
    raise LauncherError(
        f"PostgreSQL refuses to run as root, and there is no user {user_name or ' or '.join(STAND_INS)} to run it as.",
        "Start Gateline as an ordinary user, or name one in GATELINE_POSTGRES_USER.",
    )


def _account_of_uid(uid: int, *, switch: bool) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise LauncherError(
            f"The user id {uid} has no entry in /etc/passwd, and PostgreSQL's initdb needs one.",
            f"Add one (for example `gateline:x:{uid}:{os.getegid()}::/tmp:/bin/false`), or set DATABASE_URL.",
        ) from None
    if entry.pw_uid == 0:
        raise LauncherError(
            "PostgreSQL refuses to run as root.", "Name another user in GATELINE_POSTGRES_USER."
        )
    account = Account(entry.pw_name, uid, entry.pw_gid, switch)
    try:
        # Everybody may enter /: what is tried is the change of user, which a container may forbid.
        account.can_enter(Path("/"))
    except (OSError, subprocess.SubprocessError) as error:
        raise LauncherError(
            f"This root may not start a process as {entry.pw_name}: {error}.",
            "Start Gateline as an ordinary user, or set DATABASE_URL.",
        ) from error
    return account
