"""Parts of the lines of a file that have a colour: comments, texts, numbers, words of the language and names.

One pattern for a family of languages, in one pass. A text or comment that nothing closes goes on to its end, so that no
place is looked at twice: what a station wrote to be slow is as quick as any other file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

MOST_CHARACTERS = 100_000
"""Of a file; beyond it nothing is coloured."""
Spans = tuple[tuple[int, int, str], ...]
"""(start, end, kind) in a line. Kinds: comment, string, number, keyword, name."""

# Groups that alone have the colour of their pattern
PARTS = ("inner", "text", "word")
_NUMBER = r"\b(?:0[xXbBoO][0-9a-fA-F_]+|[0-9][0-9_]*(?:\.[0-9_]+)?(?:[eE][+-]?[0-9]+)?)\b"
_DOUBLE, _QUOTED = r'"(?:[^"\\\n]|\\.)*(?:"|\\?$)', r"'(?:[^'\\\n]|\\.)*(?:'|\\?$)"
# Neither an apostrophe nor a lifetime
_SINGLE = rf"(?<![\w&<]){_QUOTED}"
_TRIPLE = r'"""(?s:.*?)(?:"""|\Z)' + r"|'''(?s:.*?)(?:'''|\Z)"
_PYTHON_TEXT = rf"\b[rRbBuUfF]{{0,2}}(?:{_TRIPLE}|{_DOUBLE}|{_QUOTED})|{_TRIPLE}|{_DOUBLE}|{_SINGLE}"
_BLOCK = r"/\*(?s:.*?)(?:\*/|\Z)"
_PYTHON = (
    "False None True and as assert async await break case class continue def del elif else except finally for from"
    " global if import in is lambda match nonlocal not or pass raise return try while with yield"
)
_CURLY = (
    "abstract as async await boolean break byte case catch chan char class const continue crate default defer delete do"
    " double dyn else enum export extends extern false final finally float fn for foreach from fun func function go"
    " goto if impl implements import in instanceof int interface internal is let long loop map match mod mut namespace"
    " new nil null of override package private protected pub public range readonly return select self short static"
    " string struct super switch this throw throws trait true try type typeof undefined union unsafe use using val var"
    " virtual void volatile when where while with yield"
)
_SHELL = (
    "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM RUN USER WORKDIR and begin case class def do done elif else elsif end"
    " ensure esac export fi for function if in local module next nil not or require rescue return self set then unless"
    " until while yield"
)
_SQL = (
    "all alter and as asc begin between by case check commit constraint create cross default delete desc distinct drop"
    " else end exists foreign from full group having if in index inner insert into is join key left like limit not null"
    " offset on or order outer primary references returning right rollback select set table then union unique update"
    " using values view when where with"
)


def _words_pattern(words: str) -> str:
    return rf"\b(?:{'|'.join(words.split())})\b"


# family: (kind, pattern), the first that matches at a place counts
_FAMILIES: dict[str, tuple[tuple[str, str], ...]] = {
    "python": (
        ("comment", r"#[^\n]*"),
        ("string", _PYTHON_TEXT),
        ("name", r"\b(?:def|class)[ \t]+(?P<inner>\w+)|@[\w.]+"),
        ("keyword", _words_pattern(_PYTHON)),
        ("number", _NUMBER),
    ),
    "curly": (
        ("comment", rf"//[^\n]*|{_BLOCK}"),
        ("string", rf"{_DOUBLE}|{_SINGLE}|`(?:[^`\\]|\\(?s:.))*(?:`|\\?\Z)"),
        ("name", r"\b(?:class|enum|fn|fun|func|function|interface|struct|trait|type)[ \t]+(?P<inner>\w+)"),
        ("keyword", _words_pattern(_CURLY)),
        ("number", _NUMBER),
    ),
    "shell": (
        ("comment", r"(?:^|\s)#[^\n]*"),
        ("string", rf"{_DOUBLE}|{_SINGLE}"),
        ("name", r"\$\{?\w+\}?"),
        ("keyword", _words_pattern(_SHELL)),
        ("number", _NUMBER),
    ),
    "settings": (
        ("comment", r"(?:^|\s)[#;][^\n]*"),
        ("name", r"^[ \t]*(?:- )*(?P<inner>[\w.\-/]+|\"[^\"\n]*\")[ \t]*(?:[:=])|^[ \t]*\[[^\]\n]*\]"),
        ("string", rf"{_TRIPLE}|{_DOUBLE}|{_SINGLE}"),
        ("keyword", r"\b(?:true|false|null|yes|no|on|off)\b"),
        ("number", _NUMBER),
    ),
    "json": (
        ("name", rf"(?P<inner>{_DOUBLE})[ \t]*:"),
        ("string", _DOUBLE),
        ("keyword", r"\b(?:true|false|null)\b"),
        ("number", rf"-?{_NUMBER}"),
    ),
    "markup": (
        ("comment", r"<!--(?s:.*?)(?:-->|\Z)|\{#[^\n]*"),
        ("name", r"</?(?P<inner>[A-Za-z][\w:.\-]*)"),
        ("string", r'=\s*(?P<text>"[^"]*"|\'[^\']*\')'),
        ("keyword", r"\{%-?\s*(?P<word>\w+)"),
    ),
    "style": (
        ("comment", _BLOCK),
        ("string", rf"{_DOUBLE}|{_SINGLE}"),
        ("keyword", r"@[\w\-]+|![a-z]+"),
        ("name", r"(?<![\w\-])(?P<inner>--[\w\-]+|[a-z][a-z\-]*)[ \t]*:"),
        ("number", r"#[0-9a-fA-F]{3,8}\b|\b[0-9]+(?:\.[0-9]+)?(?:%|[a-z]+)?"),
    ),
    "sql": (
        ("comment", rf"--[^\n]*|{_BLOCK}"),
        ("string", rf"{_SINGLE}|{_DOUBLE}"),
        ("keyword", f"(?i:{_words_pattern(_SQL)})"),
        ("number", _NUMBER),
    ),
}
_ENDINGS = {
    "python": "py pyi",
    "curly": "c cc cjs cpp cs cts dart go h hpp java js jsx kt kts mjs mts php rs scala swift ts tsx",
    "shell": "bash dockerfile fish mk makefile pl r rb sh zsh gemfile rakefile",
    "settings": "cfg conf env ini properties toml yaml yml",
    "json": "json jsonc webmanifest",
    "markup": "htm html svg vue xml xhtml",
    "style": "css less scss",
    "sql": "sql",
}
_FAMILY_OF = {ending: family for family, endings in _ENDINGS.items() for ending in endings.split()}


def colour_spans(path: str, lines: Sequence[str]) -> Sequence[Spans]:
    """Return what is to be coloured, for each line; nothing for a language that nobody knows, or a long file."""
    # A file without an ending is known by its name: Makefile.
    family = _FAMILY_OF.get(path.rpartition("/")[2].rpartition(".")[2].lower())
    if family is None or sum(map(len, lines)) + len(lines) > MOST_CHARACTERS:
        return ()
    coloured: list[list[tuple[int, int, str]]] = [[] for _line in lines]
    number, line_start = 0, 0
    for start, end, kind in _token_matches(family, "\n".join(lines)):
        while line_start + len(lines[number]) < start:
            line_start += len(lines[number]) + 1
            number += 1
        # A comment or a text of several lines is coloured in each of them.
        at, row = line_start, number
        while row < len(lines) and at < end:
            first, last = max(start - at, 0), min(end - at, len(lines[row]))
            if first < last:
                coloured[row].append((first, last, kind))
            at += len(lines[row]) + 1
            row += 1
    return [tuple(line) for line in coloured]


def _token_matches(family: str, text: str) -> Iterator[tuple[int, int, str]]:
    for match in _family_pattern(family).finditer(text):
        group, part = match.lastgroup or "", next((name for name in PARTS if _has_group(match, name)), "")
        kind = _FAMILIES[family][int(group.removeprefix("kind"))][0]
        if part and family in ("python", "curly"):
            # What leads to the name is a word of the language.
            yield match.start(), match.start() + len(match.group().split(None, 1)[0]), "keyword"
        yield *match.span(part or group), kind


def _has_group(match: re.Match[str], name: str) -> bool:
    return name in match.re.groupindex and match.start(name) >= 0


@cache
def _family_pattern(family: str) -> re.Pattern[str]:
    parts = [f"(?P<kind{index}>{pattern})" for index, (_kind, pattern) in enumerate(_FAMILIES[family])]
    return re.compile("|".join(parts), re.MULTILINE)
