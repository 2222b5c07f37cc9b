"""A remedy of a finding, as a value: words for a button, and the edits that it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.web.editor.fixes.edits import Edit


@dataclass(frozen=True, slots=True)
class Remedy:
    """`fix`: what the button says where it is called the fix: a whole sentence, since no label can be taken into one in
    every language."""

    label: str
    fix: str
    edits: tuple[Edit, ...]
    icon: str = "check"

    def to_dict(self) -> dict[str, Any]:
        return {"label": self.label, "fix": self.fix, "edits": list(self.edits), "icon": self.icon}
