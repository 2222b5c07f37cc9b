"""Report of the findings of lint, as text for people and as JSON for machines: the same for every window."""

from __future__ import annotations

from pipelines.routing.analysis.lint.examination import Examination
from pipelines.routing.analysis.lint.finding import Finding
from pipelines.routing.basics import jsontext


def report(examination: Examination, *, as_json: bool = False) -> str:
    return _as_json(examination) if as_json else _as_text(examination)


def _as_json(examination: Examination) -> str:
    return jsontext.dumps(examination.to_dict(), indent=2)


def _as_text(examination: Examination) -> str:
    total = ", ".join(f"{count} {severity}" for severity, count in examination.counts().items() if count)
    return "\n".join([*map(_finding_text, examination.findings), total or "Nothing found."])


def _finding_text(finding: Finding) -> str:
    if finding.witness is None:
        return str(finding)
    example = {
        key: finding.witness.situation[key]
        for key in ("outcome", "facts")
        if key in finding.witness.situation
    }
    return f"{finding}\n    for example {jsontext.dumps(example, ascii_only=False)}"
