"""The agent that is a program: a script that runs the fixers which a folder is set up for, behind the isolation of its
station, and says so. It asks no model and needs nothing but Python.

    codemod.py [--run COMMAND]... [--leave NAME]...

in the folder that is to be fixed; with commands, these in place of the fixers. Fixers leave alone files of the names
that are given (lock files), and what .gitignore names; prettier what .prettierignore names, too. Where the script lint
of package.json calls fixers, else any script, these run with the arguments of the script, turned into fixing, and no
others for the same languages: a dependency or a configuration alone says nothing.

Writes one JSON object per line: {type: start | run | ran | edit | say | end, …}, as `streams/codemod.py` reads them.
Exit code 0, or 1 where a fixer failed or none was found; of the latter the end says `why`.
"""

from __future__ import annotations

import configparser
import contextlib
import difflib
import fnmatch
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
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
RUNNERS = {"npm", "pnpm", "yarn", "bun", "run-s", "run-p", "npm-run-all"}
WRAPPERS = {*RUNNERS, "npx", "bunx", "cross-env", "exec", "--", "--no"}
OWN_PROGRAMS = ("node_modules/.bin", ".venv/bin")
MOST_FILES, MOST_BYTES, LARGEST = 50_000, 64 * 1024 * 1024, 512 * 1024
MOST_EDITS, LONGEST_HUNK, LONGEST_OUTPUT = 100, 2_000, 8_000
CONTEXT = 1
HONEST = "Codemod is a program and no model."
# The last line of ruff: “Found 12 errors (10 fixed, 2 remaining).”, “Found 2 errors.”
COUNTED = re.compile(r"^Found (\d+) errors?(?: \((\d+) fixed, \d+ remaining\))?\.", re.MULTILINE)
NO_FIXER = "no_fixer"
INSTALL = (
    "Install it where the runner runs, or have the repository's own packages installed before this station."
)
REMEDY = (
    "Add the configuration of one to the repository: ruff.toml, or [tool.ruff] in pyproject.toml (ruff), "
    "which goes by its own rules where there is a .py file and nothing else, and formats (ruff format) where the "
    "repository calls that; "
    "eslint.config.js (eslint); biome.json (biome); .oxlintrc.json (oxlint); .oxfmtrc.json (oxfmt); .prettierrc, or "
    "“prettier” in package.json (prettier); or a script lint in package.json that calls one of them, xo, standard or "
    "stylelint; a .go file is enough for gofmt."
)


Fixing = Callable[[list[str]], list[str] | None]
Command = tuple[tuple[str, ...], tuple[int, ...]]
"""With the exit codes of one that has done what it could."""


class Fixer(NamedTuple):
    """`runs`: one command after the other; `fine`: exit codes with which it has done what it could; `fixing`: arguments
    with which a script of package.json calls it, turned into those that fix, None where no script does."""

    name: str
    is_set_up: Callable[[Path], bool]
    runs: tuple[tuple[str, ...], ...]
    fine: tuple[int, ...] = (0,)
    fixing: Fixing | None = None


class FileSnapshot(NamedTuple):
    digest: str
    text: str | None


def folder_test_for_paths(*patterns: str) -> Callable[[Path], bool]:
    return lambda folder: any(next(folder.glob(pattern), None) for pattern in patterns)


def folder_test_for_setting(file: str, word: str, *patterns: str) -> Callable[[Path], bool]:
    """Return whether it has a file of its own, or its part in another."""
    return lambda folder: (
        folder_test_for_paths(*patterns)(folder) or word in read_text_or_empty(folder / file)
    )


def read_package_json_or_empty(folder: Path) -> dict[str, Any]:
    """Return what package.json says; nothing where it cannot be read."""
    try:
        package = json.loads(read_text_or_empty(folder / "package.json") or "{}")
    except ValueError:
        return {}
    return package if isinstance(package, dict) else {}


def package_key_test(key: str, *patterns: str) -> Callable[[Path], bool]:
    """Return whether it has a file of its own, or its part in package.json."""
    return lambda folder: (
        folder_test_for_paths(*patterns)(folder) or key in read_package_json_or_empty(folder)
    )


def folder_test_for_file_endings(*endings: str) -> Callable[[Path], bool]:
    return lambda folder: any(path.endswith(endings) for path in source_file_paths(folder))


def change_to_fixing_arguments(
    *more: str, without: str = "", valued: str = ""
) -> Callable[[list[str]], list[str]]:
    """Return how arguments are turned into those that fix: `more` are added, others left out, some with their value."""

    def arguments_changed_from_checking_to_fixing(arguments: list[str]) -> list[str]:
        following = iter(arguments)
        left = [
            word
            for word in following
            # With the value after it.
            if not (word in valued.split() and next(following, "") is not None)
            and word.partition("=")[0] not in (*without.split(), *valued.split(), *more)
        ]
        return [*left, *more]

    return arguments_changed_from_checking_to_fixing


def biome_arguments_or_none(arguments: list[str]) -> list[str] | None:
    """Its first word says what it does."""
    what = {"ci": "check", "check": "check", "lint": "lint", "format": "format"}.get("".join(arguments[:1]))
    return [what, *change_to_fixing_arguments("--write", without="--apply")(arguments[1:])] if what else None


RUFF = ("ruff", "check", "--fix", "--exit-zero", "--no-cache")
has_ruff = folder_test_for_setting("pyproject.toml", "[tool.ruff", "ruff.toml", ".ruff.toml")


def formats_by_ruff(folder: Path) -> bool:
    """Tell that the repository has ruff format its files, too: many only have it look for faults."""
    settings = (
        read_text_or_empty(folder / "pyproject.toml"),
        read_text_or_empty(folder / "ruff.toml"),
        read_text_or_empty(folder / ".ruff.toml"),
    )
    calls = [".pre-commit-config.yaml", "tox.ini", "Makefile", "justfile", "noxfile.py"]
    workflows = (path for path in folder.glob(".github/workflows/*.y*ml"))
    texts = [
        *settings[:1],
        *(read_text_or_empty(folder / name) for name in calls),
        *map(read_text_or_empty, workflows),
    ]
    return has_ruff(folder) and (
        "[tool.ruff.format" in settings[0]
        or any(re.search(r"^\[format\]", text, re.MULTILINE) for text in settings[1:])
        or any(re.search(r"\bruff[- ]format\b", text) for text in texts)
    )


# `tests/*: F401,E501`, one behind the other or in lines
PER_FILE = r"([^\s,:]+)\s*:\s*([A-Z0-9,\s]+?)(?=\s+[^\s,:]+\s*:|\s*$)"
FLAKE8_FILES = (".flake8", "setup.cfg", "tox.ini")
FLAKE8_CODES = ("E711", "E712", "E713", "E714", "F401", "F541", "F632", "W291", "W292", "W293", "W605")
"""What flake8 finds and ruff can fix without changing what a program does."""


def flake8_settings_or_none(folder: Path) -> Mapping[str, str] | None:
    """Return the settings of flake8 of the first file that has some, none where it is only called; None where the
    repository does not use it."""
    for name in FLAKE8_FILES:
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        with contextlib.suppress(configparser.Error):
            parser.read_string(read_text_or_empty(folder / name))
        if parser.has_section("flake8"):
            return parser["flake8"]
    with contextlib.suppress(tomllib.TOMLDecodeError, RecursionError, AttributeError, KeyError):
        # Of its plug-in flake8-pyproject, with lists in place of words
        table = tomllib.loads(read_text_or_empty(folder / "pyproject.toml"))["tool"]["flake8"]
        return {
            key: "\n".join(map(str, value)) if isinstance(value, list) else str(value)
            for key, value in table.items()
        }
    calls = (
        read_text_or_empty(folder / name)
        for name in (*FLAKE8_FILES, ".pre-commit-config.yaml", "Makefile", "noxfile.py")
    )
    return {} if any(re.search(r"\bflake8\b", text) for text in calls) else None


def ruff_call_in_place_of_flake8(settings: Mapping[str, str]) -> Command:
    """Return the call of ruff that fixes what flake8 finds with these settings, and nothing else."""
    words = {
        key: re.split(r"[\s,]+", settings.get(key, "").strip()) for key in ("ignore", "exclude", "select")
    }
    for key in words:
        words[key] += re.split(r"[\s,]+", settings.get(f"extend-{key}", "").strip())
        words[key] = [word for word in words[key] if word]
    chosen = tuple(words["select"]) if settings.get("select", "").strip() else FLAKE8_CODES
    codes = [
        code
        for code in FLAKE8_CODES
        if code.startswith(chosen) and not code.startswith(tuple(words["ignore"]))
    ]
    by_file = re.findall(PER_FILE, settings.get("per-file-ignores", ""))
    ignores = [
        f"{pattern}:{code}"
        for pattern, ignored_codes in by_file
        for code in codes
        if code.startswith(tuple(filter(None, re.split(r"[\s,]+", ignored_codes))))
    ]
    more = [f"--per-file-ignores={','.join(ignores)}"] if ignores else []
    more += [f"--extend-exclude={','.join(words['exclude'])}"] if words["exclude"] else []
    return (*RUFF, "--isolated", f"--select={','.join(codes)}", *more, "."), (0,)


REPORT = "-o --output-file -f --format --formatter"
CHECKS = "-c --check -l --list-different -w"
FIXERS = (
    Fixer("ruff", has_ruff, ((*RUFF, "."),)),
    Fixer("ruff format", formats_by_ruff, (("ruff", "format", "--no-cache", "."),)),
    Fixer("eslint", folder_test_for_paths("eslint.config.*", ".eslintrc*"), (("eslint", "--fix", "."),), (0, 1),
          change_to_fixing_arguments("--fix", valued=REPORT)),
    Fixer("xo", package_key_test("xo", "xo.config.*"), (("xo", "--fix"),), (0, 1), change_to_fixing_arguments("--fix")),
    Fixer("standard", folder_test_for_paths(), (), (0, 1), change_to_fixing_arguments("--fix")),
    Fixer("stylelint", folder_test_for_paths(), (), (0, 2), change_to_fixing_arguments("--fix", valued=REPORT)),
    Fixer("oxlint", folder_test_for_paths(".oxlintrc.json"), (("oxlint", "--fix"),), (0, 1),
          change_to_fixing_arguments("--fix", valued=REPORT)),
    Fixer("biome", folder_test_for_paths("biome.json", "biome.jsonc"), (("biome", "check", "--write", "."),), (0, 1),
          biome_arguments_or_none),
    Fixer("oxfmt", folder_test_for_paths(".oxfmtrc.json*"), (("oxfmt",),), (0,),
          change_to_fixing_arguments(without="--check --list-different --write")),
    Fixer("prettier", package_key_test("prettier", ".prettierrc*", "prettier.config.*"),
          (("prettier", "--write", "--log-level", "warn", "."),), (0,),
          change_to_fixing_arguments("--write", "--log-level=warn", without=CHECKS)),
    Fixer("gofmt", folder_test_for_file_endings(".go"), (("gofmt", "-w", "."),)),
)  # fmt: skip
has_python = folder_test_for_file_endings(".py", ".pyi")
names_oldest_python = folder_test_for_setting("pyproject.toml", "requires-python")
# Where none of these is set up. By ruff's own rules, and nothing is formatted: nobody said how. Nor is anything written
# that the oldest Python of the project cannot run: ruff reads which one that is, and would take a newer one by itself.
WITHOUT_SETUP = (
    Fixer("ruff", lambda folder: has_python(folder) and names_oldest_python(folder), ((*RUFF, "."),)),
    Fixer(
        "ruff",
        lambda folder: has_python(folder) and not names_oldest_python(folder),
        ((*RUFF, "--isolated", "--target-version=py37", "."),),
    ),
)


def read_text_or_empty(path: Path) -> str:
    try:
        return path.read_bytes()[:LARGEST].decode("utf-8", "replace")
    except OSError:
        return ""


# What a folder holds


def source_file_paths(folder: Path) -> Iterator[str]:
    """Paths of plain files, without what tools keep for themselves."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(subfolder for subfolder in folders if subfolder not in NOT_OURS)
        for name in sorted(names):
            path = os.path.join(root, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield os.path.relpath(path, folder)


def file_snapshot_by_path(folder: Path) -> dict[str, FileSnapshot]:
    """Return the content of each file, as far as there is room to store it."""
    snapshot: dict[str, FileSnapshot] = {}
    room = MOST_BYTES
    for path in source_file_paths(folder):
        if len(snapshot) >= MOST_FILES:
            break
        try:
            data = (folder / path).read_bytes()
        except OSError:
            continue
        text = None
        # Large and binary files are compared by their digest alone
        if len(data) <= min(LARGEST, room) and b"\0" not in data:
            text, room = data.decode("utf-8", "replace"), room - len(data)
        snapshot[path] = FileSnapshot(hashlib.sha256(data).hexdigest(), text)
    return snapshot


# What no fixer may touch


def ignored_paths(folder: Path, paths: list[str], *more_patterns: str) -> set[str]:
    """Return what .gitignore and another file of patterns name, as git reads them; nothing where there is no git."""
    git = shutil.which("git")
    if git is None or not paths:
        return set()
    with tempfile.TemporaryDirectory() as empty:
        # The .git of the folder is not asked: by its settings git could start programs (law §15)
        store = os.path.join(empty, "git")
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": empty, "GIT_CONFIG_NOSYSTEM": "1"}

        def git_output(*argv: str, stdin: bytes = b"") -> bytes:
            return subprocess.run(
                [git, *argv], cwd=folder, env=env, input=stdin, capture_output=True, check=False
            ).stdout

        git_output("init", "--quiet", "--bare", store)
        place = (f"--git-dir={store}", f"--work-tree={folder}", "-c", "core.bare=false")
        more = [word for name in more_patterns for word in ("-c", f"core.excludesFile={folder / name}")]
        path_list = b"\0".join(map(os.fsencode, paths))
        output = git_output(*place, *more, "check-ignore", "--no-index", "-z", "--stdin", stdin=path_list)
    return {os.fsdecode(path) for path in output.split(b"\0") if path}


def protected_file_content_by_path(folder: Path, names: set[str]) -> dict[str, bytes]:
    """Return the content of the files that fixers leave alone, lock files first, as far as there is room to
    store it."""
    paths = list(source_file_paths(folder))
    locks = [path for path in paths if os.path.basename(path) in names]
    return file_content_by_path(folder, [*locks, *sorted(ignored_paths(folder, paths))])


def file_content_by_path(folder: Path, paths: list[str]) -> dict[str, bytes]:
    """Return what these files hold, as far as there is room to keep it."""
    file_data: dict[str, bytes] = {}
    room = MOST_BYTES
    for path in dict.fromkeys(paths):
        try:
            if (folder / path).stat().st_size <= room:
                file_data[path] = (folder / path).read_bytes()
                room -= len(file_data[path])
        except OSError:
            continue
    return file_data


def restore_files(folder: Path, file_data: dict[str, bytes]) -> None:
    """Programs say in ways of their own what they leave out, some not at all: so it is undone."""
    for path, data in file_data.items():
        with contextlib.suppress(OSError):
            if (folder / path).read_bytes() != data:
                (folder / path).write_bytes(data)


# What it says


def print_event(kind: str, **more: Any) -> None:
    print(json.dumps({"type": kind, **more}), flush=True)


def print_changed_files_and_count(before: dict[str, FileSnapshot], after: dict[str, FileSnapshot]) -> int:
    """Report each file that changed. :return: how many"""
    changed = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    for path in changed[:MOST_EDITS]:
        old, new = before.get(path), after.get(path)
        how = "added" if old is None else "deleted" if new is None else "edited"
        print_event("edit", path=path, how=how, change=first_difference_before_and_after(old, new))
    return len(changed)


def first_difference_before_and_after(old: FileSnapshot | None, new: FileSnapshot | None) -> dict[str, str]:
    was = (old.text if old else "") or ""
    now = (new.text if new else "") or ""
    a, b = was.splitlines(), now.splitlines()
    # Exact for short files; in long ones the lines that come often are left out, which saves
    # minutes
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, a, b, autojunk=len(a) > 2000).get_opcodes():
        if tag != "equal":
            removed, added = a[max(i1 - CONTEXT, 0) : i2 + CONTEXT], b[max(j1 - CONTEXT, 0) : j2 + CONTEXT]
            return {"before": "\n".join(removed)[:LONGEST_HUNK], "after": "\n".join(added)[:LONGEST_HUNK]}
    return {"before": "", "after": ""}


# What it does


def find_program(folder: Path, program: str) -> str | None:
    """Prefer the program that the packages of the folder bring: of that version is its lint, too."""
    places = os.pathsep.join(str(folder / place) for place in OWN_PROGRAMS)
    return shutil.which(program, path=places) or shutil.which(program)


def run_fixer_and_return_result(
    folder: Path, number: int, argv: tuple[str, ...], fine: tuple[int, ...]
) -> tuple[bool, str]:
    """Return whether it did what it could, and what it printed."""
    identity, program = str(number), find_program(folder, argv[0])
    print_event("run", id=identity, command=shlex.join(argv))
    # As shells have it for a program that is not there
    code, output = 127, f"{argv[0]} is not installed on this worker."
    if program is not None:
        call, none = [program, *argv[1:]], subprocess.DEVNULL
        try:
            done = subprocess.run(call, cwd=folder, stdin=none, capture_output=True, check=False)
            code, output = done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace").strip()
        except OSError as error:
            # As shells have it for a program that is there and cannot be run
            code, output = 126, str(error)
    print_event("ran", id=identity, ok=code in fine, exit_code=code, output=output[-LONGEST_OUTPUT:])
    return code in fine, output


def sentence_of_finding_counts(outputs: list[str], is_partial: bool) -> str:
    """Say what ruff counts, by its name, as another linter may count after it: “12 findings of ruff before, 10 of them
    fixed.”; "" where it counts none. `is_partial`: it looked for some of the rules of another linter alone."""
    counts = [(int(total), int(fixed or 0)) for total, fixed in COUNTED.findall("\n".join(outputs))]
    before, fixed = sum(total for total, _ in counts), sum(fixed for _, fixed in counts)
    if is_partial:
        return f" {counted_noun(fixed, 'finding', 'findings')} fixed by ruff." if fixed else ""
    return (
        f" {counted_noun(before, 'finding', 'findings')} of ruff before, {fixed} of them fixed."
        if before
        else ""
    )


def script_calls(scripts: dict[str, str], name: str, visited: set[str]) -> Iterator[list[str]]:
    """Yield the words of each command of a script and of the scripts that it runs, but those of variables."""
    words = shlex.shlex(scripts[name], posix=True, punctuation_chars=True)
    words.commenters, words.whitespace_split, call = "", True, []
    # Scripts may run one another in a circle
    for word in [*words, ";"] if name not in visited else ():
        visited.add(name)
        if word.strip("();<>|&"):
            call.append(word)
            continue
        others = [other for part in call[1:] for other in fnmatch.filter(scripts, part)]
        if others and call[0] in RUNNERS:
            for other in others:
                yield from script_calls(scripts, other, visited)
        elif not any({"$", "`"} & {*part} for part in call):
            yield call
        call = []


def fixers_in_scripts(folder: Path, name: str) -> list[Command]:
    """Return the calls of fixers in scripts of package.json of this name, turned into fixing; each once."""
    scripts = read_package_json_or_empty(folder).get("scripts")
    texts = {key: str(text) for key, text in scripts.items()} if isinstance(scripts, dict) else {}
    by_name = {fixer.name: fixer for fixer in FIXERS}
    turned: dict[frozenset[str], Command] = {}
    with contextlib.suppress(ValueError):  # a quotation mark that is not closed
        for call in (call for key in fnmatch.filter(texts, name) for call in script_calls(texts, key, set())):
            while call and (call[0] in WRAPPERS or call[0].startswith("-") or "=" in call[0]):
                call = call[1:]
            fixer = by_name.get(os.path.basename(call[0])) if call else None
            arguments = fixer.fixing(call[1:]) if fixer and fixer.fixing else None
            if fixer and arguments is not None:
                argv = (fixer.name, *arguments)
                turned.setdefault(frozenset(argv), (argv, fixer.fine))
    return list(turned.values())


def fixing_commands(folder: Path, requested: list[str]) -> list[Command]:
    if requested:
        return [(tuple(shlex.split(command)), (0,)) for command in requested]
    by_script = fixers_in_scripts(folder, "lint") or fixers_in_scripts(folder, "*")
    fixers = [fixer for fixer in FIXERS if not (by_script and fixer.fixing) and fixer.is_set_up(folder)]
    if not by_script and not fixers:
        if (settings := flake8_settings_or_none(folder)) is not None:
            return [ruff_call_in_place_of_flake8(settings)]
        fixers = [fixer for fixer in WITHOUT_SETUP if fixer.is_set_up(folder)]
    return [*((argv, fixer.fine) for fixer in fixers for argv in fixer.runs), *by_script]


def counted_noun(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def main(arguments: list[str]) -> int:
    folder = Path.cwd()
    print_event("start", program="codemod", version=VERSION)
    pairs = list(zip(arguments[::2], arguments[1::2], strict=False))
    requested = [value for flag, value in pairs if flag == "--run"]
    try:
        to_run = [command for command in fixing_commands(folder, requested) if command[0]]
    except ValueError as error:
        print_event("end", failed=True, text=f"{HONEST} A command could not be read: {error}.")
        return 1
    if not to_run:
        missing = f"{HONEST} It found no fixer that this folder is set up for. {REMEDY}"
        print_event("end", failed=True, why=NO_FIXER, text=missing)
        return 1
    before = file_snapshot_by_path(folder)
    # Commands that the station names may update packages; fixers of the repository may not.
    protected = (
        {}
        if requested
        else protected_file_content_by_path(folder, {value for flag, value in pairs if flag == "--leave"})
    )
    failed: list[str] = []
    outputs: list[str] = []
    for number, (argv, fine) in enumerate(to_run, 1):
        # What another fixer changed before in files that prettier leaves alone stays.
        ignoring = [".prettierignore"] if argv[0] == "prettier" and not requested else []
        before_it = (
            file_content_by_path(
                folder, sorted(ignored_paths(folder, [*source_file_paths(folder)], *ignoring))
            )
            if ignoring
            else {}
        )
        did, output = run_fixer_and_return_result(folder, number, argv, fine)
        failed += [] if did else [argv[0]]
        outputs.append(output if os.path.basename(argv[0]) == "ruff" else "")
        restore_files(folder, before_it)
    restore_files(folder, protected)
    changed = print_changed_files_and_count(before, file_snapshot_by_path(folder))
    ran = counted_noun(len(to_run), "command", "commands")
    absent = sorted({argv[0] for argv, _fine in to_run if find_program(folder, argv[0]) is None})
    if absent and not changed:
        # Nothing was looked at: that is not the same as nothing to do.
        missing = f"{HONEST} Set up here, but not installed: {', '.join(absent)}. {INSTALL}"
        print_event("end", failed=True, why=NO_FIXER, text=missing)
        return 1
    files_changed = counted_noun(changed, "file", "files")
    if failed:
        names = ", ".join(dict.fromkeys(failed))
        text = f"{HONEST} {len(failed)} of {ran} failed: {names}. {files_changed} changed."
        print_event("end", failed=True, text=text)
        return 1
    nothing = f"Nothing to fix. {HONEST} It ran {ran} and no file changed."
    is_partial = any(word.startswith("--select=") for argv, _fine in to_run for word in argv)
    counted = sentence_of_finding_counts(outputs, is_partial)
    print_event(
        "end", text=(f"{HONEST} It ran {ran} and changed {files_changed}." if changed else nothing) + counted
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
