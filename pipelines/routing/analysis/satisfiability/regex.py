"""The part of RE2 that is turned into automata; anything else raises Unknown.

Literals, `.`, classes, `\\d \\w \\s` and their opposites, groups, `|`, `* + ? {m,n}` (lazy or not: for a search
it is the same), `^ $ \\A \\z`, and `(?i)` for ASCII letters. An expression becomes an NFA: states are numbers,
`moves[s]` are edges by a set of characters, `free[s]` edges without one, possibly bound to an end of the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pipelines.routing.analysis.satisfiability.search_failures import Unknown
from pipelines.routing.basics.wording import Wording as _

MAX_STATES = 1_500
MAX_CHARACTER = 0x10FFFF
Ranges = tuple[tuple[int, int], ...]

# RE2's classes are ASCII only; \s has no vertical tab (11).
DIGITS: Ranges = ((48, 57),)
WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
SPACE: Ranges = ((9, 10), (12, 13), (32, 32))
CLASSES = {"d": DIGITS, "w": WORD, "s": SPACE}
CONTROLS = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11, "a": 7}
FOLDED = {107: 0x212A, 115: 0x17F}
"""Under `(?i)` RE2 lets k match the Kelvin sign, and s the long s."""

START, END = "^", "$"


def complement_ranges(ranges: Ranges) -> Ranges:
    gaps, after = [], 0
    for low, high in sorted(ranges):
        if low > after:
            gaps.append((after, low - 1))
        after = max(after, high + 1)
    if after <= MAX_CHARACTER:
        gaps.append((after, MAX_CHARACTER))
    return tuple(gaps)


@dataclass
class Nfa:
    moves: list[list[tuple[Ranges, int]]] = field(default_factory=list)
    free: list[list[tuple[str, int]]] = field(default_factory=list)
    start: int = 0
    final: int = 0

    def add_state(self) -> int:
        if len(self.moves) >= MAX_STATES:
            raise Unknown("the pattern is too large for an automaton")
        self.moves.append([])
        self.free.append([])
        return len(self.moves) - 1


Node = (
    tuple  # ("set", ranges) | ("at", where) | ("all", nodes) | ("any", nodes) | ("times", node, least, most)
)


def compile_nfa(pattern: str) -> Nfa:
    """Raises Unknown outside the subset."""
    node = _RegexParser(pattern).parse_pattern()
    nfa = Nfa()
    nfa.start = nfa.add_state()
    nfa.final = _add_node(nfa, node, nfa.start)
    return nfa


def _add_node(nfa: Nfa, node: Node, source: int) -> int:
    """Draws the node from `source` on; the state where it ends."""
    kind = node[0]
    if kind in ("set", "at"):
        target = nfa.add_state()
        if kind == "set":
            nfa.moves[source].append((node[1], target))
        else:
            nfa.free[source].append((node[1], target))
        return target
    if kind == "all":
        for member in node[1]:
            source = _add_node(nfa, member, source)
        return source
    if kind == "any":
        target = nfa.add_state()
        for member in node[1]:
            nfa.free[_add_node(nfa, member, source)].append(("", target))
        return target
    return _add_repeated_node(nfa, node, source)


def _add_repeated_node(nfa: Nfa, node: Node, source: int) -> int:
    _, inner, least, most = node
    for _ in range(least):
        source = _add_node(nfa, inner, source)
    if most is None:
        loop, after = nfa.add_state(), nfa.add_state()
        nfa.free[source].append(("", loop))
        nfa.free[_add_node(nfa, inner, loop)].append(("", loop))
        nfa.free[loop].append(("", after))
        return after
    after = nfa.add_state()
    for _ in range(most - least):
        nfa.free[source].append(("", after))
        source = _add_node(nfa, inner, source)
    nfa.free[source].append(("", after))
    return after


class _RegexParser:
    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.fold = False
        if pattern.startswith("(?i)"):
            self.fold, self.at = True, 4

    def parse_pattern(self) -> Node:
        node = self._parse_choice()
        if self.at < len(self.text):
            raise self._unknown_syntax_error()
        return node

    def _unknown_syntax_error(self) -> Unknown:
        return Unknown(
            _("the pattern uses, at position %(at)s, what is not turned into an automaton", at=self.at)
        )

    def _peek_character(self) -> str:
        return self.text[self.at : self.at + 1]

    def _next_character(self) -> str:
        character = self._peek_character()
        if not character:
            raise self._unknown_syntax_error()
        self.at += 1
        return character

    def _parse_choice(self) -> Node:
        branches = [self._parse_sequence()]
        while self._peek_character() == "|":
            self.at += 1
            branches.append(self._parse_sequence())
        return branches[0] if len(branches) == 1 else ("any", branches)

    def _parse_sequence(self) -> Node:
        members = []
        while self._peek_character() not in ("", "|", ")"):
            members.append(self._parse_repetition(self._parse_single()))
        return ("all", members)

    def _parse_repetition(self, node: Node) -> Node:
        sign = self._peek_character()
        if sign and sign in "*+?":
            self.at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        elif sign == "{":
            least, most = self._parse_least_and_most_repeats()
        else:
            return node
        if self._peek_character() == "?":
            self.at += 1
        # A repetition of a repetition, such as `a**`
        if self._peek_character() and self._peek_character() in "*+?{":
            raise self._unknown_syntax_error()
        return ("times", node, least, most)

    def _parse_least_and_most_repeats(self) -> tuple[int, int | None]:
        close = self.text.find("}", self.at)
        low, comma, high = self.text[self.at + 1 : close].partition(",")
        # Digits of other scripts are digits to Python, too, and count nothing in a pattern
        plain = low.isascii() and low.isdigit() and (not high or (high.isascii() and high.isdigit()))
        if close < 0 or not plain:
            raise self._unknown_syntax_error()
        self.at = close + 1
        # `{2,3}`, `{2,}` and `{2}`
        return int(low), int(high) if high else None if comma else int(low)

    def _parse_single(self) -> Node:
        sign = self._next_character()
        if sign == "(":
            return self._parse_group()
        if sign == "[":
            return ("set", self._parse_character_class())
        if sign == ".":
            # Without the flag `s` the dot matches anything but a line feed.
            return ("set", complement_ranges(((10, 10),)))
        if sign in "^$":
            return ("at", sign)
        if sign == "\\":
            return self._parse_escaped_node()
        if sign in "*+?{":
            self.at -= 1
            raise self._unknown_syntax_error()
        return ("set", self._with_both_cases(((ord(sign), ord(sign)),)))

    def _parse_group(self) -> Node:
        if self.text.startswith("?:", self.at):
            self.at += 2
        elif self._peek_character() == "?":
            raise self._unknown_syntax_error()
        node = self._parse_choice()
        if self._next_character() != ")":
            raise self._unknown_syntax_error()
        return node

    def _parse_escaped_node(self) -> Node:
        sign = self._peek_character()
        if sign in ("A", "z"):
            self.at += 1
            return ("at", START if sign == "A" else END)
        return ("set", self._with_both_cases(self._parse_escaped_ranges()))

    def _parse_escaped_ranges(self) -> Ranges:
        sign = self._next_character()
        if sign.lower() in CLASSES:
            # Digits and white space have no case; folding may change the other classes.
            if self.fold and sign not in "ds":
                raise self._unknown_syntax_error()
            ranges = CLASSES[sign.lower()]
            return ranges if sign.islower() else complement_ranges(ranges)
        if sign in CONTROLS:
            return ((CONTROLS[sign], CONTROLS[sign]),)
        if sign.isascii() and not sign.isalnum():
            return ((ord(sign), ord(sign)),)
        self.at -= 1
        raise self._unknown_syntax_error()

    def _parse_character_class(self) -> Ranges:
        negated = self._peek_character() == "^"
        self.at += negated
        ranges: list[tuple[int, int]] = []
        first = True
        # Right after the opening bracket `]` is a member, as in `[]a]`.
        while first or self._peek_character() != "]":
            first = False
            ranges.extend(self._parse_class_member())
        self.at += 1
        folded = self._with_both_cases(tuple(ranges))
        return complement_ranges(folded) if negated else folded

    def _parse_class_member(self) -> Ranges:
        low = self._parse_range_end()
        if len(low) != 1 or low[0][0] != low[0][1] or self._peek_character() != "-":
            return low
        # A hyphen at the end is a member, as in `[a-]`.
        if self.text[self.at + 1 : self.at + 2] == "]":
            return low
        self.at += 1
        high = self._parse_range_end()
        if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
            raise self._unknown_syntax_error()
        return ((low[0][0], high[0][0]),)

    def _parse_range_end(self) -> Ranges:
        sign = self._next_character()
        if sign == "[":  # a class by name, perhaps
            raise self._unknown_syntax_error()
        return self._parse_escaped_ranges() if sign == "\\" else ((ord(sign), ord(sign)),)

    def _with_both_cases(self, ranges: Ranges) -> Ranges:
        if not self.fold:
            return ranges
        if any(high > 127 for _, high in ranges):
            raise Unknown("(?i) beyond ASCII is not turned into an automaton")
        expanded = list(ranges)
        for low, high in ranges:
            for code in range(low, high + 1):
                if chr(code).isalpha():
                    # Upper and lower case of an ASCII letter differ in the bit 32 alone.
                    expanded.append((code ^ 32, code ^ 32))
                    expanded += [(FOLDED[code | 32],) * 2] if code | 32 in FOLDED else []
        return tuple(expanded)
