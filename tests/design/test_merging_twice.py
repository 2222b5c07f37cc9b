"""The canvas puts drafts together as the server does: both read the same cases (static/editor/store/merge.ts)."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from pipelines.formats.line_merge import merge_documents
from tests.design.typescript import run

MERGE = """
const { merge } = load("static/editor/store/merge.ts");
return asked.map(([base, mine, theirs]) => {
  const kept = write([base, mine, theirs]);
  const open = merge(base, mine, theirs, () => undefined);
  const mineWins = merge(base, mine, theirs, () => "mine").document;
  const untouched = kept === write([base, mine, theirs]);
  return { document: open.document, clashes: open.open, mineWins, untouched };
});
"""


def document(random: Random) -> dict[str, Any]:
    """Small, so that three of them often have the same parts and say different things of them."""

    def some(keys: str, make: Any) -> list[Any]:
        return [make(key) for key in random.sample(keys, random.randint(0, 3))]

    def maybe(**fields: list[Any]) -> dict[str, Any]:
        return {key: random.choice(values) for key, values in fields.items() if random.random() < 0.4}

    def rule(key: str) -> dict[str, Any]:
        return {"id": key, "to": random.choice("ab"), **maybe(when=[0, 1])}

    def station(key: str) -> dict[str, Any]:
        more = maybe(name=["x", "y", "ü\u2028"], rules=[some("pqrs", rule)])
        return {"key": key, **more, **({"odd key": True} if random.random() < 0.2 else {})}

    return {
        "stations": some("abcd", station),
        **maybe(
            name=["A", "B"],
            extra=[{}, {"a": 0}, {"a": 1, "b": None}],
            gates=[[], "none", [{"key": "g"}], [{"key": "g"}, {"key": "g"}]],
            number=[0, 1, True, False, None],
            constructor=[0, {"toString": 1}],
            __proto__=[{}, {"a": 1}, {"__proto__": 2}],
        ),
    }


def cases() -> list[list[Any]]:
    random = Random(5)
    found: list[list[Any]] = []
    for _ in range(600):
        base, mine, theirs = document(random), document(random), document(random)
        half = {**base, **mine}
        found += [[base, mine, theirs], [base, half, theirs], [base, base, theirs], [base, mine, base]]
    return found


def test_both_find_the_same_document_and_the_same_clashes() -> None:
    tried = cases()
    told = run(MERGE, tried)
    assert any(each["clashes"] for each in told)
    for case, each in zip(tried, told, strict=True):
        here = merge_documents(*case)
        assert each["untouched"]
        assert json.dumps(each["document"], sort_keys=True) == json.dumps(here.document, sort_keys=True), case
        clashes = [{"path": c.path, "base": c.base, "mine": c.mine, "theirs": c.theirs} for c in here.clashes]
        assert each["clashes"] == clashes, case
        turned = merge_documents(case[0], case[2], case[1]).document
        assert _sets(each["mineWins"]) == _sets(turned), case


def _sets(document: Any) -> Any:
    """Which of two orders counts where both changed it is a choice of its own: only the members are compared."""
    if isinstance(document, dict):
        return {key: _sets(value) for key, value in document.items()}
    if isinstance(document, list):
        return sorted((_sets(each) for each in document), key=lambda each: json.dumps(each, sort_keys=True))
    return document
