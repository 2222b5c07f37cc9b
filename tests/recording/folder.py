"""The folder of a recording: a file for each answer, without what differs between machines and checkouts."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 150
# A built file has its contents in its name.
BUILT = re.compile(r"(/static/dist/assets/[\w.]+(?:-[\w.]+)*?)-[\w-]{8}(\.\w+)")
# A form that comes back has a name for each time that it is shown (templates/reviews/inbox/row.html).
TIMED = re.compile(r'(name="need-[\w-]+)-\d{16}"')
STAMPED = re.compile(r"(/static/[\w./-]+\?v=)[\w-]+")


class Folder:
    def __init__(self, path: Path) -> None:
        self.path, self.number = path, 0
        if path.exists() and any(path.iterdir()):
            sys.exit(f"{path} is not empty: name a new folder.")

    def write(self, kind: str, name: str, text: str) -> None:
        """Name must be one that this kind does not have yet."""
        safe = re.sub(r"[^\w.,=&+-]+", "_", name).strip("_")[:LONGEST]
        file = self.path / kind / f"{safe}.txt"
        while file.exists():
            file = file.with_name(f"{file.stem}+.txt")
        file.parent.mkdir(parents=True, exist_ok=True)
        text = text.replace(str(ROOT), "{checkout}").replace(sys.prefix, "{python}")
        text = STAMPED.sub(r"\1{stamp}", BUILT.sub(r"\1-{stamp}\2", text))
        text = TIMED.sub(r'\1-{time}"', text)
        file.write_text(f"{name}\n\n{text}\n", "utf-8", errors="surrogateescape")
        self.number += 1
