"""Folders of this server that an owner may use as repositories, as the database has it now (house §5)."""

from __future__ import annotations

from django.conf import settings

from pipelines.models import AllowedFolder, Repository, User
from pipelines.ports import server_folders
from pipelines.ports.server_folders import FolderRefused, ServerFolders


def permitted_folders(owner: int) -> tuple[server_folders.PermittedFolder, ...]:
    rows = AllowedFolder.objects.filter(owner=owner).order_by("pk")
    return tuple(
        server_folders.PermittedFolder(row.path, int(row.inode), row.origin == AllowedFolder.Origin.PREPARED)
        for row in rows
    )


def server_folders_of_owner(owner: int) -> ServerFolders:
    return ServerFolders(permitted_folders(owner), protected_folders(), repository_root_paths_or_none())


def protected_folders() -> tuple[str, ...]:
    """The state and the workspaces of this installation, those of before and those of its neighbours, too."""
    choice = settings.WORKSPACES
    around = (
        *choice.folders_of_other_checkouts(),
        *choice.earlier_folders(),
        settings.BASE_DIR / ".gateline",
    )
    return tuple(dict.fromkeys(map(str, (settings.DATA_DIR, settings.WORKSPACES_DIR, *around))))


def repository_root_paths_or_none() -> tuple[str, ...] | None:
    roots = settings.REPOSITORY_ROOTS
    return None if roots is None else tuple(map(str, roots))


def reason_against_folder(owner: int, text: str) -> str:
    """Return why a folder may not be used, or ""."""
    try:
        server_folders_of_owner(owner).allowed_real_folder(text)
    except FolderRefused as refused:
        return str(refused)
    return ""


def may_see_server_folders(person: User | None) -> bool:
    """Say whether somebody may see where folders of the server lie: administrators of the installation."""
    return person is not None and person.is_active and person.is_staff


def displayed_address(repository: Repository, person: User | None) -> str:
    """Return the repository's address as this person may see it: of a folder of the server only its name."""
    return repository.address if may_see_server_folders(person) else repository.title
