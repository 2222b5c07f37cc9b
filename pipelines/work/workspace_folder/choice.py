"""The choice of the folder. The state folder records the choice, so that all processes of one installation agree."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipelines.work.workspace_folder.folders import has_worker, make_private, runs_programs
from pipelines.work.workspace_folder.outer_config import find_config_file_above

VARIABLE: Final = "GATELINE_WORKSPACES"
RECORD: Final = "workspaces.json"
BELOW_STATE: Final = "workspaces"


def installation_name(state: Path) -> str:
    """The name of the one installation, or runner, that keeps its state there."""
    place = state.resolve()
    plain = place.parent.name if place.name.startswith(".") else place.name
    return f"{plain or 'state'}-{hashlib.sha256(os.fsencode(place)).hexdigest()[:12]}"


@dataclass(frozen=True)
class ChoiceRecord:
    """The last choice. `state`: the folder for which it was made; `earlier`: folders that are still to be emptied."""

    state: Path
    folder: Path
    earlier: tuple[Path, ...] = ()


@dataclass(frozen=True)
class WorkspaceChoice:
    """`setting`: the folder that the operator names; `candidates`: the others in order, the state folder's own last."""

    state: Path
    setting: Path | None
    candidates: tuple[Path, ...]

    def recorded_or_newly_chosen_folder(self) -> Path:
        """The folder in use: as recorded, or chosen now. Where none can be made it is the last candidate."""
        if self.setting is not None:
            return self.setting
        record = read_record_or_none(self.state)
        # In a copied checkout the record names the first one's state and folder
        if (
            record is not None
            and record.state == self.state.resolve()
            and _ensure_usable_by_us(record.folder)
        ):
            return record.folder
        folder = self.first_clear_candidate()
        # Where the state folder cannot be written to, each process comes to the same.
        with suppress(OSError):
            _write_record(
                self.state,
                ChoiceRecord(self.state.resolve(), folder, self._own_folders_of_record(record, folder)),
            )
        return folder

    def choose_folder_anew(self) -> Path:
        """The folder in use, or a better one where a file has come to lie above it and nobody works in it."""
        folder = self.recorded_or_newly_chosen_folder()
        if (
            self.setting is not None
            or (find_config_file_above(folder) is None and runs_programs(folder))
            or has_worker(folder)
        ):
            return folder
        better = self.first_clear_candidate()
        if better != folder:
            record = read_record_or_none(self.state)
            _write_record(
                self.state,
                ChoiceRecord(self.state.resolve(), better, self._own_folders_of_record(record, better)),
            )
        return better

    def folder_in_use_or_planned(self) -> Path:
        """The folder that is in use, or would be; nothing is made."""
        record = read_record_or_none(self.state)
        if self.setting is not None or record is None or record.state != self.state.resolve():
            clear = (candidate for candidate in self.candidates if find_config_file_above(candidate) is None)
            return self.setting or next(clear, self.candidates[-1])
        return record.folder

    def first_clear_candidate(self) -> Path:
        """The first candidate above which no tool finds a file, made."""
        for candidate in self.candidates:
            try:
                if find_config_file_above(candidate) is None:
                    make_private(candidate)
                    if runs_programs(candidate):
                        return candidate
                    # It was made to see whether programs start there, and they do not
                    candidate.rmdir()
            except OSError:
                continue
        return self.candidates[-1]

    def earlier_folders(self) -> tuple[Path, ...]:
        """Folders of earlier choices, whose contents are to move."""
        record = read_record_or_none(self.state)
        recorded = record.earlier if record and record.state == self.state.resolve() else ()
        return tuple(dict.fromkeys((self.state / BELOW_STATE, *recorded)))

    def folders_of_other_checkouts(self) -> tuple[Path, ...]:
        """The folder in which other checkouts of this user have theirs."""
        folder = self.recorded_or_newly_chosen_folder()
        return (folder.parent,) if self.setting is None and folder.parent.name == "gateline" else ()

    def forget_emptied_folder(self, emptied: Path) -> None:
        record = read_record_or_none(self.state)
        if record is not None and emptied in record.earlier:
            rest = tuple(folder for folder in record.earlier if folder != emptied)
            _write_record(self.state, ChoiceRecord(record.state, record.folder, rest))

    def _own_folders_of_record(self, record: ChoiceRecord | None, folder: Path) -> tuple[Path, ...]:
        """The folders of a record, where they are this installation's: a checkout that moved takes them along, one that
        was copied leaves them to the first."""
        if record is None or (record.state != self.state.resolve() and not _is_gone(record.state)):
            return ()
        return tuple(dict.fromkeys(place for place in (record.folder, *record.earlier) if place != folder))


def server_choice(state: Path, environment: Mapping[str, str]) -> WorkspaceChoice:
    name = installation_name(state)
    folders = [
        *(base / "gateline" / name for base in _state_homes(environment)),
        Path("/var/lib/gateline") / name,
        *_temporary_folders(name, environment),
        state / BELOW_STATE,
    ]
    return WorkspaceChoice(state, configured_folder_or_none(environment), tuple(folders))


def runner_choice(state: Path, environment: Mapping[str, str]) -> WorkspaceChoice:
    """A runner's state lies below XDG_STATE_HOME anyway: its own folder comes first and last."""
    own = state / BELOW_STATE
    folders = (own, *_temporary_folders(installation_name(state), environment), own)
    return WorkspaceChoice(state, configured_folder_or_none(environment), folders)


def configured_folder_or_none(environment: Mapping[str, str]) -> Path | None:
    value = environment.get(VARIABLE, "").strip()
    return Path(value).expanduser().resolve() if value else None


def _state_homes(environment: Mapping[str, str]) -> list[Path]:
    """XDG_STATE_HOME, a relative one does not count; else that of HOME, where there is one."""
    if environment.get("XDG_STATE_HOME", "").startswith("/"):
        return [Path(environment["XDG_STATE_HOME"]).resolve()]
    try:
        home = Path.home()
    except RuntimeError:
        return []
    return [(home / ".local" / "state").resolve()] if home.is_absolute() else []


def _temporary_folders(name: str, environment: Mapping[str, str]) -> list[Path]:
    """Folders that everybody may make, each for its user alone. The one that survives a restart comes first."""
    bases = [Path("/var/tmp"), Path(environment.get("TMPDIR", "")), Path("/tmp")]
    return [base.resolve() / f"gateline-{os.geteuid()}-{name}" for base in bases if base.is_absolute()]


def read_record_or_none(state: Path) -> ChoiceRecord | None:
    try:
        value = json.loads((state / RECORD).read_text())
        return ChoiceRecord(Path(value["state"]), Path(value["folder"]), tuple(map(Path, value["earlier"])))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_record(state: Path, record: ChoiceRecord) -> None:
    state.mkdir(mode=0o711, parents=True, exist_ok=True)
    unfinished = state / f"{RECORD}.{os.getpid()}.{secrets.token_hex(4)}"
    value = {
        "state": str(record.state),
        "folder": str(record.folder),
        "earlier": [str(folder) for folder in record.earlier],
    }
    unfinished.write_text(json.dumps(value, indent=1) + "\n")
    # Whole at once: other processes of the installation may be reading it
    unfinished.replace(state / RECORD)


def _ensure_usable_by_us(folder: Path) -> bool:
    """Tell whether a recorded folder can still be worked in. Root, who only runs a command, leaves it be."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        try:
            make_private(folder)
        except OSError:
            return False
        return True
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and os.geteuid() in (0, status.st_uid)


def _is_gone(folder: Path) -> bool:
    try:
        folder.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
