"""Stored files as answers, a piece at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.http import FileResponse

PIECE: Final = 256 * 1024


class StoredFileResponse(FileResponse):
    """A file of which the process holds one piece: Django reads all of it into memory for an asynchronous server."""

    block_size = PIECE

    def set_headers(self, filelike: Any) -> None:
        super().set_headers(filelike)
        # What comes from a bucket has no end to seek to
        self.headers["Content-Length"] = str(filelike.size)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self.is_async:
            # The middleware put nothing in place of the file, for HEAD
            async for piece in super().__aiter__():
                yield piece
            return
        pieces = iter(self)
        while piece := await sync_to_async(lambda: next(pieces, b""))():
            yield piece
