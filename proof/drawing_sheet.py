"""Photograph every shipped line as its pages show it, on one sheet for people to judge.

    python -m proof.drawing_sheet FOLDER [--beside PICTURE ...] [--lines 20]

The first lines are Repository check and Fix lint findings: overview, canvas, task and live graph at 1440 px and the
overview at 390, light and dark, after the pictures that they are held beside. Then the overview of each other line.
Writes FOLDER/index.html and its pictures. The server is one of its own, in a temporary folder."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from proof.bench.rig import browser, database

FIRST = ("repository-check", "fix-lint-findings")
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
THEMES = ("light", "dark")
READY = ".react-flow[aria-busy='false'], [data-line-canvas] .react-flow, .line-stored"
STYLE = """body{font:14px sans-serif;margin:24px;background:#eee}
figure{display:inline-block;margin:0 12px 12px 0;vertical-align:top}
img{display:block;border:1px solid #bbb;inline-size:100%}.wide{inline-size:700px}.narrow{inline-size:220px}"""


@dataclass(frozen=True, slots=True)
class SheetPicture:
    """A picture of the sheet with its caption."""

    file: str
    caption: str
    is_narrow: bool = False


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--beside", type=Path, nargs="*", default=[])
    parser.add_argument("--lines", type=int, default=20, help="how many of them")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    sections: dict[str, list[SheetPicture]] = {"To be held beside": []}
    for path in options.beside:
        shutil.copy(path, options.folder / path.name)
        sections["To be held beside"].append(SheetPicture(path.name, path.stem))
    with database() as home:
        from pipelines.lines import drawings  # noqa: PLC0415  # after `database`
        from tests.factories import make_world  # noqa: PLC0415  # after `database`

        world = make_world()
        addresses = dict(_published_lines(world, options.lines))
        with browser("drawing_sheet", home, world.admin) as (page, address):
            _ask_for_drawings(page, address, addresses)
            for number, (name, paths) in enumerate(addresses.items()):
                chosen = paths if number <= len(FIRST) else {"overview": paths["overview"]}
                sections[name] = list(_photographs(page, address, number, chosen, options.folder))
        drawings.DRAWER.stop()
    (options.folder / "index.html").write_text(_sheet(sections))
    return 0


def _published_lines(world: Any, count: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the name of each line, published and with a task of it, and the addresses of its pages."""
    from django.urls import reverse  # noqa: PLC0415  # after `database`

    from pipelines.errors import Invalid  # noqa: PLC0415  # after `database`
    from pipelines.web.editor.canvas_drawing import draw_canvas  # noqa: PLC0415  # after `database`
    from proof.drawings import shipped  # noqa: PLC0415  # after `database`

    at = (world.project.owner.key, world.project.key)
    rows = sorted(enumerate(shipped()), key=lambda row: (row[1][0] not in FIRST, row[0]))
    for number, (key, document) in rows[:count]:
        own_key = f"{key}-{number}"
        # A task is started without anything typed
        inputs = [{**field, "required": False} for field in document.get("inputs", [])]
        version = world.line({**document, "key": own_key, "inputs": inputs})
        draw_canvas(version.line)
        paths = {
            "overview": reverse("line", args=[*at, own_key]),
            "canvas": reverse("line-draw", args=[*at, own_key]),
            "live graph": reverse("line-live", args=[*at, own_key]) + "?view=graph",
        }
        try:
            task = world.start(version)
            world.report(task)
        except (Invalid, AssertionError, LookupError) as error:
            print(f"{key}: no task, {error}", file=sys.stderr)
        else:
            paths["task"] = reverse("task", args=[*at, task.name])
        # Of two lines with one name each is told apart
        yield f"{document['name']} ({own_key})", paths


def _ask_for_drawings(page: Any, address: str, addresses: dict[str, dict[str, str]]) -> None:
    from pipelines.lines import drawings  # noqa: PLC0415  # after `database`
    from pipelines.models import Drawing  # noqa: PLC0415  # after `database`

    for paths in addresses.values():
        for path in paths.values():
            page.request.get(address + path)
    for pk in Drawing.objects.filter(wide="").values_list("pk", flat=True):
        drawings.draw_if_pending(pk)


def _photographs(
    page: Any, address: str, number: int, paths: dict[str, str], folder: Path
) -> Iterator[SheetPicture]:
    for name, path in paths.items():
        for theme in THEMES if len(paths) > 1 else THEMES[:1]:
            for size in (WIDE, NARROW) if name == "overview" and len(paths) > 1 else (WIDE,):
                page.emulate_media(color_scheme=theme)
                page.set_viewport_size(size)
                page.goto(address + path)
                page.wait_for_selector(READY, timeout=60_000)
                page.wait_for_load_state("networkidle")
                page.evaluate("document.fonts.ready")
                file = f"{number:02}-{name.replace(' ', '-')}-{size['width']}-{theme}.png"
                page.screenshot(path=folder / file)
                yield SheetPicture(file, f"{name}, {size['width']} px, {theme}", size is NARROW)


def _sheet(sections: dict[str, list[SheetPicture]]) -> str:
    parts = ["<!doctype html><meta charset=utf-8><title>Drawings</title>", f"<style>{STYLE}</style>"]
    for name, pictures in sections.items():
        parts.append(f"<h2>{escape(name)}</h2>")
        for picture in pictures:
            width = "narrow" if picture.is_narrow else "wide"
            caption = escape(picture.caption)
            image = f'<img src="{picture.file}" alt="{caption}">'
            parts.append(f'<figure class="{width}">{image}<figcaption>{caption}</figcaption></figure>')
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
