"""The Publish page as a browser has it in the end: the page and its parts, and the form that they make together."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from django.test import Client

from tests.factories import World
from tests.pages.conftest import at, text

PARTS = ("changes", "findings", "difference", "impact")


def parts(client: Client, world: World, key: str, **query: str) -> dict[str, str]:
    address = at(world, "line-publish", key)
    return {name: text(client.get(address, {"part": name, **query})) for name in PARTS}


def fields(html: str) -> dict[str, list[str]]:
    """Every input of the form; what can be ticked is ticked."""
    found: dict[str, list[str]] = {}
    for tag in re.findall(r"<input\s[^>]*>", html):
        given = {name: unescape(value) for name, value in re.findall(r'([\w-]+)="([^"]*)"', tag)}
        of_the_form = given.get("form") == "publish-form" or given.get("name") in ("based_on", "live")
        if of_the_form and given.get("type") in ("hidden", "checkbox"):
            found.setdefault(given["name"], []).append(given["value"])
    return found


def as_shown(client: Client, world: World, key: str = "app-check", **said: Any) -> dict[str, Any]:
    """What a POST sends of somebody who ticked everything on the page as it is now."""
    mapping = {name: value for name, value in said.items() if name.startswith("map:")}
    html = text(client.get(at(world, "line-publish", key))) + "".join(
        parts(client, world, key, **mapping).values()
    )
    return {**fields(html), **said}
