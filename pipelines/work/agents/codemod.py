"""The agent that is a program: a script that runs the fixers which a folder is set up for, behind the isolation of its
station, and says so. It asks no model and needs nothing but Python.

    codemod.py [--run COMMAND]... [--leave NAME]...

in the folder that is to be fixed; with commands, these in place of the fixers. Fixers leave alone files of the names
that are given (lock files), and what .gitignore names; prettier what .prettierignore names, too. Where scripts of
package.json call some of eslint, biome and prettier, the others are not run: a dependency alone says nothing.

Writes one JSON object per line: {type: start | run | ran | edit | say | end, …}, as `streams/codemod.py` reads them.
Exit code 0, or 1 where a fixer failed or none was found; of the latter the end says `why`.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

VERSION = "1"
NOT_OURS = {
    ".git",
    ".hg",
    ".svn",
    "node_modules",
    ".venv",
    "venv",
    "__pycache__",
    ".ruff_cache",
    "vendor",
    "dist",
}
OWN_PROGRAMS = ("node_modules/.bin", ".venv/bin")
MOST_FILES, MOST_BYTES, LARGEST = 50_000, 64 * 1024 * 1024, 512 * 1024
MOST_EDITS, LONGEST_HUNK, LONGEST_OUTPUT = 100, 2_000, 8_000
CONTEXT = 1
HONEST = "Codemod is a program and no model."
NO_FIXER = "no_fixer"
INSTALL = (
    "Install it where the runner runs, or have the repository's own packages installed before this station."
)
REMEDY = (
    "Add the configuration of one to the repository: ruff.toml, or [tool.ruff] in pyproject.toml (ruff), "
    "which goes by its own rules where there is a .py file and nothing else; "
    "eslint.config.js (eslint); biome.json (biome); .prettierrc, or “prettier” in package.json (prettier); "
    "a .go file is enough for gofmt."
)


class Fixer(NamedTuple):
    """`runs`: one command after the other; `fine`: exit codes with which it has done what it could."""

    name: str
    is_set_up: Callable[[Path], bool]
    runs: tuple[tuple[str, ...], ...]
    fine: tuple[int, ...] = (0,)


class Kept(NamedTuple):
    digest: str
    text: str | None


# Which fixers there are


def has(*patterns: str) -> Callable[[Path], bool]:
    return lambda folder: any(next(folder.glob(pattern), None) for pattern in patterns)


def named_in(file: str, word: str, *patterns: str) -> Callable[[Path], bool]:
    """Whether it has a file of its own, or its part in another."""

    def found(folder: Path) -> bool:
        return has(*patterns)(folder) or word in read(folder / file)

    return found


def scripts_of(folder: Path) -> str:
    """Return the commands of package.json's scripts."""
    scripts = package_of(folder).get("scripts")
    return " ".join(map(str, scripts.values())) if isinstance(scripts, dict) else ""


def package_of(folder: Path) -> dict[str, Any]:
    """Return what package.json says; nothing where it cannot be read."""
    try:
        package = json.loads(read(folder / "package.json") or "{}")
    except ValueError:
        return {}
    return package if isinstance(package, dict) else {}


def has_prettier(folder: Path) -> bool:
    files_of_its_own = has(".prettierrc*", "prettier.config.*")(folder)
    return files_of_its_own or "prettier" in package_of(folder) or "prettier" in scripts_of(folder)


def has_go(folder: Path) -> bool:
    return any(path.endswith(".go") for path in files(folder))


def has_python(folder: Path) -> bool:
    return any(path.endswith((".py", ".pyi")) for path in files(folder))


FIXERS = (
    Fixer(
        "ruff",
        named_in("pyproject.toml", "[tool.ruff", "ruff.toml", ".ruff.toml"),
        (("ruff", "check", "--fix", "--exit-zero", "--no-cache", "."), ("ruff", "format", "--no-cache", ".")),
    ),
    Fixer("eslint", has("eslint.config.*", ".eslintrc*"), (("eslint", "--fix", "."),), (0, 1)),
    Fixer("biome", has("biome.json", "biome.jsonc"), (("biome", "check", "--write", "."),), (0, 1)),
    Fixer(
        "prettier",
        has_prettier,
        (("prettier", "--write", "--log-level", "warn", "."),),
    ),
    Fixer("gofmt", has_go, (("gofmt", "-w", "."),)),
)
# Which of them are meant, the scripts of package.json say, where they call any.
OF_SCRIPTS = {"eslint", "biome", "prettier"}
# Where none of these is set up. By ruff's own rules, and nothing is formatted: nobody said how.
WITHOUT_SETUP = (
    Fixer("ruff", has_python, (("ruff", "check", "--fix", "--exit-zero", "--no-cache", "--isolated", "."),)),
)


def read(path: Path) -> str:
    try:
        return path.read_bytes()[:LARGEST].decode("utf-8", "replace")
    except OSError:
        return ""


# What a folder holds


def files(folder: Path) -> Iterator[str]:
    """Paths of plain files, without what tools keep for themselves."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if each not in NOT_OURS)
        for name in sorted(names):
            path = os.path.join(root, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield os.path.relpath(path, folder)


def picture(folder: Path) -> dict[str, Kept]:
    """What each file holds, as far as there is room to keep it."""
    found: dict[str, Kept] = {}
    room = MOST_BYTES
    for path in files(folder):
        if len(found) >= MOST_FILES:
            break
        try:
            data = (folder / path).read_bytes()
        except OSError:
            continue
        text = None
        if len(data) <= min(LARGEST, room) and b"\0" not in data:
            text, room = data.decode("utf-8", "replace"), room - len(data)
        found[path] = Kept(hashlib.sha256(data).hexdigest(), text)
    return found


# What no fixer may touch


def ignored(folder: Path, paths: list[str], *more_patterns: str) -> set[str]:
    """Return what .gitignore and another file of patterns name, as git reads them; nothing where there is no git."""
    git = shutil.which("git")
    if git is None or not paths:
        return set()
    with tempfile.TemporaryDirectory() as empty:
        store = os.path.join(empty, "git")
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": empty, "GIT_CONFIG_NOSYSTEM": "1"}

        def called(*argv: str, said: bytes = b"") -> bytes:
            return subprocess.run(
                [git, *argv], cwd=folder, env=env, input=said, capture_output=True, check=False
            ).stdout

        called("init", "--quiet", "--bare", store)
        place = (f"--git-dir={store}", f"--work-tree={folder}", "-c", "core.bare=false")
        more = [word for name in more_patterns for word in ("-c", f"core.excludesFile={folder / name}")]
        asked = b"\0".join(map(os.fsencode, paths))
        found = called(*place, *more, "check-ignore", "--no-index", "-z", "--stdin", said=asked)
    return {os.fsdecode(each) for each in found.split(b"\0") if each}


def left_alone(folder: Path, names: set[str]) -> dict[str, bytes]:
    """What the files hold that fixers leave alone, lock files first, as far as there is room to keep it."""
    paths = list(files(folder))
    locks = [path for path in paths if os.path.basename(path) in names]
    return contents(folder, [*locks, *sorted(ignored(folder, paths))])


def contents(folder: Path, paths: list[str]) -> dict[str, bytes]:
    """Return what these files hold, as far as there is room to keep it."""
    found: dict[str, bytes] = {}
    room = MOST_BYTES
    for path in dict.fromkeys(paths):
        try:
            if (folder / path).stat().st_size <= room:
                found[path] = (folder / path).read_bytes()
                room -= len(found[path])
        except OSError:
            continue
    return found


def left_by_prettier(folder: Path) -> dict[str, bytes]:
    """Return what the files hold that .prettierignore names."""
    return contents(folder, sorted(ignored(folder, list(files(folder)), ".prettierignore")))


def put_back(folder: Path, kept: dict[str, bytes]) -> None:
    """Programs say in ways of their own what they leave out, some not at all: so it is undone."""
    for path, data in kept.items():
        with contextlib.suppress(OSError):
            if (folder / path).read_bytes() != data:
                (folder / path).write_bytes(data)


# What it says


def say(kind: str, **more: Any) -> None:
    print(json.dumps({"type": kind, **more}), flush=True)


def tell_edits(before: dict[str, Kept], after: dict[str, Kept]) -> int:
    """Each file that is not what it was. :return: how many"""
    changed = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    for path in changed[:MOST_EDITS]:
        old, new = before.get(path), after.get(path)
        how = "added" if old is None else "deleted" if new is None else "edited"
        say("edit", path=path, how=how, change=first_hunk(old, new))
    return len(changed)


def first_hunk(old: Kept | None, new: Kept | None) -> dict[str, str]:
    was = (old.text if old else "") or ""
    now = (new.text if new else "") or ""
    a, b = was.splitlines(), now.splitlines()
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, a, b, autojunk=len(a) > 2000).get_opcodes():
        if tag != "equal":
            removed, added = a[max(i1 - CONTEXT, 0) : i2 + CONTEXT], b[max(j1 - CONTEXT, 0) : j2 + CONTEXT]
            return {"before": "\n".join(removed)[:LONGEST_HUNK], "after": "\n".join(added)[:LONGEST_HUNK]}
    return {"before": "", "after": ""}


# What it does


def located(folder: Path, program: str) -> str | None:
    """Prefer the program that the packages of the folder bring: of that version is its lint, too."""
    places = os.pathsep.join(str(folder / place) for place in OWN_PROGRAMS)
    return shutil.which(program, path=places) or shutil.which(program)


def run(folder: Path, number: int, argv: tuple[str, ...], fine: tuple[int, ...]) -> bool:
    identity, program = str(number), located(folder, argv[0])
    say("run", id=identity, command=shlex.join(argv))
    if program is None:
        missing = f"{argv[0]} is not installed on this worker."
        say("ran", id=identity, ok=False, exit_code=127, output=missing)
        return False
    try:
        done = subprocess.run(
            [program, *argv[1:]], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except OSError as error:
        say("ran", id=identity, ok=False, exit_code=126, output=str(error))
        return False
    output = (done.stdout + done.stderr).decode("utf-8", "replace").strip()[-LONGEST_OUTPUT:]
    good = done.returncode in fine
    say("ran", id=identity, ok=good, exit_code=done.returncode, output=output)
    return good


def commands(folder: Path, given: list[str]) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
    if given:
        return [(tuple(shlex.split(each)), (0,)) for each in given]
    fixers = [fixer for fixer in FIXERS if fixer.is_set_up(folder)]
    scripts = scripts_of(folder)
    called = {fixer.name for fixer in fixers if fixer.name in OF_SCRIPTS and fixer.name in scripts}
    if called:
        fixers = [fixer for fixer in fixers if fixer.name in called or fixer.name not in OF_SCRIPTS]
    fixers = fixers or [fixer for fixer in WITHOUT_SETUP if fixer.is_set_up(folder)]
    return [(argv, fixer.fine) for fixer in fixers for argv in fixer.runs]


def plural(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def main(arguments: list[str]) -> int:
    folder = Path.cwd()
    say("start", program="codemod", version=VERSION)
    pairs = list(zip(arguments[::2], arguments[1::2], strict=False))
    given = [value for flag, value in pairs if flag == "--run"]
    try:
        wanted = [each for each in commands(folder, given) if each[0]]
    except ValueError as error:
        say("end", failed=True, text=f"{HONEST} A command could not be read: {error}.")
        return 1
    if not wanted:
        missing = f"{HONEST} It found no fixer that this folder is set up for. {REMEDY}"
        say("end", failed=True, why=NO_FIXER, text=missing)
        return 1
    before = picture(folder)
    # Commands that the station names may update packages; fixers of the repository may not.
    kept = {} if given else left_alone(folder, {value for flag, value in pairs if flag == "--leave"})
    good = []
    for number, (argv, fine) in enumerate(wanted, 1):
        # What another fixer changed before in files that prettier leaves alone stays.
        by_prettier = not given and argv[0] == "prettier"
        before_it = left_by_prettier(folder) if by_prettier else {}
        good.append(run(folder, number, argv, fine))
        put_back(folder, before_it)
    put_back(folder, kept)
    changed = tell_edits(before, picture(folder))
    ran = plural(len(wanted), "command", "commands")
    absent = sorted({argv[0] for argv, _fine in wanted if located(folder, argv[0]) is None})
    if absent and not changed:
        # Nothing was looked at: that is not the same as nothing to do.
        missing = f"{HONEST} Set up here, but not installed: {', '.join(absent)}. {INSTALL}"
        say("end", failed=True, why=NO_FIXER, text=missing)
        return 1
    if not all(good):
        failed = f"{len(good) - sum(good)} of {ran} failed"
        say("end", failed=True, text=f"{HONEST} {failed}. {plural(changed, 'file', 'files')} changed.")
        return 1
    if changed:
        say("end", text=f"{HONEST} It ran {ran} and changed {plural(changed, 'file', 'files')}.")
    else:
        say("end", text=f"Nothing to fix. {HONEST} It ran {ran} and no file changed.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
