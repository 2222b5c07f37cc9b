"""The words of the README: whoever acts may press, fill in and expect these alone."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


class NotInReadme(AssertionError):
    """A step needs a word that the README does not say."""


class Readme:
    """Its text without marks, and its shell commands. `more`: further pages whose words count, in any case."""

    def __init__(self, path: Path = ROOT / "README.md", *more: Path) -> None:
        text = path.read_text()
        self.commands = [
            line.partition("  #")[0].strip()
            for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
            for line in block.splitlines()
        ]
        pages = "\n".join([text, *(page.read_text() for page in more)])
        self.text = " ".join(re.sub(r"[*`›→]|\[|\]\([^)]*\)", " ", pages).split())
        self.flags = re.IGNORECASE if more else 0

    def word(self, name: str) -> str:
        """The same word, if the README says it."""
        if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.text, self.flags):
            raise NotInReadme(f"The README does not say “{name}”.")
        return name

    def command(self, beginning: str) -> str:
        """The one command that begins so."""
        for command in self.commands:
            if command.startswith(beginning):
                return command
        raise NotInReadme(f"The README has no command “{beginning} …”.")
