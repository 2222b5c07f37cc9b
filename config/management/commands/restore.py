"""manage.py restore: an installation out of the file that `backup` wrote."""

from __future__ import annotations

import shutil
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from config.backup import archive, database, state
from config.embedded.errors import LauncherError
from config.first_start import exclusive_start
from pipelines.management import printing


class Command(printing.Command):
    help = "Put back what “backup” wrote, in an empty installation that does not run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the file that “backup” wrote")
        parser.add_argument(
            "--replace",
            action="store_true",
            help="delete what this installation has: database, files and keys",
        )

    def handle(self, *, file: Path, replace: bool, **options: Any) -> None:
        home = Path(settings.DATA_DIR)
        fresh = home / "restore.new"
        check_installation(replace)
        shutil.rmtree(fresh, ignore_errors=True)
        try:
            manifest = archive.unpack_archive_and_read_manifest(file, fresh)
            check_archive(manifest)
            # No start may migrate the database meanwhile.
            with exclusive_start():
                # First, since it is all or nothing: where it fails, the files are as they were.
                database.load_database(fresh / archive.DATABASE, replace=replace)
                state.replace_state(home, fresh / archive.STATE)
                database.allow_folders_again(home)
        except OSError as error:
            raise CommandError(f"{error.filename or file}: {error.strerror or error}.") from error
        except archive.DamagedArchive as error:
            raise CommandError(
                f"{file} is damaged: {error}. Nothing was changed. Copy it again, or take another backup."
            ) from error
        except LauncherError as error:
            raise CommandError(f"{error.message}\n{error.remedy}") from error
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        self.stdout.write(
            f"Restored the state of {manifest['at']}. Start Gateline: it brings the database up to date."
        )
        if manifest["state_folder"] != str(home):
            self.stdout.write(
                f"It was in {manifest['state_folder']}: connect the repositories anew that lay in that folder."
            )


def check_installation(replace: bool) -> None:
    """Raises CommandError where this installation is not empty or runs."""
    if not replace and not (
        database.has_no_tables() and state.has_no_files_in_folders(Path(settings.DATA_DIR))
    ):
        raise CommandError(
            "This installation is not empty. Name an empty folder in GATELINE_HOME (and an empty database in "
            "DATABASE_URL, if you set that), or add --replace: it deletes what is here."
        )
    if programs := database.names_of_other_connections():
        raise CommandError(f"The database is in use by {', '.join(programs)}. Stop Gateline, then restore.")


def check_archive(manifest: dict[str, Any]) -> None:
    """Raises CommandError where the archive asks for more than this installation is."""
    steps = database.migrations_unknown_here(manifest["migrations"])
    if manifest["format"] > archive.FORMAT or steps:
        reason = f"its database has {', '.join(steps[:3])}" if steps else f"format {manifest['format']}"
        raise CommandError(f"The backup is of a newer Gateline ({reason}). Update Gateline, then restore.")
    if manifest["postgresql"] > (version := database.server_version()):
        raise CommandError(
            f"The backup is of PostgreSQL {manifest['postgresql']}, and this is {version}: restore into a newer one."
        )
    archived, here = manifest["keys_of_environment"], state.key_fingerprints()
    # With other keys nothing of what is encrypted or signed could be read
    if names := [name for name in state.KEYS if here.get(name) != archived.get(name)]:
        raise CommandError(
            f"Set {', '.join(names)} as where the backup was made: to the same value, or not at all."
        )
