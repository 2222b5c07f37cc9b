"""Folders of attempts, and pictures of what is in them."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

from pipelines.work import workspaces
from pipelines.work.workspace_folder.folders import remove_folder
from pipelines.work.workspaces import (
    Folders,
    ReusableFolder,
    WorkspaceTooLarge,
    picture_of_workspace,
    restore_workspace,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "from"
    (root / "sub" / "empty").mkdir(parents=True)
    (root / "a.txt").write_text("one")
    (root / "sub" / "tool").write_text("#!/bin/sh\n")
    (root / "sub" / "tool").chmod(0o755)
    (root / "sub" / "same.txt").write_text("one")
    (root / "link").symlink_to("sub/tool")
    (root / "out").symlink_to("/etc/passwd")
    return root


def rebuilt(source: Path, target: Path) -> Path:
    picture = picture_of_workspace(source)
    content = {entry["digest"]: source / entry["path"] for entry in picture.manifest if "digest" in entry}
    target.mkdir()
    restore_workspace(
        picture.manifest, target, lambda digest, path: path.write_bytes(content[digest].read_bytes())
    )
    return target


def test_what_is_restored_is_what_was_there(folder: Path, tmp_path: Path) -> None:
    target = rebuilt(folder, tmp_path / "to")
    assert picture_of_workspace(target).manifest == picture_of_workspace(folder).manifest
    assert os.readlink(target / "out") == "/etc/passwd"
    assert os.access(target / "sub" / "tool", os.X_OK)
    assert (target / "sub" / "empty").is_dir()


def test_a_folder_that_nobody_may_write_is_restored_too(folder: Path, tmp_path: Path) -> None:
    (folder / "sub").chmod(0o555)
    target = rebuilt(folder, tmp_path / "to")
    assert (target / "sub").stat().st_mode & 0o777 == 0o555
    remove_folder(target)
    assert not target.exists()


def test_the_same_content_has_the_same_digest_wherever_it_lies(folder: Path, tmp_path: Path) -> None:
    target = rebuilt(folder, tmp_path / "to")
    assert picture_of_workspace(target).digest == picture_of_workspace(folder).digest
    (target / "a.txt").write_text("two")
    assert picture_of_workspace(target).digest != picture_of_workspace(folder).digest


def test_what_did_not_change_is_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = picture_of_workspace(folder)
    (folder / "a.txt").write_text("changed")
    read: list[str] = []
    digest_of_file = workspaces.digest_of_file
    monkeypatch.setattr(
        workspaces, "digest_of_file", lambda path: (read.append(path.name), digest_of_file(path))[1]
    )
    second = picture_of_workspace(folder, first.stamps)
    assert read == ["a.txt"]
    assert second.digest == picture_of_workspace(folder).digest


def test_a_file_that_was_put_back_in_time_is_read_again(folder: Path) -> None:
    first = picture_of_workspace(folder)
    before = (folder / "a.txt").stat()
    (folder / "a.txt").write_text("two")
    os.utime(folder / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert picture_of_workspace(folder, first.stamps).digest != first.digest


def test_pipes_are_left_out_and_named(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert picture_of_workspace(folder).skipped == ("pipe",)


def test_a_workspace_that_is_too_large_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspaces, "MOST_BYTES", 10)
    with pytest.raises(WorkspaceTooLarge):
        picture_of_workspace(folder)


def kept(folders: Folders, digest: str) -> ReusableFolder:
    attempt = folders.attempt_folder(7, 1, 1)
    folders.make_attempt_folders(attempt)
    (attempt.workspace / "file").write_text("mine")
    return ReusableFolder(attempt, digest, {})


def test_the_next_attempt_takes_over_the_folder_if_it_is_the_last_snapshot(tmp_path: Path) -> None:
    folders = Folders(tmp_path, uuid.uuid4())
    old = kept(folders, "d1")
    folders.keep_folder_of_task(7, old)
    new = folders.attempt_folder(7, 2, 1)
    folders.make_attempt_folders(new)
    assert folders.reuse_folder_or_none(7, "d1", new) == old
    assert (new.workspace / "file").read_text() == "mine"
    assert not old.attempt.root.exists()


def test_a_folder_that_is_not_the_last_snapshot_is_thrown_away(tmp_path: Path) -> None:
    folders = Folders(tmp_path, uuid.uuid4())
    old = kept(folders, "d1")
    folders.keep_folder_of_task(7, old)
    new = folders.attempt_folder(7, 2, 1)
    folders.make_attempt_folders(new)
    assert folders.reuse_folder_or_none(7, "another", new) is None
    assert not old.attempt.root.exists()
    assert list(new.workspace.iterdir()) == []


def test_folders_of_the_dead_are_removed_and_those_of_the_living_are_not(tmp_path: Path) -> None:
    alive, dead = Folders(tmp_path, uuid.uuid4()), Folders(tmp_path, uuid.uuid4())
    dead._lock.close()  # what the kernel does when a process is killed
    third = Folders(tmp_path, uuid.uuid4())
    assert third.remove_folders_of_dead_workers() == [dead.home.name]
    assert alive.home.exists()
    assert not dead.home.exists()


def test_only_as_many_folders_are_kept_as_allowed(tmp_path: Path) -> None:
    folders = Folders(tmp_path, uuid.uuid4(), keep=2)
    for task in range(3):
        attempt = folders.attempt_folder(task, 1, 1)
        folders.make_attempt_folders(attempt)
        folders.keep_folder_of_task(task, ReusableFolder(attempt, "d", {}))
    assert not (folders.home / "0" / "1.1").exists()
    assert (folders.home / "2" / "1.1").exists()
