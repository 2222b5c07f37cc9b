"""`{% optional note small %}`: the names that a template goes without; each is "" where nobody gives it.

Components declare theirs by `<c-vars>`. Any other name that a template asks for has to be there."""

from __future__ import annotations

from django import template
from django.template import Context, Node
from django.template.base import Parser, Token

register = template.Library()


class OptionalNode(Node):
    def __init__(self, names: list[str]) -> None:
        self.names = names

    def render(self, context: Context) -> str:
        for name in self.names:
            if name not in context:
                context[name] = ""
        return ""


@register.tag
def optional(parser: Parser, token: Token) -> OptionalNode:
    _tag, *names = token.split_contents()
    return OptionalNode(names)
