"""Answers travel compressed, for browsers that take it: pages, API answers, and the files of the front end.

The length of a page does not give away a secret in it (BREACH): Django masks the CSRF token anew in each answer,
and its GZipMiddleware adds a random number of bytes (“Heal the BREACH”)."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware, re_accepts_gzip
from django.utils.cache import patch_vary_headers

TEXT = ("text/", "application/javascript", "application/json", "image/svg+xml")
LARGEST = 4 << 20
# Bytes; Django's GZipMiddleware leaves what is shorter uncompressed, too.
SMALLEST = 200
# Compressed files that a process keeps in memory
FILES = 256


class CompressionMiddleware(GZipMiddleware):
    """Stands around the middleware that serves static files.

    What is streamed stays as it is: its lines have to arrive as they come, and a download keeps its length."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if isinstance(response, FileResponse):
            return _compressed_file(request, response)
        return response if response.streaming else super().process_response(request, response)


def _compressed_file(request: HttpRequest, response: FileResponse) -> HttpResponseBase:
    file = response.file_to_stream
    if file is None or not _is_static_text(response):
        return response
    # Also where it stays uncompressed: by this a cache tells the two answers apart
    patch_vary_headers(response, ("Accept-Encoding",))
    if not re_accepts_gzip.search(request.META.get("HTTP_ACCEPT_ENCODING", "")):
        return response
    with file:
        body = _gzipped(file.name, response.get("Last-Modified", ""))
    compressed = HttpResponse(body)
    for name, value in response.items():
        compressed[name] = value
    compressed["Content-Length"], compressed["Content-Encoding"] = str(len(body)), "gzip"
    return compressed


def _is_static_text(response: FileResponse) -> bool:
    """A whole file, as WhiteNoise serves it: it alone sends files without saying that they are attachments."""
    return (
        response.status_code == 200
        and not response.has_header("Content-Encoding")
        and not response.has_header("Content-Disposition")
        and response.get("Content-Type", "").startswith(TEXT)
        and SMALLEST <= int(response.get("Content-Length") or 0) <= LARGEST
    )


@lru_cache(maxsize=FILES)
def _gzipped(path: str, modified: str) -> bytes:
    """The file, compressed once for each process and each change of it."""
    # Without the time of day in it the same file makes the same bytes in each process
    return gzip.compress(Path(path).read_bytes(), mtime=0)
