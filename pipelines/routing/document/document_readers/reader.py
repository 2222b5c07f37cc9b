"""Reading one object of a document: every fault is noted with its path, none stops the reading."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from pipelines.routing.basics.durations import DurationError, parse_seconds
from pipelines.routing.basics.problems import Problem, member_path
from pipelines.routing.basics.values import kind_phrase, whole_number_or_none
from pipelines.routing.basics.wording import PartName, joined_wording, people_text
from pipelines.routing.basics.wording import Wording as _

T = TypeVar("T")


MOST_PROBLEMS = 500
"""That one document is told. Nobody reads more, and each costs a search for the word that was meant."""


class Problems:
    """The faults found so far: the first `MOST_PROBLEMS` of them, and how many there are."""

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self._count = 0

    def note(self, path: str, message: str, hint: str = "") -> None:
        self.note_lazily(path, message, lambda: hint)

    def note_lazily(self, path: str, message: str, hint: Callable[[], str]) -> None:
        """`hint` is asked only where the fault is told."""
        if self._count < MOST_PROBLEMS:
            self.found.append(Problem(path, message, hint()))
        self._count += 1

    def extend(self, others: Problems) -> None:
        self.found += others.found[: max(0, MOST_PROBLEMS - self._count)]
        self._count += len(others)

    def all(self) -> list[Problem]:
        """Return the reported problems, and how many are not reported."""
        more = self._count - len(self.found)
        return (
            [*self.found, Problem("", _("there are %(more)s more problems", more=more))]
            if more
            else self.found
        )

    def __len__(self) -> int:
        return self._count


class Reader:
    """The members of one object. Ask for each known key once, then call `note_unknown_keys`: the rest is unknown."""

    def __init__(self, value: Any, path: str, problems: Problems) -> None:
        self.path = path
        self.problems = problems
        self.given: dict[str, Any] = value if type(value) is dict else {}
        # A dict for its order: hints name the keys as they were asked for.
        self.known: dict[str, None] = {}
        self.values: dict[str, Any] = {}
        """What its declared keys say, as far as they are read (`fields.record`)."""
        self.is_object = type(value) is dict
        if not self.is_object:
            problems.note(path, _("has to be an object, not %(value)s", value=kind_phrase(value)))

    def path_of(self, key: str) -> str:
        return member_path(self.path, key)

    def note(self, key: str, message: str, hint: str = "") -> None:
        """Note a problem of a key. Nothing more is reported of a value that is no object."""
        if self.is_object:
            self.problems.note(self.path_of(key), message, hint)

    def has(self, key: str) -> bool:
        return key in self.given

    def raw(self, key: str, default: Any = None) -> Any:
        self.known[key] = None
        return self.given.get(key, default)

    def _read_typed(self, key: str, default: T, value_type: type, words: str) -> T:
        value = self.raw(key, default)
        if key in self.given and type(value) is not value_type:
            self.note(key, _("has to be %(words)s, not %(value)s", words=words, value=kind_phrase(value)))
            return default
        return value

    def text(self, key: str, default: str = "", *, required: bool = False, longest: int = 100_000) -> str:
        value = self._read_typed(key, default, str, "a text")
        if required and key not in self.given:
            self.note(key, "is missing")
        # Of any other type it was told above what it has to be
        elif required and not value.strip() and type(self.given[key]) is str:
            self.note(key, "is empty")
        elif len(value) > longest:
            self.note(key, _("is longer than %(most)s characters", most=longest))
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        return self._read_typed(key, default, bool, "true or false")

    def count(self, key: str, default: int | None = None, *, least: int = 0) -> int | None:
        value = self.raw(key, default)
        if key not in self.given:
            return default
        number = whole_number_or_none(value)
        if number is None or number < least:
            self.note(key, _("has to be a whole number, %(least)s or more", least=least))
            return default
        return number

    def duration(self, key: str) -> float | None:
        value = self.raw(key)
        if key not in self.given:
            return None
        try:
            return parse_seconds(value)
        except DurationError as error:
            self.note(key, str(error))
            return None

    def choice(self, key: str, choices: Collection[str], default: str) -> str:
        value = self._read_typed(key, default, str, "a text")
        # A default may be none of the choices: nobody has written it
        if value not in choices and key in self.given:
            self.note(key, unknown_word_message(value), expected_hint(value, choices))
            return default
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        texts: list[str] = []
        members: list[Any] = self._read_typed(key, [], list, "a list of texts")
        for index, member in enumerate(members):
            if type(member) is str and member:
                texts.append(member)
            else:
                message = (
                    "is empty"
                    if member == ""
                    else _("has to be a text, not %(member)s", member=kind_phrase(member))
                )
                self.problems.note(member_path(self.path_of(key), index), message)
        return tuple(texts)

    def object(self, key: str) -> dict[str, Any]:
        return self._read_typed(key, {}, dict, "an object")

    def members(self, key: str) -> Iterator[tuple[Any, str]]:
        """Yield each member of a list with its path."""
        members: list[Any] = self._read_typed(key, [], list, "a list")
        for index, member in enumerate(members):
            yield member, member_path(self.path_of(key), index)

    def read_list(self, key: str, read: Callable[[Reader], T]) -> tuple[T, ...]:
        """A list of objects, each read by `read`."""
        return tuple(read(Reader(member, path, self.problems)) for member, path in self.members(key))

    def read_object_or_none(self, key: str, read: Callable[[Reader], T]) -> T | None:
        """An object read by `read`, None where it is absent."""
        value = self.raw(key)
        return read(Reader(value, self.path_of(key), self.problems)) if key in self.given else None

    def note_unknown_keys(self) -> None:
        for key in self.given:
            if key not in self.known:
                # In YAML a number or a date may be a key
                name = key if type(key) is str else repr(key)
                self.problems.note_lazily(
                    self.path_of(name), "unknown key", partial(expected_hint, name, tuple(self.known))
                )


def quoted_value(value: str) -> str:
    return f"“{value if len(value) <= 60 else value[:60] + '…'}”"


def unknown_word_message(value: str) -> _:
    """Return the message about a word that is no choice of its field. People read it after the name of the
    field, or below the field."""
    return _.of(f"{quoted_value(value)} is not known", _("cannot be %(value)s", value=quoted_value(value)))


def expected_hint(value: str, choices: Collection[str]) -> str:
    """Return a hint: the known word nearest to `value`, else all known words. `choices` may map each word to
    its label in forms, which people read then."""
    known = [*filter(None, choices)]
    # Cut, as each comparison takes time by the lengths of both words.
    near = difflib.get_close_matches(value[:100], known[:500], n=1)
    labels = choices if isinstance(choices, Mapping) else {}
    if near:
        return _("did you mean %(word)s?", word=_choice_name(near[0], labels))
    if not known:
        return ""
    return one_of_hint(known[:20], labels, more=len(known) > 20)


def one_of_hint(known: Collection[str], labels: Mapping[str, str], *, more: bool = False) -> _:
    """Return a hint with every known word. `labels`: the words as forms show them, where they do."""
    every = joined_wording([*(_choice_name(word, labels) for word in known), *(["…"] if more else [])], ", ")
    machine = _("known: %(words)s", words=every)
    return _.of(machine, _("choose one of: %(words)s", words=every)) if labels else machine


def _choice_name(word: str, labels: Mapping[str, str]) -> PartName | str:
    return PartName(word, lambda: f"“{people_text(labels[word])}”") if word in labels else word
