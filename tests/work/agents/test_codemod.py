"""The program of ours, `codemod`: real processes in a folder of their own."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.work.spec.base import Attempt
from tests.work.agents.conftest import Programs, ran
from tests.work.conftest import Collected


async def test_codemod_fixes_what_the_folder_is_set_up_for(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    (attempt.workspace / "ruff.toml").write_text("line-length = 100\n")
    (attempt.workspace / "a.py").write_text("import os\nimport sys\nprint( sys.argv)\n")
    spec = program.spec("codemod")
    venv = str(Path(sys.executable).parent)
    outcome = await ran(replace(spec, env={**spec.env, "PATH": venv}), sink)
    assert (attempt.workspace / "a.py").read_text() == "import sys\n\nprint(sys.argv)\n"
    assert outcome["summary"] == "Codemod is a program and no model. It ran 2 commands and changed 1 file."
    assert outcome["facts"]["commands"] == {"run": 2, "failed": 0, "denied": 0, "last_exit_code": 0}
    assert outcome["facts"]["usage"] == {"tokens_in": 0, "tokens_out": 0, "price": "none"}


@pytest.mark.parametrize("place", ["node_modules/.bin", ".venv/bin"])
async def test_codemod_runs_the_fixer_that_the_packages_of_the_repository_bring(
    place: str, program: Programs, sink: Collected, attempt: Attempt
) -> None:
    """A newer ruff of the runner formatted README.md, which the repository's own leaves alone."""
    folder = attempt.workspace / place
    folder.mkdir(parents=True)
    program("ruff", "open('readme.md', 'a').write('the runner was here')")
    own = folder / "ruff"
    own.write_text(f"#!{sys.executable}\nopen('a.py', 'a').write('1')\n")
    own.chmod(0o755)
    (attempt.workspace / "ruff.toml").write_text("")
    (attempt.workspace / "a.py").write_text("")
    await ran(program.spec("codemod"), sink)
    assert (attempt.workspace / "a.py").read_text() == "11"
    assert not (attempt.workspace / "readme.md").exists()


async def test_fixers_leave_lock_files_and_ignored_files_as_they_are(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    """`prettier --write .` formatted pnpm-lock.yaml, and what is prepared by its content was prepared anew."""
    folder = attempt.workspace
    program(
        "prettier", "[open(os.path.join(at, n), 'a').write('x') for at, _, ns in os.walk('.') for n in ns]"
    )
    (folder / "inner").mkdir()
    (folder / ".prettierrc").write_text("{}")
    (folder / ".gitignore").write_text("made/\n.*\n")
    (folder / ".prettierignore").write_text("*.md\n!kept.md\n")
    (folder / "made").mkdir()
    ignored = ("inner/a.md", "made/a.ts")
    # Git reads the patterns: without it only lock files are known, and files of the fixer's own count as changed.
    git = shutil.which("git") is not None
    left = ("pnpm-lock.yaml", "inner/Cargo.lock", *(ignored if git else ()))
    for path in ("pnpm-lock.yaml", "inner/Cargo.lock", *ignored, "a.ts", "kept.md"):
        (folder / path).write_text("a")
    outcome = await ran(program.spec("codemod"), sink)
    assert {path: (folder / path).read_text() for path in left} == dict.fromkeys(left, "a")
    assert [(folder / path).read_text() for path in ("a.ts", "kept.md")] == ["ax", "ax"]
    assert outcome["summary"].endswith("changed 2 files." if git else "changed 7 files.")


async def test_what_prettier_leaves_alone_is_fixed_by_others(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    folder = attempt.workspace
    for name in ("biome", "prettier"):
        program(name, f"open('a.ts', 'a').write('{name} ')")
    (folder / "biome.json").write_text("{}")
    (folder / ".prettierrc").write_text("{}")
    (folder / ".prettierignore").write_text("*\n")
    (folder / "a.ts").write_text("")
    await ran(program.spec("codemod"), sink)
    # Without git nobody reads the patterns.
    assert (folder / "a.ts").read_text() == ("biome " if shutil.which("git") else "biome prettier ")


@pytest.mark.parametrize(
    ("scripts", "written"),
    [
        ('{"lint": "biome check ."}', "biome "),
        ('{"lint": "eslint . && prettier -c src"}', "eslint prettier "),
        ('{"test": "node --test"}', "eslint biome "),
    ],
)
async def test_only_the_fixers_that_scripts_call_are_run_where_they_call_any(
    scripts: str, written: str, program: Programs, sink: Collected, attempt: Attempt
) -> None:
    folder = attempt.workspace
    for name in ("eslint", "biome", "prettier"):
        program(name, f"open('a.ts', 'a').write('{name} ')")
    (folder / "package.json").write_text(f'{{"scripts": {scripts}, "devDependencies": {{"prettier": "^3"}}}}')
    (folder / "biome.json").write_text("{}")
    (folder / ".eslintrc.cjs").write_text("")
    (folder / "a.ts").write_text("")
    await ran(program.spec("codemod"), sink)
    assert (folder / "a.ts").read_text() == written


async def test_commands_of_the_station_may_change_lock_files(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    (attempt.workspace / "uv.lock").write_text("a")
    program("update", "open('uv.lock', 'a').write('x')")
    await ran(program.spec("codemod", allow=("update",)), sink)
    assert (attempt.workspace / "uv.lock").read_text() == "ax"


async def test_codemod_says_that_there_is_nothing_to_fix(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    (attempt.workspace / "ruff.toml").write_text("")
    spec = program.spec("codemod")
    venv = str(Path(sys.executable).parent)
    outcome = await ran(replace(spec, env={**spec.env, "PATH": venv}), sink)
    assert outcome["exit_code"] == 0
    assert outcome["summary"].startswith("Nothing to fix. Codemod is a program and no model.")


async def test_codemod_without_a_fixer_fails_and_says_what_makes_one_be_found(
    program: Programs, sink: Collected
) -> None:
    outcome = await ran(program.spec("codemod"), sink)
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "no_fixer")
    for file in ("ruff.toml", "eslint.config.js", "biome.json", ".prettierrc", ".go"):
        assert file in outcome["summary"]


async def test_codemod_goes_by_the_rules_of_the_linter_where_python_is_not_set_up(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    file = attempt.workspace / "prices.py"
    file.write_text("import os\n\n\ndef total( items ):\n    return sum(items)\n")
    spec = program.spec("codemod")
    outcome = await ran(replace(spec, env={**spec.env, "PATH": str(Path(sys.executable).parent)}), sink)
    assert outcome["exit_code"] == 0
    assert file.read_text() == "\n\ndef total( items ):\n    return sum(items)\n"


async def test_codemod_with_a_fixer_that_is_not_installed_looked_at_nothing(
    sink: Collected, attempt: Attempt, program: Programs
) -> None:
    (attempt.workspace / "biome.json").write_text("{}")
    outcome = await ran(program.spec("codemod"), sink)
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "no_fixer")
    assert "Set up here, but not installed: biome." in outcome["summary"]


async def test_codemod_runs_the_commands_that_it_is_given(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    program("fix", "open('fixed', 'w').write('x')")
    outcome = await ran(program.spec("codemod", allow=("fix --all",)), sink)
    assert (attempt.workspace / "fixed").exists()
    assert outcome["summary"].endswith("It ran 1 command and changed 1 file.")
    missing = await ran(program.spec("codemod", allow=("no-such-fixer",)), sink)
    assert (missing["exit_code"], missing["facts"]["commands"]["last_exit_code"]) == (1, 127)
