"""Draw the shipped lines four times in one style, so that people can choose without knowing which is whose: where
Gateline puts the parts, where ELK does by itself, and where dagre and bpmn-auto-layout do, which are installed into a
temporary folder.

    python -m proof.blind_drawings FOLDER KEY.json

Writes FOLDER/NN-a.png, … NN-d.png of each line, in an order drawn by lot, and which is whose into KEY.json."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import SystemRandom

from playwright.sync_api import Page, sync_playwright

from config.setup.steps import ROOT
from proof.drawings import bundled, drawn_data, shipped
from tests.fixtures.browser import FLAGS, find_chromium

SIZE = {"width": 1600, "height": 900}
LETTERS = "abcd"
CONTENDERS = ("@dagrejs/dagre", "bpmn-auto-layout")
PAGE = "<style>body{{margin:24px}} svg{{max-width:1552px;max-height:852px;inline-size:100%}}</style>{}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("key", type=Path)
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    key = {}
    with tempfile.TemporaryDirectory(prefix="gl-blind-") as folder, sync_playwright() as playwright:
        program = find_chromium(playwright.chromium.executable_path)
        assert program is not None, "there is no Chromium here"
        page = playwright.chromium.launch(executable_path=program, args=FLAGS).new_page(viewport=SIZE)
        for number, svgs in enumerate(drawn_by_each(Path(folder)), start=1):
            whose = list(svgs)
            SystemRandom().shuffle(whose)
            key[f"{number:02}"] = dict(zip(LETTERS, whose, strict=True))
            for letter, name in zip(LETTERS, whose, strict=True):
                photograph(page, svgs[name], options.folder / f"{number:02}-{letter}.png")
    options.key.write_text(json.dumps(key, indent=2) + "\n")
    return 0


def drawn_by_each(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the SVG of each line by who placed its parts."""
    install = (
        "npm",
        "install",
        "--no-save",
        "--no-audit",
        "--no-fund",
        "--prefix",
        str(folder),
        *CONTENDERS,
    )
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    modules = [folder / "node_modules" / name for name in CONTENDERS]
    described = [(module, json.loads((module / "package.json").read_text())) for module in modules]
    entries = [module / (said.get("main") or said["exports"]["."]["import"]) for module, said in described]
    program = bundled("proof/blind_drawings.ts", folder)
    command = ["node", str(program), *map(str, entries)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for _name, document in shipped():
            print(json.dumps(drawn_data(document)), file=process.stdin, flush=True)
            drawn: dict[str, str] = json.loads(process.stdout.readline())
            yield drawn


def photograph(page: Page, svg: str, path: Path) -> None:
    page.set_content(PAGE.format(svg))
    page.screenshot(path=path)


if __name__ == "__main__":
    sys.exit(main())
