"""Two hundred files that nobody means well with: twenty names, ten contents."""

from __future__ import annotations

import base64
import gzip
import io
import struct
import zipfile
import zlib
from itertools import product

RUNS = "canary()"
SCRIPT = f"<script>{RUNS}</script>"
NAMES = (
    "a\nb.html",
    "a.html\r\nSet-Cookie: canary=1\r\n",
    "\u202egpj.html",
    "../../../etc/passwd",
    "..\\..\\windows\\win.ini",
    "CON",
    "NUL.txt",
    "aux.html",
    f"{SCRIPT}.html",
    f'"><img src=x onerror={RUNS}>.png',
    f"' onmouseover='{RUNS}.svg",
    "{{7*7}}{% load x %}.html",
    f"javascript:{RUNS}.html",
    '"; filename="evil.html',
    "a" * 500 + ".html",
    "a\0.html",
    "%00%2f..%2f.html",
    ".htaccess",
    "\ufeff\u200b\u2028.html",
    "   ",
)


def _png(side: int) -> bytes:
    """Of so many pixels each way, and almost no bytes."""
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(head)) + chunk + struct.pack(">I", zlib.crc32(chunk))


def _zip_bomb() -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(20):
            archive.writestr(f"../../{number}", bytes(1_000_000))
    return kept.getvalue()


ENTITIES = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
CONTENTS = (
    f"<!DOCTYPE html>{SCRIPT}<img src=x onerror={RUNS}><iframe src='javascript:{RUNS}'>".encode(),
    f'<svg xmlns="http://www.w3.org/2000/svg" onload="{RUNS}">{SCRIPT}</svg>'.encode(),
    f'<?xml version="1.0"?><?xml-stylesheet href="data:text/xsl,{RUNS}"?><!DOCTYPE a [<!ENTITY a0 "a">{ENTITIES}'
    f'<!ENTITY f SYSTEM "file:///etc/passwd">]><a>&a9;&f;<h:script xmlns:h="http://www.w3.org/1999/xhtml">{RUNS}'
    "</h:script></a>".encode(),
    f"%PDF-1.7\n1 0 obj<</OpenAction<</S/JavaScript/JS({RUNS})>>>>endobj\ntrailer<</Root 1 0 R>>".encode(),
    f"GIF89a/*{SCRIPT}*/=1;{RUNS}//".encode(),
    _png(2**31 - 1),
    _zip_bomb(),
    gzip.compress(bytes(10_000_000)),
    b"\xff\xd8\xff\xe0" + SCRIPT.encode() + b"<?php __HALT_COMPILER();",
    "\ufeff".encode("utf-16-le")
    + SCRIPT.encode("utf-16-le")
    + b"\0\x1b]0;x\x07"
    + base64.b64encode(SCRIPT.encode()),
)
FILES = tuple(product(NAMES, CONTENTS))
