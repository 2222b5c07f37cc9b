"""Documents with odd numbers, keys and texts, drawn at random, as somebody may type or upload them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from random import Random
from typing import Any

from pipelines.formats import native

NUMBERS = (
    "0 -0 1.0 -0.0 1e3 1E+3 5e-324 1.7976931348623157e308 0.1 0.30000000000000004 100e-2 123e20 1e21 1e22 1e23 "
    "9007199254740991 9007199254740993 -9007199254740993 12345678901234567890 -12345678901234567890 "
    "18446744073709551616 100000000000000000000000000000000000000000001 10000000000000000000000000"
)
KEYS = (
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "valueOf",
    "length",
    "",
    " ",
    "a.b",
    "a b ",
    " a",
    "🙂",
    "é",
    "e\u0301",
    "a[0]",
    'a"b',
    "it's",
    "a\\b",
    "a: b",
    "- a",
    "#a",
    "null",
    "true",
    "1",
    "1.0",
    "~",
    "<<",
    "=",
    "key",
    "\u2028",
    "a\nb",
    "\ue0000\ue001",
    "undefined",
    "rawJSON",
    "toJSON",
)
TEXTS = (
    *KEYS,
    "a\rb",
    "a\r\nb",
    "\n",
    "\n\na",
    "a\n\n",
    "a \nb\n",
    " a\n b",
    "\ta\tb",
    "a\u2028b\u2029c",
    "\x85",
    "a\x85b",
    "\u00a0",
    "\ufeffa",
    "\u200b",
    "</script><!--",
    "{{input.a}} {{ .b }} {{",
    "12:30",
    "on",
    "0x1F",
    "0o17",
    "1_000",
    ".5",
    "+1",
    "1e400",
    "NaN",
    ".inf",
    "---",
    "...",
    "--- a",
    "a\n---\nb",
    "%YAML 1.1",
    "&a",
    "*a",
    "!a",
    "|",
    ">",
    "@a",
    "`a`",
    "? a",
    "a #b",
    "a\n#b\nc",
    "\\u0041",
    "\\",
    "%00",
    "x" * 5_000,
    ("long line " * 30).strip(),
    "🙂" * 300,
    "أ\u202eب",
    "\x7f",
    "\x1b[31m",
    "\x01",
)
_NUMBER = re.compile(r'"number:([^"]+)"')


def text_of(value: Any, *, indent: int | None = None, ascii_only: bool = True) -> str:
    """JSON, each number written as it was drawn."""
    return _NUMBER.sub(r"\1", json.dumps(value, indent=indent, ensure_ascii=ascii_only))


class Drawing:
    """One document of three stations. Its texts are those that the canvas draws, or that no command should touch."""

    def __init__(self, seed: str, key: str = "drawn") -> None:
        self.seed, self.key = seed, key
        self.random = Random(seed)

    def number(self) -> str:
        return f"number:{self.random.choice(NUMBERS.split())}"

    def value(self, depth: int = 0) -> Any:
        kind = self.random.randrange(5 if depth < 3 else 3)
        if kind == 0:
            return self.number()
        if kind == 1:
            return self.random.choice(TEXTS)
        if kind == 2:
            return self.random.choice([None, True, False, [], {}, ""])
        if kind == 3:
            return [self.value(depth + 1) for _ in range(self.random.randrange(1, 4))]
        return self.object(depth + 1)

    def object(self, depth: int = 0) -> dict[str, Any]:
        return {self.random.choice(KEYS): self.value(depth) for _ in range(self.random.randrange(1, 5))}

    def texts(self) -> dict[str, str]:
        return {
            self.random.choice(KEYS): self.random.choice(TEXTS) for _ in range(self.random.randrange(1, 4))
        }

    def document(self) -> dict[str, Any]:
        keys = ["one", "two", "three"]
        found: dict[str, Any] = {
            "gateline": 1,
            "key": self.key,
            "name": self.random.choice(["Drawn", "x" * 90, "🙂 line", 'a\'b "c" ']),
            "description": self.random.choice(TEXTS),
            "inputs": [{"key": "who", "default": self.random.choice(TEXTS), "extra": self.object()}],
            "stations": [self.station(key, [*keys, "completed"]) for key in keys],
            "gates": [self.gate()],
            "ends": [{"key": "done", "kind": "completed", "label": "Done", "extra": self.object()}],
            "extra": self.object(),
        }
        if self.random.random() < 0.3:
            found[self.random.choice(KEYS)] = self.value()
        if self.random.random() < 0.3:
            found["extra"]["editor"] = {"notes": [self.note()], "theirs": self.value()}
        members = list(found.items())
        if self.random.random() < 0.3:
            self.random.shuffle(members)
        return dict(members)

    def note(self) -> dict[str, Any]:
        return {
            "key": "note-1",
            "text": self.random.choice(TEXTS),
            "tone": "ok",
            **dict.fromkeys(("x", "y", "width", "height"), "number:1e2"),
            "extra": self.value(),
        }

    def station(self, key: str, places: list[str]) -> dict[str, Any]:
        cli = {"kind": "cli", "argv": ["echo", self.random.choice(TEXTS)], "env": self.texts()}
        work = self.random.choice(
            [{"kind": "noop"}, cli, {"kind": "manual", "instructions": self.random.choice(TEXTS)}]
        )
        return {
            "key": key,
            "name": f"{key.title()} {self.seed}",
            "work": {**work, **({"theirs": self.object()} if self.random.random() < 0.1 else {})},
            "rules": [self.rule(f"{key}-{number}", places) for number in range(self.random.randrange(1, 4))],
            **({"limits": {"max_timeout": self.number()}} if self.random.random() < 0.1 else {}),
            "extra": self.object(),
        }

    def rule(self, key: str, places: list[str]) -> dict[str, Any]:
        test = {"path": "$.a", "op": "equals", "value": self.value()}
        return {
            "id": key,
            "label": self.random.choice(["", "Always", self.random.choice(TEXTS)]),
            "when": self.random.choice(
                [{"output": test}, {"result": "success"}, {"all": [{"output": test}]}]
            ),
            "to": self.random.choice([self.random.choice(places), self.random.sample(places, 2)]),
            "compose": [{"var": "said", "path": "$.a"}],
            **({"gates": ["look"]} if self.random.random() < 0.3 else {}),
            **({"extra": self.object()} if self.random.random() < 0.5 else {}),
        }

    def gate(self) -> dict[str, Any]:
        check = {"field": "exit_code", "operator": "equals", "value": self.value()}
        return {
            "key": "look",
            "name": "Look",
            "mode": "manual",
            "checks": {"all": [check]},
            "extra": self.object(),
        }


PARTS = frozenset({"gateline", "key", "name", "description", "inputs", "stations", "gates", "ends", "extra"})
"""What a line document says at its top."""


def sound(drawing: Drawing) -> dict[str, Any]:
    """Draw a document that can be published: what is unknown or out of bounds is left out, no rule takes all that a
    later one would, and its odd values stay."""
    document = drawing.document()
    parts = {key: value for key, value in document.items() if key in PARTS}
    stations = [_sound_station(station) for station in document["stations"]]
    inputs = [*document["inputs"], {"key": "a", "default": "said"}]
    return {**parts, "key": drawing.key, "inputs": inputs, "stations": stations}


def _sound_station(station: Mapping[str, Any]) -> dict[str, Any]:
    work = {key: value for key, value in station["work"].items() if key != "theirs"}
    if work["kind"] == "cli":
        env = {key: text for key, text in work["env"].items() if key not in ("", "=")}
        work |= {"kind": "command", "argv": [*filter(None, work["argv"])], "env": env}
    rules = [_sound_rule(rule, number) for number, rule in enumerate(station["rules"])]
    return {key: value for key, value in station.items() if key != "limits"} | {"work": work, "rules": rules}


def _sound_rule(rule: Mapping[str, Any], number: int) -> dict[str, Any]:
    test: dict[str, Any] = rule["when"].get("output", {"op": "equals", "value": f"number:{number}"})
    targets = rule["to"]
    to = ["one", "two"] if type(targets) is list and "completed" in targets else targets
    return {**rule, "when": {"output": {**test, "path": f"$.a{number}"}}, "to": to}


def written(drawing: Drawing, document: Mapping[str, Any] | None = None) -> str:
    """The document as JSON in one of its ways, or as YAML."""
    document = drawing.document() if document is None else document
    way = drawing.random.randrange(4)
    if way == 3:
        return native.dumps(native.loads(text_of(document)))
    return text_of(document, indent=[None, 2, 4][way], ascii_only=drawing.random.random() < 0.5)
