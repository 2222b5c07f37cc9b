"""File signatures: the content type by the first bytes of a file, in addition to the ending of its name."""

from __future__ import annotations

from typing import Final

LEAD: Final = 1024
"""So many first bytes tell."""
TEXT: Final = "text"
BINARY: Final = "binary"
"""Neither a text nor anything that is known here."""
# Kind, offset in bytes, and what stands there
SIGNATURES: Final = (
    ("png", 0, b"\x89PNG\r\n\x1a\n"),
    ("jpeg", 0, b"\xff\xd8\xff"),
    ("gif", 0, b"GIF87a"),
    ("gif", 0, b"GIF89a"),
    ("webp", 8, b"WEBP"),
    ("pdf", 0, b"%PDF-"),
    ("zip", 0, b"PK\x03\x04"),
    # An archive without files
    ("zip", 0, b"PK\x05\x06"),
    ("gzip", 0, b"\x1f\x8b"),
    *(("bzip2", 0, b"BZh%d1AY" % size) for size in range(1, 10)),
    ("xz", 0, b"\xfd7zXZ\x00"),
    ("zstd", 0, b"\x28\xb5\x2f\xfd"),
    ("7z", 0, b"7z\xbc\xaf\x27\x1c"),
    ("tar", 257, b"ustar"),
    ("sqlite", 0, b"SQLite format 3\x00"),
    ("ole", 0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
)
UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_ENDINGS: Final = {
    "png": "png",
    "jpeg": "jpg jpeg",
    "gif": "gif",
    "webp": "webp",
    "pdf": "pdf",
    "zip": "zip jar war whl docx xlsx pptx odt ods odp epub",
    "gzip": "gz tgz",
    "bzip2": "bz2",
    "xz": "xz",
    "zstd": "zst",
    "7z": "7z",
    "tar": "tar",
    "sqlite": "sqlite sqlite3",
    TEXT: "txt text log md rst csv tsv json jsonl yaml yml toml ini cfg conf xml html htm svg css js tsx py rb go "
    "rs java c h cpp sh sql diff patch",
}
HOLDS: Final = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings.split()}
"""What a file with this ending holds; of others nobody knows."""
LOCKED: Final = frozenset(("docx", "xlsx", "pptx"))
"""With a password these are no archives but what the programs before kept their files in."""


def content_kind(lead: bytes) -> str:
    """A kind of `SIGNATURES`, else text or binary. A text is what has no NUL: it may be of any encoding."""
    for kind, at, signature in SIGNATURES:
        # WebP is a RIFF file that says its kind at byte 8.
        if lead[at:].startswith(signature) and (kind != "webp" or lead.startswith(b"RIFF")):
            return kind
    # In UTF-16 every other byte of plain English is NUL, so the byte order mark counts first.
    return TEXT if lead.startswith(UTF16) or b"\0" not in lead else BINARY


def contradicting_ending_or_empty(name: str, content: str) -> str:
    """Return the file ending that contradicts the content, or "". `content`: as `content_kind` returns it; "" is
    unknown."""
    ending = name.lower().rpartition(".")[2]
    if content == "ole" and ending in LOCKED:
        return ""
    expected = HOLDS.get(ending, content)
    return f".{ending}" if content and content != expected else ""
