"""Git LFS: files instead of pointers for stations and reviewers, objects on their server before the merge."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from dulwich.porcelain import status

from pipelines.work.git.lfs import batch_api
from pipelines.work.git.lfs.pointers import LfsAttributes, Pointer, parsed_pointer_or_none
from pipelines.work.git.refusals import GitRefused
from pipelines.work.outgoing.guard import Guard
from tests.work.large.conftest import LISTED, TOKEN, Visits
from tests.work.large.git_host import GitHost, git_host
from tests.work.remotes import RemoteRepository, folders, remote

ATTRIBUTES = b"*.bin filter=lfs diff=lfs merge=lfs -text\n"
PICTURE, OTHER = b"\x89PNG" + bytes(5000), b"\x89PNG another" + bytes(9000)


def pointer_of(content: bytes) -> Pointer:
    return Pointer(sha256(content).hexdigest(), len(content))


def origin_in(folder: Path, **more: bytes) -> RemoteRepository:
    files = {".gitattributes": ATTRIBUTES, "art/logo.bin": pointer_of(PICTURE).text, "app.py": b"x = 1\n"}
    return remote(folder, {**files, **more})


def store_beside(origin: RemoteRepository, content: bytes) -> None:
    oid = sha256(content).hexdigest()
    place = origin.path / "lfs/objects" / oid[:2] / oid[2:4] / oid
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


@pytest.fixture
def folder(tmp_path: Path) -> tuple[RemoteRepository, Visits]:
    origin = origin_in(tmp_path / "origin.git")
    store_beside(origin, PICTURE)
    return origin, Visits(tmp_path, str(origin.path), folders=folders(origin.path))


@pytest.fixture
def served(host: GitHost, tmp_path: Path) -> tuple[RemoteRepository, Visits]:
    origin = origin_in(tmp_path / "host/app.git")
    host.objects[sha256(PICTURE).hexdigest()] = PICTURE
    return origin, Visits(tmp_path, host.url("app.git"), TOKEN)


@pytest.fixture(params=["folder", "served"])
def task(request: pytest.FixtureRequest) -> tuple[RemoteRepository, Visits]:
    found: tuple[RemoteRepository, Visits] = request.getfixturevalue(request.param)
    return found


def has_object(origin: RemoteRepository, host: GitHost | None, content: bytes) -> bool:
    oid = sha256(content).hexdigest()
    beside = origin.path / "lfs/objects" / oid[:2] / oid[2:4] / oid
    return (host is not None and host.objects.get(oid) == content) or (
        beside.is_file() and beside.read_bytes() == content
    )


def test_a_task_works_on_files_and_lands_pointers(
    request: pytest.FixtureRequest, task: tuple[RemoteRepository, Visits]
) -> None:
    origin, visits = task
    host = request.getfixturevalue("host") if visits.credential else None
    ready, workspace = visits.begin()
    assert (workspace / "art/logo.bin").read_bytes() == PICTURE
    (workspace / "art/logo.bin").write_bytes(OTHER)
    (workspace / "art/new.bin").write_bytes(b"new" * 700)
    visits.end(ready, workspace)
    # Reviewers see the files, before and after
    assert visits.shown()["art/logo.bin"]["digest"] == sha256(OTHER).hexdigest()
    assert visits.left is not None
    before = visits.left.before["art/logo.bin"]
    assert (before["digest"], before["size"]) == (sha256(PICTURE).hexdigest(), len(PICTURE))
    assert visits.files[before["digest"]].read_bytes() == PICTURE
    assert visits.facts["paths"] == ["art/logo.bin", "art/new.bin"]
    assert (visits.facts["insertions"], visits.facts["deletions"]) == (0, 0)
    landed = visits.deliver()
    assert landed.tree == visits.state.tree == origin.commit().tree.decode()
    files = origin.files()
    assert files["art/logo.bin"] == pointer_of(OTHER).text
    assert files["art/new.bin"] == pointer_of(b"new" * 700).text
    assert has_object(origin, host, OTHER) and has_object(origin, host, b"new" * 700)


def test_what_was_not_changed_is_not_committed(task: tuple[RemoteRepository, Visits]) -> None:
    _origin, visits = task
    ready, workspace = visits.begin()
    visits.end(ready, workspace)
    assert visits.facts["paths"] == [] and visits.facts["head"] == visits.facts["base"]


def test_another_machine_goes_on_and_every_visit_is_published(
    tmp_path: Path, folder: tuple[RemoteRepository, Visits]
) -> None:
    origin, visits = folder
    for content in (OTHER, b"third" * 1000):
        ready, workspace = visits.begin()
        (workspace / "art/logo.bin").write_bytes(content)
        visits.end(ready, workspace)
    far = visits.elsewhere(tmp_path / "far")
    ready, workspace = far.begin()
    assert (workspace / "art/logo.bin").read_bytes() == b"third" * 1000
    far.end(ready, workspace)
    asked: list[str] = []

    def find(digests: Iterable[str]) -> dict[str, str]:
        asked.extend(digests)
        return {digest: str(far.files[digest]) for digest in digests}

    far.files.pop(sha256(b"third" * 1000).hexdigest())
    far.files[sha256(OTHER).hexdigest()] = tmp_path / "other"
    (tmp_path / "other").write_bytes(OTHER)
    far.deliver(find=find)
    assert asked == [sha256(OTHER).hexdigest()]
    assert has_object(origin, None, OTHER) and has_object(origin, None, b"third" * 1000)


def test_of_one_squashed_commit_only_what_it_has_is_published(
    folder: tuple[RemoteRepository, Visits],
) -> None:
    origin, visits = folder
    visits.commit = "squash"
    for content in (OTHER, b"third" * 1000):
        ready, workspace = visits.begin()
        (workspace / "art/logo.bin").write_bytes(content)
        visits.end(ready, workspace)
    visits.deliver()
    assert has_object(origin, None, b"third" * 1000) and not has_object(origin, None, OTHER)


def test_a_pointer_that_a_git_without_lfs_checked_out_stands_for_its_file(
    folder: tuple[RemoteRepository, Visits],
) -> None:
    """`git stash` or `git checkout .` of an agent whose git has no LFS."""
    _origin, visits = folder
    ready, workspace = visits.begin()
    (workspace / "art/logo.bin").write_bytes(pointer_of(PICTURE).text)
    visits.end(ready, workspace)
    assert visits.facts["paths"] == []
    assert visits.shown()["art/logo.bin"]["digest"] == sha256(PICTURE).hexdigest()
    assert (workspace / "art/logo.bin").read_bytes() == PICTURE


def test_a_pointer_to_what_nobody_has_is_refused(task: tuple[RemoteRepository, Visits]) -> None:
    _origin, visits = task
    ready, workspace = visits.begin()
    (workspace / "art/made-up.bin").write_bytes(Pointer("0" * 64, 12345).text)
    with pytest.raises(
        GitRefused, match=r"art/made-up\.bin, only its pointer of Git LFS.* put the file itself"
    ):
        visits.end(ready, workspace)


def test_what_was_committed_as_it_is_stays_so_until_it_changes(tmp_path: Path) -> None:
    origin = origin_in(tmp_path / "origin.git", **{"plain.bin": b"no pointer"})
    store_beside(origin, PICTURE)
    visits = Visits(tmp_path, str(origin.path), folders=folders(origin.path))
    ready, workspace = visits.begin()
    (workspace / "app.py").write_text("x = 2\n")
    visits.end(ready, workspace)
    assert visits.facts["paths"] == ["app.py"]
    ready, workspace = visits.begin(workspace)
    (workspace / "plain.bin").write_bytes(b"changed")
    visits.end(ready, workspace)
    visits.deliver()
    assert origin.files()["plain.bin"] == pointer_of(b"changed").text


def test_the_git_of_a_station_sees_no_change(folder: tuple[RemoteRepository, Visits]) -> None:
    _origin, visits = folder
    _ready, workspace = visits.begin()
    assert not status(str(workspace)).unstaged and not status(str(workspace)).untracked


# The server


def test_a_token_goes_to_the_host_of_the_repository_alone(host: GitHost, tmp_path: Path) -> None:
    other = b"[lfs]\n\turl = https://127.0.0.1:9/elsewhere/info/lfs\n"
    origin_in(tmp_path / "host/app.git", **{".lfsconfig": other})
    visits = Visits(tmp_path, host.url("app.git"), TOKEN, guard=Guard(("localhost", "127.0.0.1")))
    with pytest.raises(GitRefused, match=r"Git LFS could not be reached"):
        visits.begin()
    assert all(call.authorization for call in host.calls) and not host.lfs_calls()


@pytest.mark.parametrize(
    "url",
    ["https://download:download@lfs.example/x", "http://lfs.example/x", "ssh://lfs.example/x", "-x", "/etc"],
)
def test_a_server_that_lfsconfig_may_not_name(host: GitHost, tmp_path: Path, url: str) -> None:
    origin_in(tmp_path / "host/app.git", **{".lfsconfig": f"[lfs]\n\turl = {url}\n".encode()})
    with pytest.raises(
        GitRefused, match=r"The url in \.lfsconfig is no https address without user and"
    ) as refused:
        Visits(tmp_path, host.url("app.git"), TOKEN).begin()
    assert url not in str(refused.value)


def test_what_a_task_writes_into_lfsconfig_counts_for_nothing(
    served: tuple[RemoteRepository, Visits], host: GitHost
) -> None:
    origin, visits = served
    ready, workspace = visits.begin()
    (workspace / ".lfsconfig").write_text("[lfs]\n\turl = https://10.0.0.5/all/info/lfs\n")
    (workspace / "art/logo.bin").write_bytes(OTHER)
    visits.end(ready, workspace)
    assert visits.deliver().tree == origin.commit().tree.decode()
    assert host.objects[sha256(OTHER).hexdigest()] == OTHER


def test_the_batch_api_is_asked_with_the_token_and_addresses_elsewhere_get_none(
    served: tuple[RemoteRepository, Visits], host: GitHost, authority: Any, tmp_path: Path
) -> None:
    _origin, visits = served
    (tmp_path / "store").mkdir()
    with git_host(tmp_path / "store", authority.server) as store:
        store.objects = host.objects

        def mend(answer: dict[str, Any]) -> Any:
            for entry in answer["objects"]:
                action = entry["actions"]["download"]
                action["href"] = store.url(f"x/info/lfs/objects/{entry['oid']}")
                action["header"] = {"X-Key": "of this object"}
            return answer

        host.mend = mend
        _ready, workspace = visits.begin()
        assert (workspace / "art/logo.bin").read_bytes() == PICTURE
        assert [call.authorization for call in store.calls] == [""]
        assert store.calls[0].headers["x_key"] == "of this object"
    batch = next(call for call in host.calls if call.path.endswith("/objects/batch"))
    assert batch.authorization and batch.path == "/app.git/info/lfs/objects/batch"


def of_download(change: dict[str, Any]) -> Any:
    def mend(answer: dict[str, Any]) -> Any:
        for entry in answer["objects"]:
            entry["actions"]["download"] |= change
        return answer

    return mend


def endless(_oid: str) -> Iterable[bytes]:
    while True:
        yield bytes(65536)


HOSTILE: dict[str, tuple[Any, Any, str]] = {
    "an address inside the network": (
        of_download({"href": "https://10.0.0.5/secret"}),
        None,
        r"private address 10\.0\.0\.5",
    ),
    "the machine itself": (
        of_download({"href": "https://127.0.0.1:5432/"}),
        None,
        r"private address 127\.0\.0\.1",
    ),
    "no https": (of_download({"href": "http://localhost/x"}), None, "that is not https"),
    "a file": (of_download({"href": "file:///etc/passwd"}), None, "that is not https"),
    "no address": (of_download({"href": 7}), None, "names no address"),
    "a header of two lines": (
        of_download({"header": {"X-A": "1\r\nHost: evil"}}),
        None,
        "header that cannot be sent",
    ),
    "a header without a name": (of_download({"header": {"a b": "1"}}), None, "header that cannot be sent"),
    "too many headers": (
        of_download({"header": {f"x-{n}": "1" for n in range(50)}}),
        None,
        "names no address",
    ),
    "another object": (
        lambda answer: {**answer, "objects": [{"oid": "1" * 64, "size": 1}]},
        None,
        "nobody asked for",
    ),
    "the same object twice": (
        lambda answer: {**answer, "objects": answer["objects"] * 2},
        None,
        "nobody asked for",
    ),
    "nothing": (lambda answer: {"objects": []}, None, "does not say where all objects are"),
    "another transfer": (lambda answer: {**answer, "transfer": "ssh"}, None, "basic is"),
    "a list": (lambda answer: [1], None, "does not answer as one of Git LFS does"),
    "too long an answer": (lambda answer: {"x": "y" * 5_000_000}, None, "answers with too much"),
    "an endless object": (lambda answer: answer, endless, "sends more than"),
    "another content": (
        lambda answer: answer,
        lambda oid: [b"x" * len(PICTURE)],
        "another size or digest",
    ),
    "half an object": (lambda answer: answer, lambda oid: [PICTURE[:10]], "another size or digest"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_server_that_wants_more_than_to_serve_is_refused(
    served: tuple[RemoteRepository, Visits], host: GitHost, tmp_path: Path, case: str
) -> None:
    host.mend, host.contents, words = HOSTILE[case]
    _origin, visits = served
    with pytest.raises(GitRefused, match=words) as refused:
        visits.begin()
    assert TOKEN not in str(refused.value)
    objects = [path for path in (tmp_path / "spaces").rglob("lfs/**/*") if path.is_file()]
    assert objects == []


def test_what_is_too_large_is_refused_by_its_pointer(
    served: tuple[RemoteRepository, Visits], host: GitHost
) -> None:
    origin, visits = served
    origin.add({".gitattributes": ATTRIBUTES, "film.bin": Pointer("1" * 64, 3 * 1024**3).text})
    with pytest.raises(GitRefused, match=r"film\.bin has more than 2048 MB"):
        visits.begin()
    many = {f"{n}.bin": Pointer(f"{n:064x}", 1024**3).text for n in range(3)}
    origin.add({".gitattributes": ATTRIBUTES, **many})
    with pytest.raises(GitRefused, match="more than 2048 MB together"):
        visits.begin()
    assert not host.lfs_calls()


def test_what_the_server_does_not_take_is_not_merged(
    served: tuple[RemoteRepository, Visits], host: GitHost
) -> None:
    origin, visits = served
    ready, workspace = visits.begin()
    (workspace / "art/logo.bin").write_bytes(OTHER)
    visits.end(ready, workspace)
    stood = origin.head()

    def mend(answer: dict[str, Any]) -> Any:
        for entry in answer["objects"]:
            entry["error"] = {"code": 422, "message": "No room"}
        return answer

    host.mend = mend
    with pytest.raises(GitRefused, match=r"does not take art/logo\.bin: 422 No room") as refused:
        visits.deliver()
    assert refused.value.failure_type == "push_refused" and origin.head() == stood


def test_a_server_of_many_objects_is_asked_in_parts(
    served: tuple[RemoteRepository, Visits], host: GitHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_api, "MOST_OBJECTS", 4)
    origin, visits = served
    contents = {f"{n}.bin": b"content %d" % n * 200 for n in range(9)}
    origin.add(
        {".gitattributes": ATTRIBUTES, **{name: pointer_of(data).text for name, data in contents.items()}}
    )
    host.objects |= {sha256(data).hexdigest(): data for data in contents.values()}
    _ready, workspace = visits.begin()
    assert {name: (workspace / name).read_bytes() for name in contents} == contents
    assert len([call for call in host.calls if call.path.endswith("/batch")]) == 3


def test_a_private_host_is_asked_for_no_object(served: tuple[RemoteRepository, Visits]) -> None:
    _origin, visits = served
    visits.guard = Guard()
    with pytest.raises(GitRefused, match="private address"):
        visits.begin()
    assert LISTED.private_hosts == ("localhost",)


def test_objects_beside_a_repository_are_no_links(
    tmp_path: Path, folder: tuple[RemoteRepository, Visits]
) -> None:
    origin, visits = folder
    oid = sha256(PICTURE).hexdigest()
    place = origin.path / "lfs/objects" / oid[:2] / oid[2:4] / oid
    (tmp_path / "secret").write_bytes(PICTURE)
    place.unlink()
    place.symlink_to(tmp_path / "secret")
    with pytest.raises(GitRefused, match="Parts of this repository lie outside of its folder"):
        visits.begin()


# Pointers and attributes


@pytest.mark.parametrize(
    ("text", "is_pointer"),
    [
        (pointer_of(PICTURE).text, True),
        (pointer_of(PICTURE).text.rstrip(b"\n"), True),
        (pointer_of(PICTURE).text + b"more\n", False),
        (pointer_of(PICTURE).text.replace(b"sha256", b"md5"), False),
        (pointer_of(PICTURE).text.replace(b"size ", b"size -"), False),
        (pointer_of(PICTURE).text.replace(b"size ", b"size 0"), False),
        (b"version https://git-lfs.github.com/spec/v1\n", False),
        (b"", False),
    ],
)
def test_what_a_pointer_is(text: bytes, is_pointer: bool) -> None:
    assert (parsed_pointer_or_none(text) is not None) is is_pointer


@pytest.mark.parametrize(
    ("files", "kept"),
    [
        ({".gitattributes": b"*.bin filter=lfs\n"}, {"a.bin", "deep/er/a.bin"}),
        ({".gitattributes": b"# *.bin filter=lfs\n"}, set()),
        ({".gitattributes": b"*.bin filter=lfs\n*.bin -filter\n"}, set()),
        ({".gitattributes": b"*.bin filter=lfs\n*.bin text\n"}, {"a.bin", "deep/er/a.bin"}),
        ({".gitattributes": b"*.bin filter=lfs\n", "deep/.gitattributes": b"*.bin !filter\n"}, {"a.bin"}),
        ({"deep/.gitattributes": b"er/** filter=lfs\n"}, {"deep/er/a.bin", "deep/er/a b.txt"}),
        ({".gitattributes": b"/a.bin filter=lfs\n"}, {"a.bin"}),
        ({".gitattributes": b'"deep/er/a b.txt" filter=lfs\n'}, {"deep/er/a b.txt"}),
        ({".gitattributes": b"deep/er/a[[:space:]]b.txt filter=lfs\n"}, {"deep/er/a b.txt"}),
        ({".gitattributes": b"*.bin filter=crypt\n"}, set()),
        ({".gitattributes": b"*.bin xfilter=lfs\n"}, set()),
    ],
)
def test_which_files_lfs_keeps(files: dict[str, bytes], kept: set[str]) -> None:
    attributes = LfsAttributes(lambda path: files.get(path, b""))
    paths = ("a.bin", "deep/er/a.bin", "deep/er/a b.txt", "c.txt")
    assert {path for path in paths if attributes.is_kept_by_lfs(path)} == kept
