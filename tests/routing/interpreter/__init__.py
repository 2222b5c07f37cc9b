"""A second reading of the routing law, for tests only.

`decide(document, situation)` takes a line document and a situation as plain JSON values and answers the
decision of `docs/law/line-document.md` as a plain dictionary, without its trace. It is written from the sentences of
`docs/law` alone and imports nothing of the product: where both agree on thousands
of random lines, a mistake must have been made twice, independently. Plain and slow on purpose; each piece of
code stands beside the sentence that it repeats.

Joins (§7) stand in `joins.py`, forks inside of forks among them. That contenox also keeps what a branch composed as
`<task>_<when>_composed` is its own naming, which no native document knows (§8a names the variable): not covered.
"""

from .law import decide

__all__ = ["decide"]
