"""What every kind of artifact store does, tried on a folder and on a bucket of a real server."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest

from pipelines.work import storage
from pipelines.work.artifact_stores.folder import FolderStore
from pipelines.work.artifact_stores.s3 import S3Store
from pipelines.work.artifact_stores.store import ArtifactStore, WrongContent
from pipelines.work.file_measure import PIECE
from tests.fixtures.bucket import BUCKET, BucketServer

CONTENT = bytes(range(256)) * 10_000


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def put(store: ArtifactStore, content: bytes = CONTENT) -> str:
    return storage.save_bytes_and_return_name(store, digest_of(content), io.BytesIO(content))


@pytest.fixture
def server(request: pytest.FixtureRequest, artifact_store: ArtifactStore) -> BucketServer | None:
    return request.getfixturevalue("bucket_server") if isinstance(artifact_store, S3Store) else None


def damage(store: ArtifactStore, name: str, content: bytes, server: BucketServer | None) -> None:
    """Put other bytes in its place, past the product."""
    if isinstance(store, FolderStore):
        Path(store.path(name)).write_bytes(content)
    else:
        assert isinstance(store, S3Store) and server is not None
        assert server.call("PUT", f"{BUCKET}/{store._prefix}{name}", content).status_code == 200


@pytest.mark.parametrize("content", [CONTENT, b"", b"x"], ids=["large", "empty", "one"])
def test_bytes_come_back_as_they_went(artifact_store: ArtifactStore, content: bytes, tmp_path: Path) -> None:
    name = put(artifact_store, content)
    assert (artifact_store.exists(name), artifact_store.size(name)) == (True, len(content))
    with artifact_store.open(name, "rb") as file:
        assert file.read() == content
    storage.copy_stored_bytes(artifact_store, name, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == content
    artifact_store.delete(name)
    artifact_store.delete(name)
    assert not artifact_store.exists(name)
    with pytest.raises(FileNotFoundError):
        artifact_store.open(name, "rb").read()


@pytest.mark.parametrize("change", ["a byte", "longer", "shorter"])
def test_bytes_that_are_not_those_of_their_digest_are_not_handed_out(
    artifact_store: ArtifactStore, server: BucketServer | None, change: str
) -> None:
    name = put(artifact_store)
    other = {"a byte": b"\x01" + CONTENT[1:], "longer": CONTENT + b"x", "shorter": CONTENT[:-1]}[change]
    damage(artifact_store, name, other, server)
    received = bytearray()
    with artifact_store.open(name, "rb") as file, pytest.raises(WrongContent) as refused:
        while piece := file.read(PIECE):
            received += piece
    assert name in str(refused.value) and "backup" in str(refused.value)
    # Whoever is sent what was read so far sees that it is not all
    assert len(received) < len(other)


def test_the_beginning_of_a_file_can_be_read_by_itself(artifact_store: ArtifactStore) -> None:
    with artifact_store.open(put(artifact_store), "rb") as file:
        assert file.read(300) == CONTENT[:300]
        assert file.read(10) == CONTENT[300:310]


def test_what_came_to_a_name_is_compared_with_digest_and_size(
    artifact_store: ArtifactStore, server: BucketServer | None
) -> None:
    digest, size = digest_of(CONTENT), len(CONTENT)
    name = put(artifact_store)
    artifact_store.verify(name, digest, size)
    with pytest.raises(WrongContent, match=rf"has {size} bytes in place of {size + 1}"):
        artifact_store.verify(name, digest, size + 1)
    # By somebody who told the store no checksum: it is read through
    damage(artifact_store, name, bytes(size), server)
    with pytest.raises(WrongContent, match="damaged"):
        artifact_store.verify(name, digest, size)
    artifact_store.delete(name)
    with pytest.raises(FileNotFoundError):
        artifact_store.verify(name, digest, size)
