"""Placement of data and binaries when the user who runs the server cannot reach the project's folder."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import subprocess
from pathlib import Path

from config.embedded.account import Account
from config.embedded.binaries import Binaries
from config.embedded.errors import LauncherError
from config.embedded.layout import Layout

SHARED = (Path("/var/lib/gateline"), Path("/var/tmp/gateline"))


def settle(place: Layout, account: Account) -> Layout:
    """Return the layout with the server's own folder: in the state folder if the server's user can enter it,

    otherwise in a shared place.
    """
    if (place.data / "PG_VERSION").exists():
        return place
    base = place.base
    if account.switch and not account.can_enter(place.home):
        name = hashlib.sha256(os.fsencode(place.home)).hexdigest()[:12]
        base = _shared(account) / f"{name}-{secrets.token_hex(4)}"
    base.mkdir(mode=0o700, exist_ok=True)
    base.chmod(0o700)
    account.own(base)
    return Layout(place.home, base)


def reachable(binaries: Binaries, account: Account) -> Binaries:
    """The same binaries, copied where the account can run them if it cannot where they are."""
    if not account.switch or _runs(binaries, account):
        return binaries
    # With its time: a PostgreSQL that was upgraded in its folder is copied anew
    stamp = f"{binaries.folder}{binaries.postgres.stat().st_mtime_ns}"
    target = (
        _shared(account) / f"postgresql-{binaries.major}-{hashlib.sha256(stamp.encode()).hexdigest()[:12]}"
    )
    if not target.exists() and binaries.bundle:
        unfinished = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
        for part in binaries.bundle:
            depth = part.relative_to(binaries.bundle[0].parent.parent)
            shutil.copytree(part, unfinished / depth, symlinks=True)
        unfinished.chmod(0o755)
        # By rename: what has the final name is whole.
        unfinished.rename(target)
    copy = Binaries(target / binaries.folder.relative_to(binaries.folder.parents[2]), binaries.major)
    if not binaries.bundle or not _runs(copy, account):
        raise LauncherError(
            f"The user {account.name} cannot run {binaries.postgres}.",
            "Start Gateline as an ordinary user, or name a PostgreSQL that everybody may run in PG_BIN.",
        )
    return copy


def _runs(binaries: Binaries, account: Account) -> bool:
    try:
        tried = subprocess.run(
            [binaries.postgres, "-V"], capture_output=True, cwd="/", **account.subprocess_arguments()
        )
    except PermissionError:
        return False
    return tried.returncode == 0


def _shared(account: Account) -> Path:
    for folder in SHARED:
        try:
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        except OSError:
            continue
        # Anybody can write to /var/tmp: a folder that somebody else made there first is not used.
        if account.can_enter(folder) and folder.stat().st_uid == os.geteuid():
            return folder
    raise LauncherError(
        f"The user {account.name} can enter neither the project's folder nor {' or '.join(map(str, SHARED))}.",
        "Name a folder that it can enter in GATELINE_HOME, or start Gateline as an ordinary user.",
    )
