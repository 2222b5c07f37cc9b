"""The text files of a folder, out of an archive. Nothing is written, and nothing is followed."""

from __future__ import annotations

import zipfile
import zlib
from io import BytesIO
from typing import Final

from pipelines.formats import native
from pipelines.routing.basics.problems import Problem
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.line import DocumentError

MOST_FILES: Final = 500
READ: Final = (".json", ".md", ".yaml", ".yml")


def readable_file_by_path(archive: bytes) -> dict[str, bytes]:
    """Return the files that a line can be read from, by their path. Raises DocumentError."""
    try:
        with zipfile.ZipFile(BytesIO(archive)) as opened:
            listed = [entry for entry in opened.infolist() if entry.filename.endswith(READ)]
            if len(listed) > MOST_FILES:
                raise folder_error(_("the archive holds more than %(most)s files", most=MOST_FILES))
            left, contents = native.MAX_TEXT, {}
            for entry in listed:
                with opened.open(entry) as file:
                    # What an archive says of its own sizes need not be true.
                    contents[entry.filename] = file.read(left + 1)
                left -= len(contents[entry.filename])
                if left < 0:
                    raise folder_error(
                        _("the files are longer than %(most)s bytes together", most=native.MAX_TEXT)
                    )
            return contents
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        # A way of compression that `zipfile` lacks
        NotImplementedError,
        # An entry with a password
        RuntimeError,
        OSError,
        ValueError,
    ) as fault:
        raise folder_error(_("the archive cannot be read: %(fault)s", fault=str(fault)[:200])) from None


def folder_error(message: object) -> DocumentError:
    hint = "choose a document, or a .zip of the folder .agentics of an assembly line"
    return DocumentError([Problem("", message, hint)])  # type: ignore[arg-type]
