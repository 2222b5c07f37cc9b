"""Break the wiring of the product on purpose, once at a time, and see whether the check of a start notices.

    python -m proof.bench.wiring                     150 faults, the same ones each time
    python -m proof.bench.wiring --count 30 --seed 7
    python -m proof.bench.wiring --kind route

Faults are drawn from the source, as many of each kind: an import path, a queue, a route, the name of a template, a
setting, a static file, a migration left out. Each is made in a copy, in which `manage.py check` runs; the table says
how many it noticed, and by what: the quick part of every start, the references, or a program that does not even load.
The exit code is 1 where one went unnoticed. `proof.bench.accept.wiring` asks `make accept` the same.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import random
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import django
from django.core.management import execute_from_command_line

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("config", "pipelines", "reviews", "templates", "static", "docs", "gateline", "locale")
# Which do nothing with the settings of Django when they are loaded.
LIBRARIES = {
    *(
        "pydantic",
        "openai",
        "httpx2",
        "cryptography",
        "jsonschema",
        "ruamel",
        "dulwich",
        "re2",
    ),
    *(
        "structlog",
        "markdown_it",
        "nh3",
        "psycopg",
        "psycopg_pool",
        "orjson",
        "anyio",
        "referencing",
        "jsonpath_rfc9535",
    ),
    *(
        "junitparser",
        "asyncio",
        "email",
        "http",
        "urllib",
        "xml",
        "unittest",
        "multiprocessing",
        "concurrent",
        "ssl",
    ),
}
LOADED = """
import runpy, sys
sys.argv = ["manage.py", "check"]
try:
    runpy.run_path("manage.py", run_name="__main__")
except SystemExit:
    print(*sys.modules, sep=chr(10))
"""
PACKAGES = ("config", "pipelines", "reviews")


@dataclass(frozen=True)
class Fault:
    """`text` instead of what the file has; None: the file is gone."""

    kind: str
    path: str
    what: str
    text: str | None


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines(keepends=True)


def changed(kind: str, path: Path, pattern: str, change: Callable[[re.Match[str]], str]) -> Iterator[Fault]:
    """A fault for each match of the pattern in the file."""
    text = path.read_text()
    for match in re.finditer(pattern, text, re.MULTILINE):
        new = change(match)
        if new != match[0]:
            number = text.count("\n", 0, match.start()) + 1
            what = f"{number}: {match[0].strip()!r} → {new.strip()!r}"
            yield Fault(kind, place(path), what, text[: match.start()] + new + text[match.end() :])


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def removed(kind: str, path: Path) -> Fault:
    return Fault(kind, place(path), "left out", None)


def sources() -> list[Path]:
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [path for path in paths if "/migrations/" not in str(path) and "/demo/bin/" not in str(path)]


def wrong(group: int) -> Callable[[re.Match[str]], str]:
    """The match with a letter more at the end of this group."""

    def change(match: re.Match[str]) -> str:
        end = match.end(group) - match.start()
        return f"{match[0][:end]}x{match[0][end:]}"

    return change


def without(match: re.Match[str]) -> str:
    return ""


def import_paths() -> Iterator[Fault]:
    for path in sources():
        yield from changed(
            "import path", path, r"^from ((?:config|pipelines|reviews)[\w.]+) import (\w+)", wrong(1)
        )
        yield from changed(
            "import path", path, r"^from ((?:config|pipelines|reviews)[\w.]+) import (\w+)", wrong(2)
        )


def queues() -> Iterator[Fault]:
    kind, tasks = "queue", ROOT / "pipelines/ports/queue_tasks.py"
    yield from changed(kind, tasks, r"^    \w+: frozenset\(.*\n", without)
    yield from changed(
        kind, tasks, r"^    \w+: frozenset\(\(([A-Z]+)", lambda match: match[0].replace(match[1], '"other"')
    )
    yield from changed(kind, tasks, r'^\w+ = "[\w.]+()"', wrong(1))
    yield from changed(
        kind,
        ROOT / "pipelines/ports/terms.py",
        r'^(?:DRIVE|QUICK|EVALUATE|TRIALS|TRY_STATION)\b.* = "[\w.]+()"',
        wrong(1),
    )
    yield from changed(
        kind,
        ROOT / "pipelines/work/scheduler/scheduler.py",
        r"(?<=[{ ])(?:MAIL|HOSTS|CHANNELS|TRIALS): \d(?:, )?",
        without,
    )
    yield from changed(
        kind,
        ROOT / "pipelines/work/scheduler/scheduler.py",
        r"(?<=\()(DRIVE, )|QUICK, (?=EVALUATE, \*)|EVALUATE, (?=\*)",
        without,
    )
    for path in sources():
        yield from changed(kind, path, r"^@app\.task\(name=.*\n", without)
        yield from changed(
            kind, path, r"^@app\.task\(name=([\w.]+)", lambda match: f'@app.task(name="{match[1]}"'
        )
        yield from changed(
            kind,
            path,
            r"^@app\.task\(name=.*queue=([\w.]+)",
            lambda match: match[0].replace(f"queue={match[1]}", 'queue="other"'),
        )
    for name in (
        "pipelines.work.scheduler.tickets",
        "pipelines.work.host_notifications.tasks",
        "reviews.tasks",
    ):
        yield from changed(kind, ROOT / "config/settings.py", rf'^    "{name}",\n', without)


def routes() -> Iterator[Fault]:
    kind = "route"
    for path in [
        *ROOT.glob("*/urls.py"),
        ROOT / "pipelines/web/urls.py",
        ROOT / "pipelines/web/live/routing.py",
    ]:
        yield from changed(kind, path, r"^    path\(.*\),\n", without)
        yield from changed(kind, path, r'^    path\(.*name="[\w-]+()"', wrong(1))
        yield from changed(kind, path, r'^    path\(f?"[^"]*()"', wrong(1))
        yield from changed(
            kind,
            path,
            r"^    path\([^,]+, (\w+\.\w+),",
            lambda match: match[0].replace(match[1], "home.home_page"),
        )
        yield from changed(kind, path, r"^api\.add_router\(.*\n", without)
    yield from changed(
        kind, ROOT / "pipelines/api/__init__.py", r"^api\.add_router\(.*\n|(?<=[ ])\w+, (?=[a-z])", without
    )
    for path in [
        *sorted((ROOT / "pipelines/api").rglob("*.py")),
        *sorted((ROOT / "reviews").rglob("*api.py")),
    ]:
        yield from changed(kind, path, r"^@router\.(?:get|post|put|delete|patch)\([^)]*?\)\n", without)
        yield from changed(kind, path, r"^@router\.post", lambda match: "@router.put")
        yield from changed(kind, path, r'^@router\.\w+\([A-Z]+ \+ "[^"]+()"', wrong(1))


def templates() -> Iterator[Fault]:
    kind = "template"
    for path in sorted((ROOT / "templates").rglob("*")):
        if path.is_file():
            yield removed(kind, path)
            yield from changed(kind, path, r"""\{% (?:include|extends) ["'][\w/-]+()\.html""", wrong(1))
            yield from changed(kind, path, r"<c-(?!vars|slot)[\w-]+()(?=[\s>])", wrong(1))
            yield from changed(kind, path, r"""\{% url ["'][\w-]+()["']""", wrong(1))
            yield from changed(kind, path, r"\{% load [\w ]+?() %\}", wrong(1))
    for path in sources():
        yield from changed(kind, path, r'"[\w/-]+()\.html[#"]', wrong(1))


def settings() -> Iterator[Fault]:
    kind, path = "setting", ROOT / "config/settings.py"
    yield from changed(kind, path, r"^[A-Z][A-Z_]+ = (?![\[{(]$).*\n", without)
    yield from changed(kind, path, r"^[A-Z][A-Z_]+()(?= = )", wrong(1))
    yield from changed(
        kind, path, r'^ +"(?:config|pipelines|reviews|django|allauth|csp|whitenoise)[\w.]+",\n', without
    )
    yield from changed(
        kind, path, r'"(?:config|pipelines|reviews|django|allauth|csp|whitenoise)\.[\w.]+()"', wrong(1)
    )
    for source in sources():
        yield from changed(kind, source, r"\bsettings\.[A-Z][A-Z_]+()\b", wrong(1))


def static_files() -> Iterator[Fault]:
    kind, folder = "static file", ROOT / "static"
    for pattern in (
        "css/**/*.css",
        "*.svg",
        "*.json",
        "ts/*.ts",
        "ts/pages/*.ts",
        "dist/assets/*",
        "dist/*.json",
    ):
        yield from (removed(kind, path) for path in sorted(folder.glob(pattern)) if ".test." not in path.name)
    for path in sorted((ROOT / "templates").rglob("*.html")):
        yield from changed(kind, path, r"""\{% (?:static|vite) ["'][\w./-]+()["']""", wrong(1))
    for path in sorted((folder / "css").rglob("*.css")):
        yield from changed(kind, path, r'^@import "[\w./-]+()\.css"', wrong(1))


def migrations() -> Iterator[Fault]:
    for package in ("pipelines", "reviews"):
        for path in sorted((ROOT / package / "migrations").glob("0*.py")):
            yield removed("migration", path)
            yield from changed("migration", path, r'^        \("(?:pipelines|reviews)", "\w+()"\)', wrong(1))


KINDS: dict[str, Callable[[], Iterator[Fault]]] = {
    "queue": queues,
    "route": routes,
    "setting": settings,
    "import path": import_paths,
    "template": templates,
    "static file": static_files,
    "migration": migrations,
}


READ = ("import path", "template", "static file", "migration")
"""Kinds whose faults need no fresh start of everything. They come last."""


def draw(count: int, seed: int, kinds: list[str]) -> list[Fault]:
    """As many of each kind, each from another place where there are enough."""
    chosen: list[Fault] = []
    for index, kind in enumerate(kinds):
        candidates = list(dict.fromkeys(KINDS[kind]()))
        share = count // len(kinds) + (index < count % len(kinds))
        chosen += random.Random(f"{seed} {kind}").sample(candidates, min(share, len(candidates)))
    return chosen


class Copy:
    """A copy of the product, in which one file at a time is changed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.loaded = folder, False
        for name in FOLDERS:
            if (ROOT / name).exists():
                shutil.copytree(ROOT / name, folder / name, symlinks=True)
        shutil.copy(ROOT / "manage.py", folder)
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("GATELINE_", "DJANGO_"))
        } | {
            # No check asks the database.
            "DATABASE_URL": "postgres://nobody@127.0.0.1:1/nothing",
            "GATELINE_HOME": str(folder / "state"),
            "XDG_STATE_HOME": str(folder / "user"),
        }

    def verdict(self, fault: Fault | None) -> str:
        """Word for what noticed it, "" where nothing did."""
        path = self.folder / fault.path if fault else None
        original = path.read_bytes() if path else b""
        try:
            if path and fault and fault.text is None:
                path.unlink()
            elif path and fault and fault.text is not None:
                path.write_text(fault.text)
            code, words = self.check(fault)
        finally:
            if path:
                path.write_bytes(original)
        if code == 0:
            return ""
        for key, word in (("gateline.E001", "quick"), ("gateline.E002", "references")):
            if key in words:
                return word
        return "load"

    def check(self, fault: Fault | None = None) -> tuple[int, str]:
        """Code and words of `manage.py check` in the copy: in a child that has the libraries already, or, once they are
        loaded for faults in what is only read, the modules of the product. Of a wrong import path that one module is
        loaded anew then, as the check loads every module."""
        log = self.folder / "check.log"
        child = os.fork()
        if not child:
            with log.open("wb") as stream:
                os.dup2(stream.fileno(), 1)
                os.dup2(stream.fileno(), 2)
            code = 1
            try:
                if self.loaded and fault and fault.kind == "import path":
                    name = fault.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                    runpy.run_path(fault.path, run_name=name)
                elif self.loaded:
                    execute_from_command_line(["manage.py", "check"])
                else:
                    self._enter()
                    runpy.run_path("manage.py", run_name="__main__")
                code = 0
            except SystemExit as end:
                code = 0 if end.code in (None, 0) else 1
            except BaseException:  # noqa: BLE001  # whatever it is, this child ends here
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), log.read_text(errors="replace")

    def _enter(self) -> None:
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update(self.environment)
        sys.argv, sys.path[0] = ["manage.py", "check"], str(self.folder)

    def load(self) -> None:
        """Loads the product for all that follows: for faults in files that a start reads, and does not import."""
        self._enter()
        os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
        django.setup()
        assert not list(importlib.import_module("config.wiring.references")._modules())
        self.loaded = True

    def warm(self) -> None:
        """Loads what a check loads of libraries, as far as they do without the product."""
        words = LOADED
        done = subprocess.run(
            [sys.executable, "-c", words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in done.stdout.splitlines():
            if name.partition(".")[0] in LIBRARIES:
                with contextlib.suppress(Exception):
                    importlib.import_module(name)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=39)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--kind", choices=sorted(KINDS), action="append")
    options = parser.parse_args()
    faults = draw(options.count, options.seed, list(KINDS))
    with tempfile.TemporaryDirectory(prefix="gateline-wiring-") as folder:
        copy = Copy(Path(folder))
        copy.warm()
        code, words = copy.check()
        assert code == 0, words
        verdicts: dict[str, Counter[str]] = defaultdict(Counter)
        for fault in faults:
            if fault.kind not in (options.kind or KINDS):
                continue
            if fault.kind in READ and not copy.loaded:
                copy.load()
            word = copy.verdict(fault)
            verdicts[fault.kind][word] += 1
            if options.verbose:
                print(f"{word or 'missed':11}{fault.kind}: {fault.path} {fault.what}", flush=True)
            if not word:
                print(f"not noticed: {fault.kind}: {fault.path} {fault.what}", flush=True)
    return report(verdicts)


def report(verdicts: dict[str, Counter[str]]) -> int:
    """Prints the table; the exit code."""
    print(f"{'kind':14}{'faults':>8}{'noticed':>9}{'quick':>7}{'references':>12}{'load':>6}")
    missed = 0
    for kind, counts in verdicts.items():
        total = counts.total()
        missed += counts[""]
        row = f"{kind:14}{total:8}{total - counts['']:9}"
        print(f"{row}{counts['quick']:7}{counts['references']:12}{counts['load']:6}")
    total = sum(counts.total() for counts in verdicts.values())
    print(f"{'all':14}{total:8}{total - missed:9}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
