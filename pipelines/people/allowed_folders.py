"""Allowing folders of this server for an owner, and revoking it. Only administrators of the installation may."""

from __future__ import annotations

import os
from datetime import datetime

from django.db import transaction

from pipelines.errors import Forbidden, Invalid
from pipelines.models import AllowedFolder, Owner, User
from pipelines.ports import audit
from pipelines.ports.server_folders import FolderRefused
from pipelines.queries.allowed_folders import may_see_server_folders, server_folders_of_owner
from pipelines.routing.basics.problems import Problem


class FolderToAllow(Invalid):
    """An administrator is asked whether to allow the folder, given without links. `obstacle`: why nothing can be merged
    into it as it is now, or ""."""

    obstacle = ""

    def __init__(self, problem: Problem, folder: str) -> None:
        super().__init__([problem])
        self.folder = folder


def question_to_allow_folder(owner: Owner, text: str) -> FolderToAllow:
    """Return the error that asks an administrator whether to allow the folder. Raises Invalid if nobody can
    allow it."""
    try:
        folder = server_folders_of_owner(owner.pk).permitted_folder_of_path(text)
    except FolderRefused as refused:
        raise Invalid.at("address", str(refused)) from refused
    message = f"This folder is not allowed for the owner {owner.name} yet."
    problem = Problem("address", message, 'Allow it on the page, or send "allow": true.')
    return FolderToAllow(problem, folder.path)


def allow_folder(owner: Owner, text: str, *, by: User, now: datetime) -> AllowedFolder:
    """Raises Forbidden, Invalid. Allowing again records the folder as it is now."""
    if not may_see_server_folders(by):
        raise Forbidden
    try:
        folder = server_folders_of_owner(owner.pk).permitted_folder_of_path(text)
    except FolderRefused as refused:
        raise Invalid.at("address", str(refused)) from refused
    # By device and inode it is told when another folder was put in its place
    device = os.stat(folder.path).st_dev
    with transaction.atomic():
        row, _made = AllowedFolder.objects.update_or_create(
            owner=owner,
            path=folder.path,
            defaults={
                "device": device,
                "inode": folder.inode,
                "origin": AllowedFolder.Origin.ADMINISTRATOR,
                "allowed_by": by,
                "allowed_at": now,
            },
        )
        _record_in_audit("folder.allowed", row, by, now)
    return row


def record_prepared_folder(owner: Owner, path: str, *, now: datetime) -> None:
    """Record a repository that Gateline made for this owner. Callers name only what they made."""
    # As it is compared later: by what a link leads to, and by the inode of that
    folder = os.path.realpath(path)
    status = os.stat(folder)
    AllowedFolder.objects.update_or_create(
        owner=owner,
        path=folder,
        defaults={
            "device": status.st_dev,
            "inode": status.st_ino,
            "origin": AllowedFolder.Origin.PREPARED,
            "allowed_by": None,
            "allowed_at": now,
        },
    )


def revoke_folder(row: AllowedFolder, *, by: User, now: datetime) -> None:
    """Tasks that work in it fail from their next station on. Raises Forbidden."""
    if not may_see_server_folders(by):
        raise Forbidden
    with transaction.atomic():
        _record_in_audit("folder.revoked", row, by, now)
        row.delete()


def _record_in_audit(kind: str, row: AllowedFolder, by: User, now: datetime) -> None:
    """An act of the installation: members of a project do not see it, for it names a path."""
    audit.record_administrative_act(
        kind,
        by=by,
        at=now,
        about=f"owner:{row.owner_id}",
        name=row.path,
        owner=row.owner.key,
        path=row.path,
        device=str(row.device),
        inode=str(row.inode),
    )
