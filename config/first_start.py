"""Preparation of a database before web and worker can start: its tables and, while it has no users, an
administrator with the demo project."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from pipelines.models import Membership, Project, Role, User
from pipelines.work.workspace_folder.workspace_move import move_earlier_folders

ADMINISTRATOR = "admin"
DEADLOCK, LOCK_NOT_AVAILABLE = "40P01", "55P03"
MIGRATION_PAUSES = (0.1, 0.3, *(1.0,) * 120)
"""Seconds before each further try."""
MIGRATION_LOCK_WAIT = "300ms"
"""Less than PostgreSQL waits before it looks for a deadlock (1 s): the migration gives way, no older process is ended.
Whoever comes later waits behind a migration that waits."""
_LOCK = 0x67617465  # any number: two starts on one database wait for each other


def prepare_database_and_find_newcomer_or_none(
    say: Callable[[str], None], show: Callable[[str], None]
) -> User | None:
    """Brings the database up to date. Answers the administrator who has no password yet, if there is one.

    `say` takes sentences that stay in sight, `show` the work that begins now.
    """
    _move_workspaces(say)
    with exclusive_start():
        _apply_migrations(show)
        # A start that is cut off must not leave an administrator without the demo
        with transaction.atomic():
            if not get_user_model().objects.exists():
                _create_first_user(show)
    return admin_without_password_or_none()


@contextmanager
def exclusive_start() -> Iterator[None]:
    """Keeps other starts out, on a connection of its own."""
    lock = connection.copy()
    try:
        with lock.cursor() as cursor:
            # A lock of the session: freed when the connection closes, however this process ends.
            cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        yield
    finally:
        lock.close()


def _move_workspaces(say: Callable[[str], None]) -> None:
    """A better folder where a file came to lie above the last, and what lies in an earlier one."""
    move_earlier_folders(settings.WORKSPACES, settings.WORKSPACES.choose_folder_anew(), say)


def admin_without_password_or_none() -> User | None:
    user = User.objects.filter(username=ADMINISTRATOR, is_superuser=True, is_active=True).first()
    return user if user and not user.has_usable_password() else None


def _apply_migrations(show: Callable[[str], None]) -> None:
    _refuse_half_replaced_migrations()
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        show(f"Setting up the database ({len(plan)} steps) …")
        _migrate_beside_older_processes()


def _migrate_beside_older_processes() -> None:
    """Apply the migrations. One that changes several tables may meet an older process that holds one of them and waits
    for another: the migration gives way, is as if it had not begun, and is tried again. Raise CommandError where an
    older process never lets go."""
    with _short_waits_for_locks():
        for pause in MIGRATION_PAUSES:
            try:
                call_command("migrate", interactive=False, verbosity=0)
                return
            except OperationalError as error:
                if getattr(error.__cause__, "sqlstate", "") not in (DEADLOCK, LOCK_NOT_AVAILABLE):
                    raise
                reason = error
            sleep(pause)
    raise CommandError(
        f"Tables that change are in use all the time ({str(reason).strip()}). Nothing of the step that did not get them"
        " was changed. Stop the web processes and workers of the earlier version, or start this again when less is"
        " under way."
    ) from reason


@contextmanager
def _short_waits_for_locks() -> Iterator[None]:
    """Let statements of this connection wait for a lock no longer than `MIGRATION_LOCK_WAIT`."""
    if settings.DATABASE_DIRECT_URL:
        # A pooler hands what is set for a session on to others
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = %s", [MIGRATION_LOCK_WAIT])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")


def _refuse_half_replaced_migrations() -> None:
    """Raise CommandError for a database that has only some of the single steps that one migration replaced: the
    others no longer exist."""
    applied = set(MigrationRecorder(connection).applied_migrations())
    for (app, _name), schema in sorted(MigrationLoader(None).replacements.items()):
        count = len(applied & set(schema.replaces))
        if 0 < count < len(schema.replaces):
            raise CommandError(
                f"This database is in the midst of the steps of an earlier version: {app} has {count} of the"
                f" {len(schema.replaces)} steps. Nothing was changed. Back up the database, start the last version that"
                f" has {app}/migrations/{schema.replaces[-1][1]}.py once, then this one."
            )


def _create_first_user(show: Callable[[str], None]) -> None:
    show("Loading the demo project …")
    # Without a mail server mail stays in a folder here: so whoever tries Gateline sees what would be sent.
    address = f"{ADMINISTRATOR}@localhost" if settings.EMAIL_FILE_PATH else ""
    user = User(username=ADMINISTRATOR, email=address, is_staff=True, is_superuser=True)
    user.set_unusable_password()
    user.save()
    call_command("load_demo", verbosity=0)
    for project in Project.objects.all():
        Membership.objects.update_or_create(
            project=project, user=user, defaults={"roles": [Role.ADMIN], "execute": True}
        )
