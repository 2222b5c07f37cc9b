"""Repositories that are too large, or pretend to be small: each is refused in words, before memory is taken for it."""

from __future__ import annotations

import resource
import struct
import zlib
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha1
from io import BytesIO
from pathlib import Path

import pytest
from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.pack import OFS_DELTA, create_delta
from dulwich.refs import Ref
from dulwich.repo import Repo

from pipelines.work.git import sizes
from pipelines.work.git.attempt import commit_attempt, prepare_workspace
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.sizes import check_pack_sizes
from pipelines.work.workspaces import picture_of_workspace
from tests.work.remotes import FILE, FOLDER, RemoteRepository, remote
from tests.work.test_hostile_git import SAID, access

GIGABYTE = 1024**3
PIECE = 1024**2


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sizes, "MOST_OBJECT", 1000)
    yield


def entry(kind: int, size: int, data: bytes, between: bytes = b"") -> bytes:
    """One object of a pack, which says that it has this size."""
    head, rest = (kind << 4) | (size & 15), size >> 4
    text = b""
    while rest:
        text += bytes([head | 0x80])
        head, rest = rest & 0x7F, rest >> 7
    return text + bytes([head]) + between + zlib.compress(data)


def pack(*entries: bytes) -> BytesIO:
    body = b"PACK" + struct.pack(">II", 2, len(entries)) + b"".join(entries)
    return BytesIO(body + sha1(body, usedforsecurity=False).digest())


def in_file(folder: Path, made: BytesIO) -> None:
    place = folder / "a.pack"
    place.write_bytes(made.getvalue())
    with place.open("rb") as file:
        check_pack_sizes(file)


def difference(size: int) -> bytes:
    """Sixteen bytes that make a file of this size out of another one."""
    return b"".join(create_delta([b"1" * 100], [b"1" * size]))


BLOB = 3


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([entry(BLOB, 5000, b"1" * 5000)], "has a file of"),
        ([entry(BLOB, 10, b"1" * 5000)], "not as large as it says"),
        ([entry(BLOB, 900, b"1" * 500)], "not as large as it says"),
        (
            [
                entry(BLOB, 100, b"1" * 100),
                entry(
                    OFS_DELTA,
                    len(difference(5000)),
                    difference(5000),
                    bytes([len(entry(BLOB, 100, b"1" * 100))]),
                ),
            ],
            "has a file of",
        ),
    ],
)
@pytest.mark.usefixtures("small")
def test_what_a_pack_holds_is_known_before_it_is_made(tmp_path: Path, entries: list[bytes], why: str) -> None:
    with pytest.raises((GitRefused, ValueError), match=why):
        in_file(tmp_path, pack(*entries))


@pytest.mark.usefixtures("small")
def test_a_pack_that_is_as_it_says_is_taken(tmp_path: Path) -> None:
    first = entry(BLOB, 100, b"1" * 100)
    delta = difference(900)
    in_file(
        tmp_path, pack(first, entry(OFS_DELTA, len(delta), delta, bytes([len(first)])), entry(BLOB, 0, b""))
    )
    with pytest.raises(ValueError, match="does not end"):
        in_file(tmp_path, BytesIO(pack(first).getvalue() + b"more"))


@pytest.mark.parametrize(
    "endless",
    [bytes([BLOB << 4 | 0x80]) + b"\xff" * 100, entry(OFS_DELTA, 60, b"\xff" * 60, b"\x01")],
    ids=["of the object", "of what a difference makes"],
)
def test_a_size_that_does_not_end_is_left_at_once(tmp_path: Path, endless: bytes) -> None:
    with pytest.raises(ValueError, match="a number that has no end"):
        in_file(tmp_path, pack(entry(BLOB, 0, b""), endless))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("packed", [True, False])
def test_a_file_that_is_too_large_is_refused_by_its_size(tmp_path: Path, packed: bool) -> None:
    origin = remote(tmp_path / "origin.git", {"large": b"1" * 5000})
    if packed:
        with closing(Repo(str(origin.path))) as repo:
            repo.object_store.pack_loose_objects()
    with pytest.raises(GitRefused, match="has a file of 0 MB, now or in its history"):
        prepare_workspace(access(tmp_path, origin), tmp_path / "workspace", False, lambda text: None)


@pytest.mark.wide
def test_a_gigabyte_is_refused_without_the_memory_for_it(tmp_path: Path) -> None:
    origin = remote(tmp_path / "origin.git", {"a": b"1"})
    commit(origin, [(b"large", FILE, zeros(origin.path, GIGABYTE))])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(GitRefused, match=r"has a file of 1,024 MB, .* and 256 MB is the most"):
        prepare_workspace(access(tmp_path, origin), tmp_path / "workspace", False, lambda text: None)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


@pytest.mark.wide
@pytest.mark.parametrize("folders", [99, 101])
def test_a_hundred_thousand_files(tmp_path: Path, folders: int) -> None:
    """The most that is taken is laid out, and what changes in it committed; more is refused."""
    origin = remote(tmp_path / "origin.git", {"a": b"1"})
    with closing(Repo(str(origin.path))) as repo:
        blob, inner = Blob.from_string(b"1\n"), Tree()
        for number in range(1000):
            inner.add(b"file%d" % number, FILE, blob.id)
        for each in (blob, inner):
            repo.object_store.add_object(each)
    commit(origin, [(b"folder%d" % number, FOLDER, inner.id) for number in range(folders)])
    workspace = tmp_path / "attempt" / "workspace"
    workspace.mkdir(parents=True)
    if folders > 100:
        with pytest.raises(GitRefused, match="more than 100000 files"):
            prepare_workspace(access(tmp_path, origin), workspace, False, lambda text: None)
        return
    ready = prepare_workspace(access(tmp_path, origin), workspace, False, lambda text: None)
    (workspace / "folder7" / "file7").write_text("2\n")
    picture = picture_of_workspace(workspace, None, (".git",))
    _left, group, _files = commit_attempt(ready, workspace.parent, workspace, picture.manifest, SAID)
    assert group["paths"] == ["folder7/file7"]


def commit(origin: RemoteRepository, entries: list[tuple[bytes, int, ObjectID]]) -> None:
    with closing(Repo(str(origin.path))) as repo:
        tree, made = Tree(), Commit()
        for name, mode, sha in entries:
            tree.add(name, mode, sha)
        made.tree, made.author, made.committer = tree.id, b"A <a@example.com>", b"A <a@example.com>"
        made.author_time = made.commit_time = 1_700_000_000
        made.author_timezone = made.commit_timezone = 0
        made.message = b"Large"
        for each in (tree, made):
            repo.object_store.add_object(each)
        repo.refs[Ref(b"refs/heads/main")] = made.id


def zeros(repository: Path, size: int) -> ObjectID:
    """A file of nothing but zeros, as a megabyte on disk."""
    head = b"blob %d\x00" % size
    name, packed, piece = sha1(head, usedforsecurity=False), zlib.compressobj(1), bytes(PIECE)
    text = packed.compress(head)
    for _ in range(size // PIECE):
        name.update(piece)
        text += packed.compress(piece)
    sha = name.hexdigest()
    place = repository / "objects" / sha[:2] / sha[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(text + packed.flush())
    return ObjectID(sha.encode())
