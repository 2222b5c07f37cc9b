"""Folders of this server that an owner may use as repositories, as the database has it now (house §5)."""

from __future__ import annotations

from django.conf import settings

from pipelines.models import AllowedFolder, Repository, User
from pipelines.ports import server_folders
from pipelines.ports.server_folders import FolderRefused, ServerFolders


def allowed_to(owner: int) -> tuple[server_folders.PermittedFolder, ...]:
    rows = AllowedFolder.objects.filter(owner=owner).order_by("pk")
    return tuple(
        server_folders.PermittedFolder(row.path, int(row.inode), row.origin == AllowedFolder.Origin.PREPARED)
        for row in rows
    )


def folders_of(owner: int) -> ServerFolders:
    return ServerFolders(allowed_to(owner), protected(), bounds())


def protected() -> tuple[str, ...]:
    """The state and the workspaces of this installation, those of before and those of its neighbours, too."""
    choice = settings.WORKSPACES
    around = (*choice.neighbours(), *choice.earlier(), settings.BASE_DIR / ".gateline")
    return tuple(dict.fromkeys(map(str, (settings.DATA_DIR, settings.WORKSPACES_DIR, *around))))


def bounds() -> tuple[str, ...] | None:
    roots = settings.REPOSITORY_ROOTS
    return None if roots is None else tuple(map(str, roots))


def fault_of_folder(owner: int, text: str) -> str:
    """Say why a folder may not be used, or ""."""
    try:
        folders_of(owner).resolved(text)
    except FolderRefused as refused:
        return str(refused)
    return ""


def sees_paths(person: User | None) -> bool:
    """Say whether somebody may see where folders of the server lie: administrators of the installation."""
    return person is not None and person.is_active and person.is_staff


def shown(repository: Repository, person: User | None) -> str:
    """The address as this person may see it: of a folder only its name."""
    return repository.address if sees_paths(person) else repository.title
