"""Layout of the files. The state folder contains everything; only a server that runs as another user, who
cannot enter it, stores its data in a folder that this user can enter, and the state folder records where."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.embedded.account import Account
from config.embedded.errors import LauncherError

PORT = 5432  # only the name of the socket: there is no TCP
NAME = "gateline"
# The path of a unix socket has room for 107 bytes on Linux, and 103 on macOS.
LONGEST_SOCKET_FOLDER = 100 - len(f"/.s.PGSQL.{PORT}.lock")


def state_folder() -> Path:
    """The state folder: GATELINE_HOME, else `.gateline` beside manage.py."""
    override = os.environ.get("GATELINE_HOME")
    return (
        Path(override).expanduser().resolve()
        if override
        else Path(__file__).resolve().parents[2] / ".gateline"
    )


@dataclass(frozen=True)
class Layout:
    """`home` is the state folder, `base` the server's own folder."""

    home: Path
    base: Path

    @property
    def data_folder(self) -> Path:
        return self.base / "data"

    @property
    def log_file(self) -> Path:
        return self.home / "postgres.log"

    @property
    def password_file(self) -> Path:
        return self.home / "postgres-password"

    @property
    def record_file(self) -> Path:
        return self.home / "postgres.json"

    @property
    def start_lock_file(self) -> Path:
        return self.home / "postgres-start.lock"

    @property
    def users_lock_file(self) -> Path:
        return self.home / "postgres-users.lock"

    @property
    def keeper_lock_file(self) -> Path:
        return self.home / "postgres-keeper.lock"


def recorded_or_planned_layout(home: Path) -> Layout:
    """The layout as recorded by the first start, or as it would be."""
    recorded = read_record_or_empty(home).get("base")
    return Layout(home, Path(recorded) if recorded else home / "postgres")


def read_record_or_empty(home: Path) -> dict[str, Any]:
    try:
        recorded: dict[str, Any] = json.loads((home / "postgres.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return recorded


def write_record(layout: Layout, **facts: Any) -> None:
    unfinished = layout.record_file.with_suffix(".part")
    unfinished.write_text(json.dumps({"base": str(layout.base), **facts}, indent=1))
    unfinished.chmod(0o600)
    # By rename, so that nobody reads half a record
    unfinished.rename(layout.record_file)


def connection_settings(home: Path) -> dict[str, object]:
    """Django's connection settings for the embedded server; before its first start they lead nowhere."""
    password = home / "postgres-password"
    return {
        "NAME": NAME,
        "USER": NAME,
        "PASSWORD": password.read_text().strip() if password.exists() else "",
        "HOST": read_record_or_empty(home).get("socket", str(home / "postgres" / "run")),
        "PORT": str(PORT),
    }


def connection_url(home: Path) -> str:
    """Return the connection settings as a URL, for DATABASE_URL of another process."""
    facts = connection_settings(home)
    # % first, or the escapes of the others would be escaped again.
    socket = str(facts["HOST"]).replace("%", "%25").replace("/", "%2F").replace(" ", "%20")
    return f"postgres://{NAME}:{facts['PASSWORD']}@{socket}:{PORT}/{NAME}"


def make_home(home: Path) -> None:
    """Makes the state folder, or refuses one that is somebody else's."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LauncherError(
            f"The state folder {home} cannot be made: {error.strerror}.", "Name another one in GATELINE_HOME."
        ) from error
    lock = home / "postgres-start.lock"
    # Said in words: PostgreSQL would only say that it may not open a file
    if not os.access(home, os.W_OK | os.X_OK) or (lock.exists() and not os.access(lock, os.W_OK)):
        raise LauncherError(
            f"The state folder {home} belongs to another user.",
            "Start as that user, or name another folder in GATELINE_HOME.",
        )


def set_home_mode(home: Path, account: Account) -> None:
    """Set the mode of the state folder: another user who runs the server may pass through it, and see nothing
    else."""
    if home.stat().st_uid == os.geteuid():
        # 0o711: whoever runs the server passes through to its own folder, and lists nothing
        home.chmod(0o711 if account.switch else 0o700)


def socket_folder(base: Path, account: Account) -> Path:
    """A folder of mode 0700 that only the server's user and root can enter, short enough for a socket's name."""
    folder = base / "run"
    if len(os.fsencode(folder)) > LONGEST_SOCKET_FOLDER:
        short = hashlib.sha256(os.fsencode(base)).hexdigest()[:12]
        folder = Path(tempfile.gettempdir()) / f"gateline-{account.uid}-{short}"
        if len(os.fsencode(folder)) > LONGEST_SOCKET_FOLDER:
            folder = Path("/tmp") / folder.name
    try:
        folder.mkdir(mode=0o700)
        account.give_ownership_if_other_user(folder)
    except FileExistsError:
        _refuse_foreign(folder, account)
    folder.chmod(0o700)
    return folder


def _refuse_foreign(folder: Path, account: Account) -> None:
    # Not stat: in a temporary folder that all share, a link could have been put there first.
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != account.uid:
        raise LauncherError(
            f"{folder} should be the database's own folder, but somebody else made it.",
            "Remove it, or name a shorter folder in GATELINE_HOME.",
        )
