"""What publishing a file would do, as a comment on a merge request: GitHub, GitLab and Forgejo render it alike.

What a server said is text, never markup: signs that would format, mention somebody or refer to an issue are escaped."""

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


def text(said: object) -> str:
    """As plain text of one line."""
    one = " ".join(str(said).split())
    return _MENTIONS.sub(
        lambda found: "".join(f"{sign}\u200b" for sign in found.group(0)), _SIGNS.sub(r"\\\1", one)
    )


def _head(plan: dict[str, Any], name: str) -> str:
    live = f"replaces v{plan['live']}" if plan["live"] else "is the first version"
    cost = plan["cost"]
    said = f"**{VERDICTS[plan['verdict']]}.** {text(name)} {live}."
    now, before = _dollars(cost["now"]), _dollars(cost["before"])
    if cost["now"] is not None:
        said += f" A task costs {now}" + (f" ({before} before)." if before and before != now else ".")
    return said


def _dollars(amount: str | None) -> str:
    if amount is None:
        return ""
    return f"at most \\${amount}" if amount else "without a limit"


def _guarantees(plan: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for each in plan["guarantees"]:
        yield text(each["sentence"]), ANSWERS[each["answer"]], text(each["path"] or each["why"])


def _findings(plan: dict[str, Any]) -> Iterator[str]:
    found = [each for each in plan["findings"] if each["severity"] in SEVERITIES]
    if found:
        yield "#### Problems"
        yield "\n".join(map(_finding, found[:MOST])) + _more(len(found))


def _finding(each: dict[str, Any]) -> str:
    place = f" (line {each['line']})" if each["line"] else ""
    hint = f" · {text(each['hint'])}" if each["hint"] else ""
    return f"- {SEVERITIES[each['severity']]}: {text(each['message'])}{place}{hint}"


def _changes(plan: dict[str, Any]) -> Iterator[str]:
    found = plan["changes"] or ()
    if found:
        rows = "\n".join(f"- {text(each['sentence'])}" for each in found[:MOST])
        yield _folded(
            f"{len(found)} change{'s' * (len(found) != 1)} to the document", rows + _more(len(found))
        )


def _routing(plan: dict[str, Any]) -> Iterator[str]:
    difference = plan["difference"]
    if difference is None:
        return
    found = [*difference["structure"], *difference["changes"], *difference["unknown"]]
    if not found:
        yield "No outcome goes elsewhere." if difference["difference"] == "none" else ""
        return
    yield "#### Routing changes"
    yield "\n".join(f"- {text(each['sentence'])}" for each in found[:MOST]) + _more(len(found))


def _backtest(plan: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    found = plan["backtest"]
    if found and found["decisions"].get("total"):
        for key, words in BACKTEST.items():
            if found["decisions"].get(key):
                yield words, f"{found['decisions'][key]:,}"


def _impact(plan: dict[str, Any]) -> Iterator[str]:
    found = plan["impact"]
    if not found or not found["total"]:
        return
    counts = ", ".join(
        f"{n} {IMPACT.get(key, key.replace('_', ' '))}" for key, n in found["counts"].items() if n
    )
    yield "#### Running tasks"
    yield f"They stay on their version until somebody migrates them. Migrated now, {text(counts)}."
    rows = "\n".join(
        f"- {text(each['task'])} “{text(each['title'])}”: {text('; '.join(each['words']))}"
        for each in found["tasks"][:MOST]
    )
    yield _folded("The tasks", rows + _more(found["total"]))


# Parts of Markdown


def _table(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    found = list(rows)
    if found:
        yield f"#### {title}"
        lines = [head, tuple("---" for _ in head), *found]
        yield "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _more(count: int) -> str:
    return f"\n- … and {count - MOST} more" if count > MOST else ""
