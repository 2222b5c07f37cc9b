"""Copies of prepared files go from station to station: as they were made, or not at all."""

from __future__ import annotations

import os
import py_compile
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.work.worker.prepared_copies import PreparedCopies
from pipelines.work.worker.prepared_files import PreparedFiles
from pipelines.work.workspaces import Folders
from tests.waiting import until


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Folders]:
    made = Folders(tmp_path / "w", uuid.uuid4())
    yield made
    made.close()


@pytest.fixture
def stored(tmp_path: Path, folders: Folders) -> tuple[PreparedFiles, Path]:
    """Files that a command prepared, and that a station took."""
    prepared, made = PreparedFiles(tmp_path / "w", PreparedCopies(folders)), tmp_path / "made"
    (made / "deps/bin").mkdir(parents=True)
    (made / "deps/inner/deep").mkdir(parents=True)
    (made / "deps/inner/file").write_text("x" * 600)
    (made / "deps/inner/deep/file").write_text("y" * 600)
    (made / "deps/link").symlink_to("inner/file")
    (made / "deps/bin/tool").write_text(f"#!{made}/deps/bin/python")
    prepared.store_prepared_files("a", made, ("deps",))
    return prepared, tmp_path / "first"


def tick(file: Path) -> None:
    """The kernel's clock of files may stand for some milliseconds; a station takes longer to start."""
    probe = file.parents[2] / "probe"

    def is_later() -> bool:
        probe.touch()
        return probe.stat().st_ctime_ns > file.stat().st_ctime_ns

    until(is_later, "a later time")
    probe.unlink()


def left(prepared: PreparedFiles, workspace: Path, use: Callable[[Path], object]) -> int:
    """The inode of the folder that a station took, and left after this use."""
    workspace.mkdir()
    taken = prepared.fill_from_stored("a", workspace)
    assert taken is not None and taken.roots == ("deps",)
    number = (workspace / "deps").stat().st_ino
    tick(workspace / "deps/inner/file")
    use(workspace / "deps")
    prepared.keep_files_of_station(taken, workspace)
    assert list(workspace.iterdir()) == []
    return number


def test_a_copy_that_a_station_only_added_to_goes_on_without_that(
    stored: tuple[PreparedFiles, Path], tmp_path: Path
) -> None:
    prepared, first = stored

    def add(deps: Path) -> None:
        (deps / "inner" / "new").mkdir()
        (deps / "inner" / "new" / "file").write_text("")
        (deps / "inner" / "compiled.pyc").write_text("")
        (deps / "turned").symlink_to("/etc")

    def look(deps: Path) -> None:
        names = sorted(path.relative_to(deps).as_posix() for path in deps.rglob("*"))
        assert names == ["bin", "bin/tool", "inner", "inner/deep", "inner/deep/file", "inner/file", "link"]
        assert (deps / "bin/tool").read_text() == f"#!{deps}/bin/python"

    number = left(prepared, first, add)
    assert left(prepared, tmp_path / "second", look) == number, "nothing was copied"
    assert left(prepared, tmp_path / "third", look) == number, "nor looks like changed since"
    assert Path("/etc/passwd").exists()


def rewrite(deps: Path) -> None:
    was = (deps / "inner/file").stat()
    (deps / "inner/file").write_text("z" * 600)
    os.utime(deps / "inner/file", ns=(was.st_atime_ns, was.st_mtime_ns))


def replace(deps: Path) -> None:
    (deps / "inner/new").write_text("z" * 600)
    (deps / "inner/new").rename(deps / "inner/file")


def swap(deps: Path) -> None:
    (deps / "inner/deep").rename(deps / "deep")
    (deps / "inner").rename(deps / "inner2")
    (deps / "deep").rename(deps / "inner")


def turn(deps: Path) -> None:
    shutil.move(deps / "inner", deps.parent / "elsewhere")
    (deps / "inner").symlink_to(deps.parent / "elsewhere")


def label(deps: Path) -> None:
    try:
        os.setxattr(deps / "inner", "user.note", b"of another task")
    except OSError:
        # Where the file system has none, nobody can leave any
        (deps / "inner").chmod(0o777)


TOUCHES: dict[str, Callable[[Path], object]] = {
    "written, its time put back": rewrite,
    "replaced": replace,
    "linked": lambda deps: os.link(deps / "inner/file", deps / "again"),
    "made a program": lambda deps: (deps / "inner/file").chmod(0o755),
    "removed": lambda deps: (deps / "inner/file").unlink(),
    "of a link": lambda deps: ((deps / "link").unlink(), (deps / "link").symlink_to("bin/tool")),
    "a program in bin": lambda deps: (deps / "bin/tool").write_text("#!/bin/false"),
    "folders moved": swap,
    "a folder turned": turn,
    "a folder labelled": label,
    "a folder that nobody may read": lambda deps: (deps / "inner").chmod(0),
    "all of it closed": lambda deps: deps.chmod(0),
    "all of it gone": shutil.rmtree,
    "all of it turned": lambda deps: (shutil.rmtree(deps), deps.symlink_to("/etc")),
}


@pytest.mark.parametrize("touch", TOUCHES.values(), ids=TOUCHES)
def test_a_copy_of_which_a_station_changed_anything_is_made_anew(
    touch: Callable[[Path], object], stored: tuple[PreparedFiles, Path], tmp_path: Path
) -> None:
    prepared, first = stored

    def use(deps: Path) -> None:
        touch(deps)
        shutil.rmtree(deps.parent / "elsewhere", ignore_errors=True)

    def look(deps: Path) -> None:
        assert not deps.is_symlink() and {path.name for path in deps.iterdir()} == {"bin", "inner", "link"}
        assert (deps / "inner/file").read_text() == "x" * 600
        assert (deps / "inner/file").stat().st_nlink == 1
        assert (deps / "inner/file").stat().st_mode & 0o777 == 0o644
        assert (deps / "inner/deep/file").read_text() == "y" * 600
        assert os.readlink(deps / "link") == "inner/file"
        assert (deps / "bin/tool").read_text() == f"#!{deps}/bin/python"
        assert (deps / "inner").stat().st_mode & 0o777 == 0o755
        assert [name for name in os.listxattr(deps / "inner") if name.startswith("user.")] == []

    left(prepared, first, use)
    left(prepared, tmp_path / "second", look)
    assert Path("/etc/passwd").exists()


def test_copies_that_stations_left_are_bounded_together(
    stored: tuple[PreparedFiles, Path], folders: Folders, tmp_path: Path
) -> None:
    few = PreparedFiles(tmp_path / "w", PreparedCopies(folders, most=10))
    workspaces = [tmp_path / name for name in ("one", "two")]
    for workspace in workspaces:
        workspace.mkdir()
    taken = [few.fill_from_stored("a", workspace) for workspace in workspaces]
    for files, workspace in zip(taken, workspaces, strict=True):
        assert files is not None
        few.keep_files_of_station(files, workspace)
    copies = list((folders.home / "copies").iterdir())
    assert len(copies) == 1, "of eight files each"


def test_what_python_compiled_is_of_use_in_the_next_folder_except_of_what_names_its_place(
    tmp_path: Path,
) -> None:
    prepared, made, other = PreparedFiles(tmp_path / "w"), tmp_path / "made", tmp_path / "other"
    (made / "deps").mkdir(parents=True)
    other.mkdir()
    for name, text in (("plain.py", "V = 1"), ("__editable___own_finder.py", f"V = {str(made)!r}")):
        (made / "deps" / name).write_text(text)
        py_compile.compile(str(made / "deps" / name))
    prepared.store_prepared_files("a", made, ("deps",))
    assert prepared.fill_from_stored("a", other)
    source, compiled = other / "deps/plain.py", list((other / "deps/__pycache__").iterdir())
    assert [path.name.partition(".")[0] for path in compiled] == ["plain"]
    # PEP 552: the time of the source stands in bytes 8 to 12
    assert int.from_bytes(compiled[0].read_bytes()[8:12], "little") == int(source.stat().st_mtime)
    assert str(other) in (other / "deps/__editable___own_finder.py").read_text()
