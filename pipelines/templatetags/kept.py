"""`{% kept a b %}…{% endkept %}`: drawn once for each set of these values, then kept by this process.

For what depends on nothing else: no person, no token of a form, no nonce, no row."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context, Node, NodeList
from django.template.base import FilterExpression, Parser, Token
from django.utils.safestring import SafeString

from pipelines.templatetags.gateline import built_file_url_or_empty

register = template.Library()
MOST = 100
"""Sets of values of one place that are kept."""


class CachedNode(Node):
    """Template node with a cache of its output, which lives as long as its template: an edited one is
    rendered anew."""

    child_nodelists = ("nodelist",)

    def __init__(self, nodelist: NodeList, values: list[FilterExpression]) -> None:
        self.nodelist, self.values = nodelist, values
        self.drawn: dict[tuple[Any, ...], SafeString] = {}

    def render(self, context: Context) -> SafeString:
        values = (str(expression.resolve(context)) for expression in self.values)
        # A rebuilt sprite has another address.
        key = (built_file_url_or_empty("static/icons.json"), *values)
        html = self.drawn.get(key)
        if html is None:
            if len(self.drawn) >= MOST:
                self.drawn.clear()
            html = self.drawn[key] = self.nodelist.render(context)
        return html


@register.tag
def kept(parser: Parser, token: Token) -> CachedNode:
    _name, *values = token.split_contents()
    nodelist = parser.parse(("endkept",))
    parser.delete_first_token()
    return CachedNode(nodelist, [parser.compile_filter(argument) for argument in values])
