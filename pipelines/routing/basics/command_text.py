"""Commands as text that people read and change: as a shell takes them, with the plainest quotes."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

# Between double quotes a shell still reads these, and `shlex.split` knows no escape for them.
_READ_BETWEEN_QUOTES = frozenset("$`!")


def command_text(words: Iterable[str]) -> str:
    """Return the words of a command as one text, from which `shlex.split` gives the same words."""
    return " ".join(map(quoted_word, words))


def quoted_word(word: str) -> str:
    """Return the word with quotes around it where it needs any; `shlex.quote` alone writes each apostrophe in it as
    five characters."""
    if "'" in word and not _READ_BETWEEN_QUOTES & set(word):
        escaped = word.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return shlex.quote(word)
