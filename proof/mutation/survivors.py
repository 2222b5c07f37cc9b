"""What a surviving mutant changed, and where: file, line, the code before and after."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from proof.mutation.sample import module_of


@dataclass(frozen=True)
class Survivor:
    """`name` is mutmut's, good for one state of the sources; path, function and change outlive other edits."""

    name: str
    path: str
    function: str
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.function}\n  - {self.before}\n  + {self.after}"

    @property
    def identity(self) -> tuple[str, str, str, str]:
        return self.path, self.function, self.before, self.after


def survivor(root: Path, mutant: str, difference: str) -> Survivor:
    path = module_of(mutant).replace(".", "/") + ".py"
    function = function_of(mutant)
    removed = [line[1:] for line in _body(difference) if line.startswith("-")]
    added = [line[1:] for line in _body(difference) if line.startswith("+")]
    source = (root / path).read_text()
    near = _start(source, function) + _offset(difference)
    return Survivor(mutant, path, function, _place(source, removed, near), _joined(removed), _joined(added))


def function_of(mutant: str) -> str:
    """`x_find__mutmut_3` is a mutant of `find`, `xǁPathǁfind__mutmut_3` of `Path.find`."""
    mangled = mutant.rpartition(".")[2].rpartition("__mutmut_")[0]
    return mangled.removeprefix("xǁ").replace("ǁ", ".") if "ǁ" in mangled else mangled.removeprefix("x_")


def _body(difference: str) -> list[str]:
    return [line for line in difference.splitlines() if not line.startswith(("---", "+++", "# ", "@@"))]


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines)


def _start(source: str, function: str) -> int:
    """The first line of the function or method, from 1."""
    scope: list[ast.stmt] = ast.parse(source).body
    line = 1
    for name in function.split("."):
        found = next(node for node in scope if getattr(node, "name", None) == name)
        line, scope = found.lineno, getattr(found, "body", [])
    return line


def _offset(difference: str) -> int:
    """Lines from the first of the function to the first one that changed."""
    hunk = re.search(r"^@@ -(\d+)", difference, re.MULTILINE)
    first = int(hunk[1]) if hunk else 1
    same = next((i for i, line in enumerate(_body(difference)) if line.startswith(("-", "+"))), 0)
    return first - 1 + same


def _place(source: str, removed: list[str], near: int) -> int:
    """The line of the file with the text that was removed, nearest to where it is expected."""
    wanted = removed[0].strip() if removed else ""
    lines = enumerate((line.strip() for line in source.splitlines()), 1)
    return min((i for i, line in lines if line == wanted), key=lambda i: abs(i - near), default=near)
