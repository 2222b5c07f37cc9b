"""manage.py backup: the whole installation in one file, while it runs."""

from __future__ import annotations

import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from config.backup import database, state
from config.backup.archive import DATABASE, STATE, ArchiveWriter
from config.embedded.errors import LauncherError
from pipelines.management import printing
from pipelines.work.storage import artifact_storage


class Command(printing.Command):
    help = "Write database, artifacts, repositories and keys of this installation into one file, also while it runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a file that is not there yet, such as gateline.tar")

    def handle(self, *, file: Path, **options: Any) -> None:
        if file.exists():
            raise CommandError(f"{file} is there already. Name a new file.")
        if database.has_no_tables():
            raise CommandError("There is nothing to back up: the database is empty.")
        # Under another name, so that a file of this name is always whole
        part = file.with_name(f"{file.name}.part")
        part.unlink(missing_ok=True)
        try:
            count = write_archive_and_return_size(part)
            part.replace(file)
        except LauncherError as error:
            raise CommandError(f"{error.message}\n{error.remedy}") from error
        except OSError as error:
            raise CommandError(
                f"{error.filename or file}: {error.strerror or error}. Run it again."
            ) from error
        finally:
            part.unlink(missing_ok=True)
        self.stdout.write(
            f"Backed up {count} files, {file.stat().st_size:,} bytes, in {file}.\n"
            "It holds the keys of this installation: keep it as you keep a password."
        )
        artifacts = artifact_storage().place
        if not Path(artifacts).is_relative_to(settings.DATA_DIR):
            self.stdout.write(f"Artifacts are not in it. Back up {artifacts} by its own means.")


def write_archive_and_return_size(path: Path) -> int:
    """Writes the archive; the number of its files."""
    home, archive, keys = Path(settings.DATA_DIR), ArchiveWriter(path), _key_texts()
    # Before the database: no file that it names expires in between. New ones follow below.
    _add_to_archive(archive, *(home / name for name in state.UNCHANGING))
    facts = {
        "at": timezone.now().isoformat(timespec="seconds"),
        "postgresql": database.server_version(),
        "state_folder": str(home),
        "migrations": database.applied_migrations(),
        "keys_of_environment": state.key_fingerprints(),
    }
    with tempfile.TemporaryDirectory(prefix="gateline-backup-") as folder:
        database.dump_database(Path(folder) / DATABASE)
        archive.add(DATABASE, Path(folder) / DATABASE)
    # The archive itself may lie in the state folder.
    _add_to_archive(
        archive, *(entry for entry in state.first_level_paths(home) if entry.resolve() != path.resolve())
    )
    # What the dump holds could be encrypted with another key than the archive has.
    if keys != _key_texts():
        raise CommandError("A key was changed during the backup. Run it again.")
    archive.write_manifest_and_close(facts)
    return len(archive.files)


def _add_to_archive(archive: ArchiveWriter, *paths: Path) -> None:
    for path in paths:
        for entry in state.files_below(path):
            archive.add(f"{STATE}/{entry.relative_to(settings.DATA_DIR)}", entry)


def _key_texts() -> list[str]:
    files = [Path(settings.DATA_DIR) / name for name in state.KEYS.values()]
    return [file.read_text() for file in files if file.exists()]
