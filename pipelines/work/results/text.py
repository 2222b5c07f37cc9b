"""Bytes of running work -> lines of a log: decoded, escaped, secrets masked, time-stamped. Pure."""

from __future__ import annotations

import base64
import codecs
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

MASK = "•••"
SHORTEST_SECRET = 4
LONGEST_LINE = 16 * 1024
# NUL cannot be stored; the other controls would act on a terminal or hide text. Tab and escape sequences stay.
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x1B), 0x7F)}
SURROGATES = re.compile("[\ud800-\udfff]")


def escaped(text: str) -> str:
    """Text that any store takes: NUL and lone surrogates written out (law §2)."""
    return SURROGATES.sub(lambda found: f"\\u{ord(found.group()):04x}", text.translate(CONTROLS))


def with_keys(secret: str) -> tuple[str, ...]:
    """A secret, and the private keys in it if it is a document of JSON, as that of a service account: programs write
    them out with real line ends."""
    if not secret.lstrip().startswith("{"):
        return (secret,)
    try:
        said = json.loads(secret)
    except (ValueError, RecursionError):
        return (secret,)
    return (secret, *(each for each in said.values() if isinstance(each, str) and "PRIVATE KEY" in each))


def spellings(secret: str) -> tuple[str, ...]:
    """A secret as it is, and as addresses, JSON and headers of Basic sign-in spell it."""
    plain = secret.encode(errors="backslashreplace")
    return (secret, quote(plain, safe=""), json.dumps(secret)[1:-1], base64.b64encode(plain).decode())


class Masker:
    """Replaces secrets in a stream of text. What may be the beginning of a secret is held back until it is clear, so a
    secret that arrives in pieces is masked too. A secret of several lines is also masked line by line."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: list[str] = []
        self._held = ""
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Mask these, too, from now on."""
        plain = [each for secret in secrets for each in with_keys(secret)]
        found = {part for each in plain for whole in spellings(each) for part in (whole, *whole.splitlines())}
        found = {part for part in found if len(part) >= SHORTEST_SECRET} | set(self._secrets)
        self._secrets = sorted(found, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._secrets)))

    def feed(self, text: str) -> str:
        if not self._secrets:
            return text
        masked = self._pattern.sub(MASK, self._held + text)
        keep = self._beginning_of_a_secret(masked)
        self._held = masked[len(masked) - keep :]
        return masked[: len(masked) - keep]

    def end(self) -> str:
        held, self._held = self._held, ""
        return held

    def all(self, text: str) -> str:
        """A complete text, masked."""
        return self._pattern.sub(MASK, text) if self._secrets else text

    def _beginning_of_a_secret(self, text: str) -> int:
        """Length of the longest end of `text` that begins a secret."""
        longest = min(len(text), len(self._secrets[0]) - 1)
        for length in range(longest, 0, -1):
            end = text[-length:]
            if any(secret.startswith(end) for secret in self._secrets if len(secret) > length):
                return length
        return 0


@dataclass
class LineCutter:
    """One stream of a running job, cut into whole lines."""

    masker: Masker
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("backslashreplace")
    )
    _rest: str = ""

    def feed(self, data: bytes, *, final: bool = False) -> list[str]:
        """The lines that `data` completes, without their ends; with `final` also what stands after the last end."""
        text = self.masker.feed(self._decoder.decode(data, final))
        if final:
            text += self.masker.end()
        *lines, self._rest = re.split(r"\r\n|\n|\r(?!\Z)", self._rest + text)
        if final and self._rest:
            lines, self._rest = [*lines, self._rest.rstrip("\r")], ""
        elif len(self._rest) > LONGEST_LINE:
            lines, self._rest = [*lines, self._rest[:LONGEST_LINE]], self._rest[LONGEST_LINE:]
        return [escaped(part) for line in lines for part in pieces(line)]


def pieces(line: str) -> list[str]:
    """A line longer than LONGEST_LINE in several."""
    return [line[at : at + LONGEST_LINE] for at in range(0, max(len(line), 1), LONGEST_LINE)]


def stamped(seconds: float, line: str) -> str:
    """The form in which a line is stored."""
    return f"{seconds:.3f}\t{line}\n"


def masked(value: Any, masker: Masker) -> Any:
    """Secrets out of every text of an outcome (house §3 I16)."""
    if isinstance(value, str):
        return masker.all(value)
    if isinstance(value, list):
        return [masked(member, masker) for member in value]
    if isinstance(value, dict):
        return {masker.all(key): masked(member, masker) for key, member in value.items()}
    return value
