"""A bucket: signatures, what an address permits, and what its refusals say."""

from __future__ import annotations

import hashlib
import io
import select
import socket
import socketserver
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from pipelines.work import storage
from pipelines.work.artifact_stores import s3
from pipelines.work.artifact_stores.s3 import S3Store
from pipelines.work.artifact_stores.s3_signing import S3Keys, signed_url
from pipelines.work.artifact_stores.store import ArtifactStore, SignedAddress, StoreAway, StoreFailed
from pipelines.work.artifact_stores.table import storage_settings
from tests.fixtures.bucket import READER, BucketServer, use_store
from tests.fixtures.site import free_port

CONTENT = b"content of the station " * 100
DIGEST = hashlib.sha256(CONTENT).hexdigest()


def test_the_signature_is_that_of_the_published_example() -> None:
    """Of “Authenticating Requests: Using Query Parameters”, Amazon S3's own reference."""
    keys = S3Keys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    url = "https://examplebucket.s3.amazonaws.com/test.txt"
    signed = signed_url(keys, "us-east-1", "GET", url, {}, 86400, datetime(2013, 5, 24, tzinfo=UTC))
    assert signed.endswith("=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    assert keys.secret_key not in repr(keys)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ftp://host/x", "begins with file:// or s3://"),
        ("/srv/artifacts", "begins with file:// or s3://"),
        ("file://srv/artifacts", "file:///srv/gateline/artifacts"),
        ("s3:///prefix", "s3://bucket/prefix"),
        ("s3://bucket/?endpont=https://a.example", "s3://bucket/prefix"),
        ("s3://bucket/?endpoint=a.example", "endpoint is an address"),
        ("s3://bucket/?endpoint=https://a.example&public=ftp://a", "public is an address"),
        ("s3://key:secret@bucket/", "holds no credential"),
    ],
)
def test_a_wrong_address_says_how_it_is_written(address: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("?", r"\?")):
        storage_settings(address)


def test_without_an_endpoint_it_is_amazons() -> None:
    store = S3Store(**storage_settings("s3://bucket/a/b/?region=eu-central-1")["OPTIONS"])
    assert (store.base, store._prefix) == ("https://bucket.s3.eu-central-1.amazonaws.com", "a/b/")


# Addresses


def put(address: SignedAddress, content: bytes, url: str = "", **headers: str | None) -> httpx2.Response:
    sent = {**address.headers, **{name.replace("_", "-"): text for name, text in headers.items()}}
    kept = {name: text for name, text in sent.items() if text is not None}
    return httpx2.put(url or address.url, content=iter([content]), headers=kept)


def test_an_address_takes_its_bytes_once(in_bucket: ArtifactStore) -> None:
    name = storage.new_storage_name(DIGEST)
    address = in_bucket.upload_address(name, DIGEST, len(CONTENT))
    assert put(address, CONTENT).status_code == 200
    in_bucket.verify(name, DIGEST, len(CONTENT))
    assert put(address, CONTENT).status_code == 412
    with in_bucket.open(name, "rb") as file:
        assert file.read() == CONTENT


OTHER: dict[str, Callable[[SignedAddress], httpx2.Response]] = {
    "other bytes": lambda address: put(address, CONTENT[::-1]),
    "more bytes": lambda address: put(address, CONTENT + b"x", content_length=str(len(CONTENT) + 1)),
    "fewer bytes": lambda address: put(address, CONTENT[:-1], content_length=str(len(CONTENT) - 1)),
    "no checksum": lambda address: put(address, CONTENT, x_amz_checksum_sha256=None),
    "another checksum": lambda address: put(address, CONTENT, x_amz_checksum_sha256="A" * 43 + "="),
    "over another": lambda address: put(address, CONTENT, if_none_match=None),
    "another name": lambda address: put(address, CONTENT, address.url.replace(DIGEST, "0" * 64)),
    "another method": lambda address: httpx2.get(address.url),
    "for longer": lambda address: put(address, CONTENT, address.url.replace("Expires=300", "Expires=3000")),
}


@pytest.mark.smoke(9)
@pytest.mark.parametrize("what", OTHER)
def test_an_address_takes_nothing_else(in_bucket: ArtifactStore, what: str) -> None:
    name = storage.new_storage_name(DIGEST)
    answer = OTHER[what](in_bucket.upload_address(name, DIGEST, len(CONTENT)))
    assert answer.status_code in (400, 403), answer.text
    assert not in_bucket.exists(name)


def test_an_address_ends(in_bucket: ArtifactStore, monkeypatch: pytest.MonkeyPatch) -> None:
    class Earlier(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) - timedelta(seconds=s3.ADDRESS_SECONDS + 60)

    name = storage.new_storage_name(DIGEST)
    monkeypatch.setattr(s3, "datetime", Earlier)
    address = in_bucket.upload_address(name, DIGEST, len(CONTENT))
    download = in_bucket.download_address(name)
    monkeypatch.undo()
    assert put(address, CONTENT).status_code == 403
    assert httpx2.get(download).status_code == 403


def test_a_download_is_an_attachment_with_the_name_that_people_know(
    in_bucket: ArtifactStore, bucket_server: BucketServer, keys: None
) -> None:
    name = storage.save_bytes_and_return_name(in_bucket, DIGEST, io.BytesIO(CONTENT))
    answer = httpx2.get(in_bucket.download_address(name, "größe; “a”.txt", "text/plain"))
    assert answer.content == CONTENT
    assert answer.headers["content-type"] == "text/plain"
    assert answer.headers["content-disposition"].startswith("attachment; filename*=utf-8''gr%C3%B6%C3%9Fe")


def test_runners_and_browsers_are_told_the_public_address(
    settings: Any, bucket_server: BucketServer, keys: None
) -> None:
    store = use_store(settings, bucket_server.address(public="https://files.example.com"))
    address = store.upload_address("a", DIGEST, 1)
    assert address.url.startswith("https://files.example.com/gateline/")
    assert store.download_address("a").startswith("https://files.example.com/gateline/")


# Refusals


def refusal(store: ArtifactStore) -> str:
    with pytest.raises(StoreFailed) as refused:
        storage.save_bytes_and_return_name(store, DIGEST, io.BytesIO(CONTENT))
    return str(refused.value)


def test_a_bucket_that_is_missing_is_named(settings: Any, bucket_server: BucketServer, keys: None) -> None:
    store = use_store(settings, f"s3://missing/x?endpoint={bucket_server.endpoint}")
    said = refusal(store)
    assert f"{bucket_server.endpoint}/missing refused" in said
    assert "no bucket “missing”. Create it, or correct GATELINE_ARTIFACT_STORE" in said


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("AWS_ACCESS_KEY_ID", "nobody", "does not know the access key. Correct AWS_ACCESS_KEY_ID"),
        (
            "AWS_SECRET_ACCESS_KEY",
            "wrong",
            "secret key does not fit the access key. Correct AWS_ACCESS_KEY_ID",
        ),
        ("AWS_SECRET_ACCESS_KEY", "", "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    ],
)
def test_a_wrong_key_is_named(
    in_bucket: ArtifactStore, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert said in refusal(in_bucket)


def test_a_key_that_may_not_write_is_named(in_bucket: ArtifactStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", READER.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", READER.secret_key)
    assert "Allow it to get, put and delete objects of “gateline”" in refusal(in_bucket)


def test_a_store_that_is_away_is_named(settings: Any, keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "PAUSE_SECONDS", 0)
    endpoint = f"http://127.0.0.1:{free_port()}"
    store = use_store(settings, f"s3://gateline/x?endpoint={endpoint}")
    with pytest.raises(StoreAway, match=f"{endpoint}/gateline cannot be reached"):
        store.size("a")


# Connections that break


class CuttingProxy(socketserver.ThreadingTCPServer):
    """Passes on to the store, and cuts each of its first answers, or what is sent, after so many bytes."""

    daemon_threads = True

    def __init__(self, endpoint: str, cuts: int, after: int) -> None:
        super().__init__(("127.0.0.1", 0), CutConnection)
        self.target, self.cuts, self.after = urlsplit(endpoint), cuts, after

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class CutConnection(socketserver.BaseRequestHandler):
    server: CuttingProxy

    def handle(self) -> None:
        is_cut = self.server.cuts > 0
        self.server.cuts -= 1
        target = (self.server.target.hostname or "", self.server.target.port or 80)
        with socket.create_connection(target) as store:
            passed = 0
            while ready := select.select([self.request, store], [], [])[0]:
                for source in ready:
                    data = source.recv(1 << 16)
                    if not data:
                        return
                    (store if source is self.request else self.request).sendall(data)
                    passed += len(data)
                    if is_cut and passed > self.server.after:
                        return


@pytest.mark.parametrize("cuts", [1, 3])
def test_what_broke_off_goes_on_from_there(
    settings: Any, bucket_server: BucketServer, keys: None, monkeypatch: pytest.MonkeyPatch, cuts: int
) -> None:
    monkeypatch.setattr(s3, "PAUSE_SECONDS", 0)
    content = b"".join(hashlib.sha256(bytes([n])).digest() for n in range(256)) * 1_000
    digest = hashlib.sha256(content).hexdigest()
    with CuttingProxy(bucket_server.endpoint, cuts, len(content) // 3) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        store = use_store(settings, bucket_server.address().replace(bucket_server.endpoint, proxy.endpoint))
        # Sent from the beginning each time, and read on from where it broke off
        name = storage.save_bytes_and_return_name(store, digest, io.BytesIO(content))
        assert proxy.cuts < 0
        proxy.cuts = cuts
        store.__dict__.pop("_client").close()
        with store.open(name, "rb") as file:
            assert file.read() == content
        assert proxy.cuts < 0
        proxy.shutdown()


def test_what_breaks_off_each_time_is_an_error(
    settings: Any, bucket_server: BucketServer, keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "PAUSE_SECONDS", 0)
    with CuttingProxy(bucket_server.endpoint, 1_000, 10_000) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        store = use_store(settings, bucket_server.address().replace(bucket_server.endpoint, proxy.endpoint))
        with pytest.raises(StoreAway, match="cannot be reached"):
            storage.save_bytes_and_return_name(store, DIGEST, io.BytesIO(CONTENT * 1_000))
        proxy.shutdown()
