"""Hidden characters are written out in pages (`routing.basics.visible`)."""

from __future__ import annotations

import re

from pipelines.routing.basics.visible import HIDDEN, visible

# In them nothing is shown but typed: what stands there is sent back as it is, or read by a script.
_AS_IT_IS = re.compile(
    r"""<(?P<tag>script|style|textarea)\b.*?</(?P=tag)\s*>|\s(?:value|data-[\w-]+)=(?:"[^"]*"|'[^']*')""",
    re.DOTALL | re.IGNORECASE,
)


def visible_page(html: str) -> str:
    """The page with every hidden character as its escape; what fields hold and scripts read stays as it is."""
    if not HIDDEN.search(html):
        return html
    parts, end = [], 0
    for kept in _AS_IT_IS.finditer(html):
        parts += [visible(html[end : kept.start()]), kept.group()]
        end = kept.end()
    return "".join([*parts, visible(html[end:])])
