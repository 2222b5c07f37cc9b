"""Bytes of running work -> lines of a log: decoded, escaped, secrets masked, time-stamped. Pure."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from itertools import chain, pairwise
from typing import Any
from urllib.parse import quote

MASK = "•••"
SHORTEST_SECRET = 4
# A shorter piece of Base64 would stand in texts by chance.
SHORTEST_INSIDE = 6
# What a terminal acts on and does not show: colours and the like, titles and links.
ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
LONGEST_LINE = 16 * 1024
# NUL cannot be stored; the other controls would act on a terminal or hide text. Tab and escape sequences stay.
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x1B), 0x7F)}
SURROGATES = re.compile("[\ud800-\udfff]")


def escaped_for_storage(text: str) -> str:
    """Text that any store takes: NUL and lone surrogates written out (law §2)."""
    return SURROGATES.sub(lambda match: f"\\u{ord(match.group()):04x}", text.translate(CONTROLS))


def secret_and_private_keys(secret: str) -> tuple[str, ...]:
    """A secret, and the private keys in it if it is a document of JSON, as that of a service account: programs write
    them out with real line ends."""
    if not secret.lstrip().startswith("{"):
        return (secret,)
    try:
        document = json.loads(secret)
    except (ValueError, RecursionError):
        return (secret,)
    return (
        secret,
        *(value for value in document.values() if isinstance(value, str) and "PRIVATE KEY" in value),
    )


def secret_spellings(secret: str) -> tuple[str, ...]:
    """Return a secret as it is, and as addresses, JSON, hexadecimal dumps and Base64 spell it."""
    plain = secret.encode(errors="backslashreplace")
    inside = [core for core in _inside_base64(plain) if len(core) >= SHORTEST_INSIDE]
    hexadecimal = (plain.hex(), plain.hex().upper())
    encoded = (base64.b64encode(plain).decode(), base64.urlsafe_b64encode(plain).decode(), *inside)
    return (secret, quote(plain, safe=""), json.dumps(secret)[1:-1], *hexadecimal, *encoded)


def _inside_base64(plain: bytes) -> Iterable[str]:
    """Yield what Base64 of any text with these bytes inside holds, as "user:" and a password in a header of Basic
    sign-in: one spelling for each place in a group of three at which they can begin. Characters that share bits with
    the text around are left out."""
    for bytes_before, characters_before in ((0, 0), (1, 2), (2, 3)):
        padded = bytes(bytes_before) + plain
        end = len(padded) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(padded).decode()[characters_before:end]


class Masker:
    """Replaces secrets in a stream of text. What may be the beginning of a secret is held back until it is clear, so a
    secret that arrives in pieces is masked too. A secret of several lines is also masked line by line."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: list[str] = []
        self._held = ""
        self.mask_also(secrets)

    def mask_also(self, secrets: Iterable[str]) -> None:
        """Mask these, too, from now on."""
        plain = [key for secret in secrets for key in secret_and_private_keys(secret)]
        parts = {
            part
            for key in plain
            for spelling in secret_spellings(key)
            for part in (spelling, *spelling.splitlines())
        }
        parts = {part for part in parts if len(part) >= SHORTEST_SECRET} | set(self._secrets)
        # The longest first: of several that begin alike a pattern takes the first
        self._secrets = sorted(parts, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._secrets)))

    def masked_part_of_stream(self, text: str) -> str:
        if not self._secrets:
            return text
        text = self._held + text
        # Before anything is masked: a shorter secret may be how a longer one begins
        begins = len(text) - self._beginning_of_a_secret(text)
        pieces, end = list[str](), 0
        for match in self._pattern.finditer(text):
            if match.start() >= begins:
                break
            pieces.append(text[end : match.start()])
            end = match.end()
        # What seemed to begin there is part of one that is whole
        if end > begins:
            begins = len(text) - self._beginning_of_a_secret(text[end:])
        self._held = text[begins:]
        return MASK.join([*pieces, text[end:begins]])

    def rest_of_stream(self) -> str:
        pending, self._held = self._held, ""
        return self._pattern.sub(MASK, pending) if self._secrets else pending

    def masked_text(self, text: str) -> str:
        """Return a complete text, masked."""
        return self.masked_across_escapes(self._pattern.sub(MASK, text)) if self._secrets else text

    def masked_across_escapes(self, text: str) -> str:
        """Mask what is a secret once a terminal has acted on the escape sequences inside it."""
        escapes = (
            [match.span() for match in ESCAPE.finditer(text)] if self._secrets and "\x1b" in text else []
        )
        if not escapes:
            return text
        hidden = set(escapes)
        visible = [
            index
            for start, end in pairwise([0, *chain.from_iterable(escapes), len(text)])
            if (start, end) not in hidden
            for index in range(start, end)
        ]
        pieces, position = [], 0
        for match in self._pattern.finditer("".join(text[index] for index in visible)):
            first, last = visible[match.start()], visible[match.end() - 1]
            pieces += [text[position:first], MASK]
            position = last + 1
        return "".join([*pieces, text[position:]])

    def _beginning_of_a_secret(self, text: str) -> int:
        """Length of the longest end of `text` that begins a secret."""
        longest = min(len(text), len(self._secrets[0]) - 1)
        for length in range(longest, 0, -1):
            end = text[-length:]
            if any(secret.startswith(end) for secret in self._secrets if len(secret) > length):
                return length
        return 0


def line_pieces(line: str) -> list[str]:
    """A line longer than LONGEST_LINE in several."""
    return [line[at : at + LONGEST_LINE] for at in range(0, max(len(line), 1), LONGEST_LINE)]


def time_stamped_line(seconds: float, line: str) -> str:
    """The form in which a line is stored."""
    return f"{seconds:.3f}\t{line}\n"


def masked_value(value: Any, masker: Masker) -> Any:
    """Secrets out of every text of an outcome (house §3 I16)."""
    if isinstance(value, str):
        return masker.masked_text(value)
    if isinstance(value, list):
        return [masked_value(member, masker) for member in value]
    if isinstance(value, dict):
        return {masker.masked_text(key): masked_value(member, masker) for key, member in value.items()}
    return value
