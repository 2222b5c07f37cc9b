"""A remedy of a finding, as a value: words for a button, and the edits that it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.web.editor.fixes.edits import Edit


@dataclass(frozen=True, slots=True)
class Remedy:
    label: str
    edits: tuple[Edit, ...]
    icon: str = "check"

    def to_dict(self) -> dict[str, Any]:
        return {"label": self.label, "edits": list(self.edits), "icon": self.icon}
