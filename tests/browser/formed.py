"""A line whose forms are filled in by the browser tests of the canvas, and how a form is opened."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

TAKEN = {"from": "build", "to": "check", "at_least": 3}
DOCUMENT: dict[str, Any] = {
    "gateline": 1,
    "key": "formed",
    "name": "Formed",
    "start": "build",
    "policy": {"on_failure": "station:build"},
    "inputs": [{"key": "who", "type": "text", "label": "Whom to greet"}],
    "stations": [
        {
            "key": "build",
            "name": "Build",
            "work": {"kind": "command", "argv": ["make", "{{input.who}}"]},
            "rules": [{"id": "on", "to": "check", "gates": ["look"]}],
            "extra": {"theirs": 1},
        },
        {
            "key": "check",
            "name": "Check",
            "work": {"kind": "manual"},
            "rules": [
                {"id": "again", "when": {"not": {"edge": TAKEN}}, "to": "build"},
                {"id": "done", "to": "completed"},
            ],
        },
    ],
    "gates": [{"key": "look", "name": "Look", "on_reject": "route:build"}],
}


def configure(page: Page, key: str) -> Locator:
    page.locator(f'.react-flow__node[data-id="{key}"]').click()
    page.get_by_role("tab", name="Configure").click()
    form = page.locator(".ef-form")
    expect(form).to_be_visible()
    return form


def unfold(form: Locator, title: str) -> None:
    form.locator("summary", has_text=title).click()
