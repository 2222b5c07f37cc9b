"""Characters that nobody sees are written out where people read: escape sequences, which act on terminals, marks that
turn the direction of text, and characters without width. A title or a file name cannot pass for another one.

`static/ts/visible.ts` says the same of what a page draws by itself."""

from __future__ import annotations

import re

# C0 and C1 controls but tab and line ends; soft hyphen; the marks of direction; what has no width; tags.
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def escape_hidden(text: str) -> str:
    """The text with every hidden character as its escape: `\\x1b`, `\\u202e`."""
    return HIDDEN.sub(_escaped_match, text)


def shortened_at_word(text: str, most: int) -> str:
    """Cut after a word, with “…” where something was left out; within the word where less than half would be left."""
    if len(text) <= most:
        return text
    prefix = text[: most - 1]
    words = prefix if text[most - 1] == " " else prefix.rpartition(" ")[0]
    return f"{words if len(words) >= most // 2 else prefix}…"


def escape_hidden_json(text: str) -> str:
    """Return the text with every hidden character as a JSON escape (`\\u001b`), so that a JSON text keeps its
    meaning."""
    return HIDDEN.sub(_json_escape, text)


def _escaped_match(match: re.Match[str]) -> str:
    if _is_emoji_joiner(match):
        return match.group()
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    if _is_emoji_joiner(match):
        return match.group()
    # JSON escapes a character beyond U+FFFF as its two surrogates.
    units = match.group().encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _is_emoji_joiner(match: re.Match[str]) -> bool:
    """A joiner inside an emoji of several people is seen as one picture, not hidden."""
    text, at = match.string, match.start()
    return (
        match.group() == "\u200d"
        and 0 < at < len(text) - 1
        # People and skin tones lie above U+1F000; U+FE0F asks for the picture of a sign.
        and (ord(text[at - 1]) >= 0x1F000 or text[at - 1] == "\ufe0f")
        # What follows may be an older sign, such as the heart or those of the sexes.
        and ord(text[at + 1]) >= 0x2190
    )


# In them nothing is shown but typed: what stands there is sent back as it is, or read by a script.
_AS_IT_IS = re.compile(
    r"""<(?P<tag>script|style|textarea)\b.*?</(?P=tag)\s*>|\s(?:value|data-[\w-]+)=(?:"[^"]*"|'[^']*')""",
    re.DOTALL | re.IGNORECASE,
)


def escape_hidden_page(html: str) -> str:
    """The page with every hidden character as its escape; what fields hold and scripts read stays as it is."""
    if not HIDDEN.search(html):
        return html
    parts, end = [], 0
    for match in _AS_IT_IS.finditer(html):
        parts += [escape_hidden(html[end : match.start()]), match.group()]
        end = match.end()
    return "".join([*parts, escape_hidden(html[end:])])
