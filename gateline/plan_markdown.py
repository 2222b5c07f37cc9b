"""Effects of publishing a file, as a comment on a merge request: GitHub, GitLab and Forgejo render it alike.

Messages of a server are text, never markup: signs that would format, mention somebody or refer to an issue
are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

VERDICTS = {
    "ready": "Can be published",
    "same": "Nothing changes",
    "acknowledge": "Can be published after its warnings are acknowledged",
    "refused": "Cannot be published",
}
ANSWERS = {"proved": "Proved", "refuted": "**Refuted**", "unknown": "**Unknown**"}
SEVERITIES = {"error": "**Error**", "warning": "Warning"}
BACKTEST = {
    "same": "same",
    "different": "different",
    "gate_newly_required": "new approval required",
    "gate_newly_skipped": "approval no longer required",
    "undecidable": "undecidable",
}
IMPACT = {
    "stays": "would stay",
    "moves": "would move",
    "approve_again": "would have to be approved again",
    "stuck": "would get stuck",
}
MOST = 20
_SIGNS = re.compile(r"([\\`*_{}\[\]()<>#+!|~$-])")
# What hosts link although nothing is markup: @name, &12, https://…, www.…
_MENTIONS = re.compile(r"([@&])(?=\w)|(?<=\w)(://)|(?<!\w)(www\.)")


def markdown(plan: dict[str, Any], name: str) -> str:
    """`name`: of the file."""
    parts = [
        f"### Gateline: {text(plan['line'] or name)}",
        _head(plan, name),
        *_table("Guarantees", ("Promise", "Result", "Path or reason"), _guarantees(plan)),
        *_findings(plan),
        *_changes(plan),
        *_routing(plan),
        *_table("Recorded outcomes under the new rules", ("Verdict", "Decisions"), _backtest(plan)),
        *_impact(plan),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def text(value: object) -> str:
    """Return the value as plain text of one line."""
    one = " ".join(str(value).split())
    return _MENTIONS.sub(
        # A zero-width space behind each sign breaks the link, and is not seen.
        lambda match: "".join(f"{sign}\u200b" for sign in match.group(0)),
        _SIGNS.sub(r"\\\1", one),
    )


def _head(plan: dict[str, Any], name: str) -> str:
    live = f"replaces v{plan['live']}" if plan["live"] else "is the first version"
    cost = plan["cost"]
    headline = f"**{VERDICTS[plan['verdict']]}.** {text(name)} {live}."
    now, before = _dollars(cost["now"]), _dollars(cost["before"])
    if cost["now"] is not None:
        headline += f" A task costs {now}" + (f" ({before} before)." if before and before != now else ".")
    return headline


def _dollars(amount: str | None) -> str:
    if amount is None:
        return ""
    # GitHub reads what stands between two dollar signs as a formula
    return f"at most \\${amount}" if amount else "without a limit"


def _guarantees(plan: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for guarantee in plan["guarantees"]:
        yield (
            text(guarantee["sentence"]),
            ANSWERS[guarantee["answer"]],
            text(guarantee["path"] or guarantee["why"]),
        )


def _findings(plan: dict[str, Any]) -> Iterator[str]:
    problems = [finding for finding in plan["findings"] if finding["severity"] in SEVERITIES]
    if problems:
        yield "#### Problems"
        yield "\n".join(map(_finding, problems[:MOST])) + _more(len(problems))


def _finding(finding: dict[str, Any]) -> str:
    place = f" (line {finding['line']})" if finding["line"] else ""
    hint = f" · {text(finding['hint'])}" if finding["hint"] else ""
    return f"- {SEVERITIES[finding['severity']]}: {text(finding['message'])}{place}{hint}"


def _changes(plan: dict[str, Any]) -> Iterator[str]:
    changes = plan["changes"] or ()
    if changes:
        rows = "\n".join(f"- {text(change['sentence'])}" for change in changes[:MOST])
        yield _folded(
            f"{len(changes)} change{'s' * (len(changes) != 1)} to the document", rows + _more(len(changes))
        )


def _routing(plan: dict[str, Any]) -> Iterator[str]:
    difference = plan["difference"]
    if difference is None:
        return
    changes = [*difference["structure"], *difference["changes"], *difference["unknown"]]
    if not changes:
        yield "No outcome goes elsewhere." if difference["difference"] == "none" else ""
        return
    yield "#### Routing changes"
    yield "\n".join(f"- {text(change['sentence'])}" for change in changes[:MOST]) + _more(len(changes))


def _backtest(plan: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    backtest = plan["backtest"]
    if backtest and backtest["decisions"].get("total"):
        for key, words in BACKTEST.items():
            if backtest["decisions"].get(key):
                yield words, f"{backtest['decisions'][key]:,}"


def _impact(plan: dict[str, Any]) -> Iterator[str]:
    impact = plan["impact"]
    if not impact or not impact["total"]:
        return
    counts = ", ".join(
        f"{n} {IMPACT.get(key, key.replace('_', ' '))}" for key, n in impact["counts"].items() if n
    )
    yield "#### Running tasks"
    yield f"They stay on their version until somebody migrates them. Migrated now, {text(counts)}."
    rows = "\n".join(
        f"- {text(task['task'])} “{text(task['title'])}”: {text('; '.join(task['words']))}"
        for task in impact["tasks"][:MOST]
    )
    yield _folded("The tasks", rows + _more(impact["total"]))


# Parts of Markdown


def _table(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    body_rows = list(rows)
    if body_rows:
        yield f"#### {title}"
        lines = [head, tuple("---" for _ in head), *body_rows]
        yield "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _more(count: int) -> str:
    return f"\n- … and {count - MOST} more" if count > MOST else ""
