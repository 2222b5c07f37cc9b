"""What is drawn once and kept: each set of its values on its own, and no other value at all."""

from __future__ import annotations

from django.template import Context, Template

from pipelines.templatetags import kept

DRAWN = Template("{% load kept %}{% kept shown %}{{ shown }} {{ beside }}{% endkept %}")


def drawn(**values: str) -> str:
    return DRAWN.render(Context(values))


def test_it_is_drawn_once_for_each_value() -> None:
    assert drawn(shown="a", beside="1") == "a 1"
    assert drawn(shown="b", beside="2") == "b 2"
    assert drawn(shown="a", beside="3") == "a 1", "what is not named must not be in it"


def test_what_is_kept_is_bounded_and_escaped() -> None:
    for number in range(kept.MOST + 5):
        drawn(shown=f"<{number}>")
    node = DRAWN.nodelist[-1]
    assert isinstance(node, kept.CachedNode) and len(node.drawn) <= kept.MOST
    assert drawn(shown="<x>") == "&lt;x&gt; "
