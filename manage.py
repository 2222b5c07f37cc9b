#!/usr/bin/env python
"""Every command of Gateline: `manage.py help` lists them."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from config import lifeline, readiness, up
from config.embedded import layout
from config.embedded.errors import LauncherError
from config.embedded.server_share import acquire_share
from config.secret_files import read_secret_files_into_environment
from pipelines.ports.garbage_collection import collect_seldom_while_loading

ROLES = {"web": "web", "worker": "worker"}
NEEDS_NO_DATABASE = {
    "help",
    "--help",
    "-h",
    "version",
    "--version",
    "makemessages",
    "compilemessages",
    "wiring",
}


def _end(number: int, frame: FrameType | None) -> None:
    # The default action would skip what has to run at exit.
    sys.exit(128 + number)


def main() -> None:
    command = sys.argv[1] if len(sys.argv) > 1 else "help"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("GATELINE_ROLE", ROLES.get(command, "command"))
    collect_seldom_while_loading()
    lifeline.watch_supervisor()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    step = None
    try:
        read_secret_files_into_environment(os.environ)
        if command == "up" and not {"-h", "--help"} & set(sys.argv):
            step = up.show_first_step()
        if not os.environ.get("DATABASE_URL") and command not in NEEDS_NO_DATABASE:
            # The embedded server runs at least as long as this process.
            acquire_share(layout.state_folder())
        if step is not None:
            up.main(sys.argv[2:], step)
        else:
            if readiness.must_wait_for_database():
                _load(command)
            _execute()
    except LauncherError as error:
        if step is not None:
            step.end_terminal_line()
        sys.exit(f"{error.message}\n{error.remedy}")
    except KeyboardInterrupt:
        sys.exit(130)


def _load(command: str) -> None:
    """Loads what the command needs while the database is being prepared, and waits for that."""
    import django
    from django.conf import settings
    from django.core.management import get_commands, load_command_class

    django.setup()
    load_command_class(get_commands()[command], command)
    readiness.wait_for_database()
    if settings.WORKSPACES.recorded_or_newly_chosen_folder() != settings.WORKSPACES_DIR:
        sys.exit(
            f"The workspaces were moved to {settings.WORKSPACES.recorded_or_newly_chosen_folder()} meanwhile."
        )


def _execute() -> None:
    # Django reads the settings, and they read the connection of the server that has just been started.
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
