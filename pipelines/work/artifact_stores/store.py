"""The port of an artifact store: bytes under names that hold their digest, compared with it whenever they are read, and
addresses by which a runner or a browser reaches one of them without the server between."""

from __future__ import annotations

import hashlib
import io
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar
from urllib.parse import SplitResult

import structlog
from django.core.files import File
from django.core.files.storage import Storage

from pipelines.work.file_measure import PIECE

T = TypeVar("T")
log = structlog.get_logger(__name__)
ADDRESS_SECONDS: Final = 300
"""Seconds in which a signed address has to be called. What has begun by then goes on to its end."""
PATIENCE_SECONDS: Final = 900.0
"""How long work waits for a store that does not answer."""
_DIGEST_NAME: Final = re.compile(r"(?:.*/)?([0-9a-f]{64})(?:\.[0-9a-z]+)?")


class StoreFailed(OSError):
    """The artifact store refused a call; the message names it, and the remedy."""


class StoreAway(StoreFailed):
    """The artifact store does not answer now: the same call may succeed later."""


class WrongContent(StoreFailed):
    """Stored bytes are not those of their digest or size."""


@dataclass(frozen=True)
class SignedAddress:
    """An address for one call about one object; who makes it sends exactly these headers."""

    url: str
    headers: Mapping[str, str]


class ArtifactStore(Storage):
    """Django's storage, whose files are verified, with addresses of its own where its kind has them."""

    signs_addresses: ClassVar[bool] = False
    place: str
    """Where the operator finds it."""

    @classmethod
    def options_of(cls, address: SplitResult) -> dict[str, Any]:
        """Return the arguments for the store at this address. :raises ValueError: what is wrong with it"""
        raise NotImplementedError

    def upload_address(self, name: str, digest: str, size: int) -> SignedAddress:
        """Return where these bytes, and no others, may be put under this name once."""
        raise NotImplementedError

    def download_address(self, name: str, file_name: str = "", media: str = "") -> str:
        """Return where the bytes can be read; `file_name` and `media`: as an attachment for a browser."""
        raise NotImplementedError

    def verify(self, name: str, digest: str, size: int) -> None:
        """Check what somebody else put under this name.

        :raises FileNotFoundError: nothing is there. :raises WrongContent: something else is"""
        measured = self.size(name)
        if measured != size:
            raise WrongContent(f"{name} has {measured} bytes in place of {size}.")
        with self.open(name, "rb") as file:
            while file.read(PIECE):
                continue


class VerifiedFile(File):
    """A stored file. Its last piece is handed out once all of it has proved to be what its digest says; who reads only
    the beginning, or from elsewhere, is not told."""

    def __init__(self, file: Any, name: str, size: int) -> None:
        super().__init__(file, name)
        self._bytes, self._size = file, size
        self._digest = digest_of_name_or_empty(name)
        self._begin()

    def _begin(self) -> None:
        self._sha, self._position, self._is_verified = hashlib.sha256(), 0, bool(self._digest)

    @property
    def size(self) -> int:
        return self._size

    def read(self, size: int = -1) -> bytes:
        """:raises WrongContent"""
        data: bytes = self._bytes.read(size)
        if self._is_verified:
            self._sha.update(data)
            self._position += len(data)
            has_ended = not data and size != 0
            if has_ended or self._position >= self._size:
                self._raise_if_different()
        return data

    def _raise_if_different(self) -> None:
        if self._sha.hexdigest() != self._digest or self._position != self._size:
            raise WrongContent(
                f"The stored file {self.name} is damaged: its content is not what its digest says. "
                "Put it back from a backup of the artifact store."
            )

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        moved: int = self._bytes.seek(position, whence)
        self._begin()
        self._is_verified = self._is_verified and moved == 0
        return moved


def digest_of_name_or_empty(name: str) -> str:
    """Return the digest of the bytes that are stored under this name; "" where it names none."""
    match = _DIGEST_NAME.fullmatch(name)
    return match[1] if match else ""


def repeat_while_away(function: Callable[[], T], seconds: float = PATIENCE_SECONDS) -> T:
    """Call again and again while the store does not answer. In a thread."""
    until, pause = time.monotonic() + seconds, 0.5
    while True:
        try:
            return function()
        except StoreAway as error:
            if time.monotonic() > until:
                raise
            log.warning("artifact_store_away", error=str(error))
        time.sleep(pause)
        pause = min(pause * 2, 10.0)
