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


def plan_markdown(plan: dict[str, Any], name: str) -> str:
    """`name`: of the file."""
    parts = [
        f"### Gateline: {escape_markdown(plan['line'] or name)}",
        _headline_text(plan, name),
        *_table_parts("Guarantees", ("Promise", "Result", "Path or reason"), _guarantee_rows(plan)),
        *_problem_parts(plan),
        *_change_parts(plan),
        *_routing_parts(plan),
        *_table_parts(
            "Recorded outcomes under the new rules", ("Verdict", "Decisions"), _backtest_rows(plan)
        ),
        *_impact_parts(plan),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def escape_markdown(value: object) -> str:
    """Return the value as plain text of one line."""
    one = " ".join(str(value).split())
    return _MENTIONS.sub(
        # A zero-width space behind each sign breaks the link, and is not seen.
        lambda match: "".join(f"{sign}\u200b" for sign in match.group(0)),
        _SIGNS.sub(r"\\\1", one),
    )


def _headline_text(plan: dict[str, Any], name: str) -> str:
    live = f"replaces v{plan['live']}" if plan["live"] else "is the first version"
    cost = plan["cost"]
    headline = f"**{VERDICTS[plan['verdict']]}.** {escape_markdown(name)} {live}."
    now, before = (
        _nothing_unlimited_or_cost_text(cost["now"]),
        _nothing_unlimited_or_cost_text(cost["before"]),
    )
    if cost["now"] is not None:
        headline += f" A task costs {now}" + (f" ({before} before)." if before and before != now else ".")
    return headline


def _nothing_unlimited_or_cost_text(amount: str | None) -> str:
    if amount is None:
        return ""
    # GitHub reads what stands between two dollar signs as a formula
    return f"at most \\${amount}" if amount else "without a limit"


def _guarantee_rows(plan: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for guarantee in plan["guarantees"]:
        yield (
            escape_markdown(guarantee["sentence"]),
            ANSWERS[guarantee["answer"]],
            escape_markdown(guarantee["path"] or guarantee["why"]),
        )


def _problem_parts(plan: dict[str, Any]) -> Iterator[str]:
    problems = [finding for finding in plan["findings"] if finding["severity"] in SEVERITIES]
    if problems:
        yield "#### Problems"
        yield "\n".join(map(_finding_item, problems[:MOST])) + _more_item_or_empty(len(problems))


def _finding_item(finding: dict[str, Any]) -> str:
    place = f" (line {finding['line']})" if finding["line"] else ""
    hint = f" · {escape_markdown(finding['hint'])}" if finding["hint"] else ""
    return f"- {SEVERITIES[finding['severity']]}: {escape_markdown(finding['message'])}{place}{hint}"


def _change_parts(plan: dict[str, Any]) -> Iterator[str]:
    changes = plan["changes"] or ()
    if changes:
        rows = "\n".join(f"- {escape_markdown(change['sentence'])}" for change in changes[:MOST])
        yield _details_block(
            f"{len(changes)} change{'s' * (len(changes) != 1)} to the document",
            rows + _more_item_or_empty(len(changes)),
        )


def _routing_parts(plan: dict[str, Any]) -> Iterator[str]:
    difference = plan["difference"]
    if difference is None:
        return
    changes = [*difference["structure"], *difference["changes"], *difference["unknown"]]
    if not changes:
        yield "No outcome goes elsewhere." if difference["difference"] == "none" else ""
        return
    yield "#### Routing changes"
    yield "\n".join(
        f"- {escape_markdown(change['sentence'])}" for change in changes[:MOST]
    ) + _more_item_or_empty(len(changes))


def _backtest_rows(plan: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    backtest = plan["backtest"]
    if backtest and backtest["decisions"].get("total"):
        for key, words in BACKTEST.items():
            if backtest["decisions"].get(key):
                yield words, f"{backtest['decisions'][key]:,}"


def _impact_parts(plan: dict[str, Any]) -> Iterator[str]:
    impact = plan["impact"]
    if not impact or not impact["total"]:
        return
    counts = ", ".join(
        f"{n} {IMPACT.get(key, key.replace('_', ' '))}" for key, n in impact["counts"].items() if n
    )
    yield "#### Running tasks"
    yield f"They stay on their version until somebody migrates them. Migrated now, {escape_markdown(counts)}."
    rows = "\n".join(
        f"- {escape_markdown(task['task'])} “{escape_markdown(task['title'])}”: "
        f"{escape_markdown('; '.join(task['words']))}"
        for task in impact["tasks"][:MOST]
    )
    yield _details_block("The tasks", rows + _more_item_or_empty(impact["total"]))


# Parts of Markdown


def _table_parts(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    body_rows = list(rows)
    if body_rows:
        yield f"#### {title}"
        lines = [head, tuple("---" for _ in head), *body_rows]
        yield "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _details_block(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _more_item_or_empty(count: int) -> str:
    return f"\n- … and {count - MOST} more" if count > MOST else ""
