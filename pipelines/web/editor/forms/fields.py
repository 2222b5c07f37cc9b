"""The fields of the editor's forms: what a place of the fragment shows as text, and what typed text writes there.

A field is only asked for what was changed in it, so what it shows need not say all that stands there."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.utils.translation import gettext as _

from pipelines.routing.basics.durations import written
from pipelines.web.editor.forms import places
from pipelines.web.editor.forms.places import MISSING, Place

Options = Sequence[tuple[str, str]]


class FieldRefused(ValueError):
    """What was typed cannot even be tried. `hint`: the remedy."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, kw_only=True)
class FormField:
    """`at`: where it stands in the fragment. `covers`: further places whose problems are shown here. `whole`: what goes
    where nothing is left in the field; `also`: what is written as well where something is."""

    at: Place
    label: str
    help: str = ""
    placeholder: str = ""
    rows: int = 0
    code: bool = False
    longest: int = 0
    covers: tuple[str, ...] = ()
    needed: bool = False
    whole: Place = ()
    also: tuple[tuple[Place, Any], ...] = ()
    widget: ClassVar[str] = "text"

    @property
    def writes(self) -> str:
        """How the browser may expect what is typed to be written: a row of `WRITES` (formWrites.ts)."""
        raise NotImplementedError

    def given(self, fragment: Any) -> Any:
        """What `writes` has to know besides, as JSON; None where that is nothing."""
        return None

    @property
    def place(self) -> str:
        return places.name(self.at)

    @property
    def name(self) -> str:
        return self.place

    def shown(self, fragment: Any) -> list[str]:
        """What the control holds."""
        value = places.get(fragment, self.at)
        return [] if value is MISSING else [self.text(value)]

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        """The fragment with what was typed. Raises Refused."""
        return self.put(fragment, self.value(typed[0] if typed else ""))

    def put(self, fragment: Any, value: Any) -> Any:
        if value is MISSING:
            return places.put(fragment, self.whole or self.at, MISSING)
        for place, other in self.also:
            fragment = places.put(fragment, place, other)
        return places.put(fragment, self.at, value)

    def text(self, value: Any) -> str:
        return value if type(value) is str else as_json(value)

    def value(self, typed: str) -> Any:
        """MISSING takes the key away. Raises Refused."""
        typed = typed.replace("\r\n", "\n")
        return typed if typed.strip() or self.needed else MISSING


@dataclass(frozen=True, kw_only=True)
class TextField(FormField):
    """`needed`: an empty one is written as such, so that the reader says what is missing."""

    @property
    def writes(self) -> str:
        return "lines" if self.rows else "text"

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        # A text that stands there empty says something else than none: to type it again takes it not away.
        return fragment if list(typed) == self.shown(fragment) else super().written(fragment, typed)

    def value(self, typed: str) -> Any:
        found = super().value(typed)
        return found.strip() if type(found) is str and not self.rows else found


@dataclass(frozen=True, kw_only=True)
class NumberField(FormField):
    """A whole number; what is none is written as text, which the reader refuses."""

    widget: ClassVar[str] = "number"

    @property
    def writes(self) -> str:
        return "number"

    def value(self, typed: str) -> Any:
        typed = typed.strip()
        return int(typed) if re.fullmatch(r"-?[0-9]{1,18}", typed) else typed or MISSING


@dataclass(frozen=True, kw_only=True)
class AmountField(NumberField):
    """A number, which may have decimals; what is none is written as text, which the reader refuses."""

    widget: ClassVar[str] = "text"

    def value(self, typed: str) -> Any:
        typed = typed.strip()
        if not re.fullmatch(r"[0-9]{1,15}\.[0-9]{1,6}", typed):
            return super().value(typed)
        return float(typed)


@dataclass(frozen=True, kw_only=True)
class DurationField(FormField):
    placeholder: str = "90s, 5m, 2h, 1d"

    @property
    def writes(self) -> str:
        return "number"

    def text(self, value: Any) -> str:
        if type(value) is int and value > 0:
            return written(value)
        return super().text(value)

    def value(self, typed: str) -> Any:
        typed = typed.strip()
        if not re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,6})?", typed):
            return typed or MISSING
        return float(typed) if "." in typed else int(typed)


@dataclass(frozen=True, kw_only=True)
class ChoiceField(FormField):
    """One of `options`, pairs of value and words; the value "" stands for the key left out. `free`: with a list to
    type into, and what is typed counts."""

    options: Options
    free: bool = False

    @property
    def widget(self) -> str:  # type: ignore[override]
        return "combobox" if self.free else "select"

    @property
    def writes(self) -> str:
        return "choice"

    def shown(self, fragment: Any) -> list[str]:
        return super().shown(fragment) or [""]

    def given(self, fragment: Any) -> Any:
        """Of each option that writes something else than itself: where, and what."""
        found = {}
        for value, _words in self.options:
            plain = places.put(fragment, self.at, value or MISSING)
            try:
                changed = self.written(fragment, [value])
            except FieldRefused:
                continue
            if changed != plain:
                found[value] = places.changed(fragment, changed)
        return {
            value: {"at": places.name(at)} | ({} if new is MISSING else {"value": new})
            for value, (at, new) in found.items()
        } or None

    def choices(self, shown: str) -> Options:
        """With what stands there now, also where it is none of them."""
        known = any(value == shown for value, words in self.options)
        return self.options if known or not shown else [*self.options, (shown, shown)]


@dataclass(frozen=True, kw_only=True)
class FlagField(FormField):
    """A tick; what is the usual is left out."""

    usual: bool = False
    widget: ClassVar[str] = "checkbox"

    @property
    def writes(self) -> str:
        return "off" if self.usual else "on"

    def shown(self, fragment: Any) -> list[str]:
        value = places.get(fragment, self.at)
        return ["on"] if (value if type(value) is bool else self.usual) else []

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        ticked = bool(typed)
        return places.put(fragment, self.at, MISSING if ticked == self.usual else ticked)


@dataclass(frozen=True, kw_only=True)
class SeveralField(FormField):
    """Ticks that make a list; `usual` is what counts where the key is left out."""

    options: Options
    usual: tuple[str, ...] = ()
    widget: ClassVar[str] = "checkboxes"

    @property
    def writes(self) -> str:
        return "ticks"

    def given(self, fragment: Any) -> Any:
        return list(self.usual) or None

    def shown(self, fragment: Any) -> list[str]:
        value = places.get(fragment, self.at)
        return [self.text(each) for each in value] if type(value) is list else list(self.usual)

    def choices(self, shown: Sequence[str]) -> Options:
        known = {value for value, words in self.options}
        return [*self.options, *((value, value) for value in dict.fromkeys(shown) if value not in known)]

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        """In the order in which they stood, what is new in the order of the options."""
        before = self.shown(fragment)
        if set(before) == set(typed):
            return fragment
        kept = [value for value in before if value in typed]
        chosen = kept + [
            value for value, words in self.choices(typed) if value in typed and value not in kept
        ]
        usual = set(chosen) == set(self.usual)
        return self.put(fragment, MISSING if usual or not chosen else chosen)


@dataclass(frozen=True, kw_only=True)
class ListedField(FormField):
    """Texts, one a line, or with `between` among them. What a line cannot hold is shown and read as JSON."""

    between: str = "\n"

    @property
    def writes(self) -> str:
        return "commas" if self.between == "," else "list"

    def text(self, value: Any) -> str:
        plain = type(value) is list and all(type(each) is str and each.strip() == each for each in value)
        if not plain or any("\n" in each or self.between in each or not each for each in value):
            return as_json(value)
        said = (", " if self.between == "," else self.between).join(value)
        return as_json(value) if _is_json_list(said) else said

    def value(self, typed: str) -> Any:
        if _is_json_list(typed):
            return json.loads(typed) or MISSING
        found = [line.strip() for line in typed.replace("\r\n", "\n").split(self.between) if line.strip()]
        return found if found or self.needed else MISSING


@dataclass(frozen=True, kw_only=True)
class ArgumentsField(FormField):
    """A program with its arguments as a shell would take them, but no shell reads it. `{{…}}` is never cut."""

    code: bool = True

    @property
    def writes(self) -> str:
        return "arguments"

    def text(self, value: Any) -> str:
        if type(value) is not list or not all(type(each) is str for each in value):
            return as_json(value)
        said = " ".join(each if PLAIN_ARGUMENT.fullmatch(each) else shlex.quote(each) for each in value)
        return as_json(value) if _is_json_list(said) else said

    def value(self, typed: str) -> Any:
        if _is_json_list(typed):
            return json.loads(typed) or MISSING
        held: list[str] = []

        def hold(found: re.Match[str]) -> str:
            held.append(found[0])
            return f"\ue000{len(held) - 1}\ue001"

        try:
            words = shlex.split(TEMPLATE.sub(hold, typed))
        except ValueError as fault:
            raise FieldRefused(
                _("a quotation mark is not closed"), _("close it, or put a backslash before")
            ) from fault
        return [HELD.sub(lambda found: held[int(found[1])], word) for word in words] or MISSING


TEMPLATE = re.compile(r"\{\{[^{}\n]*\}\}")
HELD = re.compile("\ue000([0-9]+)\ue001")
PLAIN_ARGUMENT = re.compile(r"(?:[\w@%+=:,./-]|\{\{[\w.-]+\}\})+", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class PairsField(FormField):
    """An object of texts, `NAME=value` a line."""

    code: bool = True

    @property
    def writes(self) -> str:
        return "pairs"

    def text(self, value: Any) -> str:
        if type(value) is not dict or not all(_is_line(name, said) for name, said in value.items()):
            return as_json(value)
        return "\n".join(f"{name}={said}" for name, said in value.items())

    def value(self, typed: str) -> Any:
        if typed.lstrip().startswith("{"):
            return parsed(typed) or MISSING
        found: dict[str, str] = {}
        for number, line in enumerate(typed.replace("\r\n", "\n").split("\n"), 1):
            name, sign, said = line.partition("=")
            if not line.strip():
                continue
            if not sign or not name.strip():
                raise FieldRefused(_("line %d is no NAME=value") % number, _("write for example LEVEL=debug"))
            if name.strip() in found:
                raise FieldRefused(_("%s appears twice") % name.strip(), _("keep one of them"))
            found[name.strip()] = said
        return found or MISSING


@dataclass(frozen=True, kw_only=True)
class AnythingField(FormField):
    """Any JSON value. `words`: what is no JSON is a text."""

    code: bool = True
    words: bool = False

    @property
    def writes(self) -> str:
        return "json" if not self.words else "meant_lines" if self.rows else "meant"

    def text(self, value: Any) -> str:
        return value if self.words and type(value) is str and not _is_json(value) else as_json(value)

    def value(self, typed: str) -> Any:
        if not typed.strip():
            return MISSING
        if self.words and not _is_json(typed):
            return typed if self.rows else typed.strip()
        return parsed(typed)


@dataclass(frozen=True, kw_only=True)
class RestField(FormField):
    """What no other field covers, as one JSON object: nothing of the document is out of reach, or lost."""

    code: bool = True
    covered: tuple[Place, ...] = ()

    @property
    def writes(self) -> str:
        return "rest"

    def given(self, fragment: Any) -> Any:
        left = self.left(fragment)
        return None if left is MISSING else left

    @property
    def name(self) -> str:
        return join_name(places.name(self.at), "*")

    def shown(self, fragment: Any) -> list[str]:
        left = self.left(fragment)
        return [] if left is MISSING else [as_json(left)]

    def left(self, fragment: Any) -> Any:
        return places.without(places.get(fragment, self.at), self.covered)

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        said = parsed(typed[0]) if typed and typed[0].strip() else {}
        if type(said) is not dict:
            raise FieldRefused(_("has to be an object"), _("for example {}").format('{"extra": {}}'))
        kept = _minus(places.get(fragment, self.at), self.left(fragment))
        return places.put(fragment, self.at, places.overlaid(kept, said))


def join_name(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _minus(value: Any, left: Any) -> Any:
    """`value` without what `left` holds of it."""
    if type(value) is not dict or type(left) is not dict:
        return {} if left is not MISSING else value
    found = {}
    for key, member in value.items():
        if key not in left:
            found[key] = member
        elif type(member) is dict and type(left[key]) is dict and left[key] != member:
            found[key] = _minus(member, left[key])
    return found


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2 if type(value) is dict or _is_deep(value) else None)


def parsed(typed: str) -> Any:
    """Raises Refused with the place."""
    try:
        return json.loads(typed)
    except json.JSONDecodeError as fault:
        message = _("is no JSON in line %(line)d, column %(column)d") % {
            "line": fault.lineno,
            "column": fault.colno,
        }
        raise FieldRefused(message, _("texts stand in double quotes, no comma after the last")) from fault
    except (RecursionError, ValueError) as fault:
        raise FieldRefused(_("is nested too deeply, or contains a number that is too long")) from fault


def _is_json(typed: str) -> bool:
    try:
        parsed(typed)
    except FieldRefused:
        return False
    return True


def _is_json_list(typed: str) -> bool:
    return typed.lstrip().startswith("[") and _is_json(typed)


def _is_deep(value: Any) -> bool:
    return type(value) is list and any(type(each) in (dict, list) for each in value)


def _is_line(name: str, said: Any) -> bool:
    plain = type(said) is str and "\n" not in said and "\r" not in said
    return plain and name.strip() == name and bool(name) and "=" not in name and name[0] != "{"
