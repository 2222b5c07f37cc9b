"""The program of ours, `codemod`: real processes in a folder of their own."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.work.agents.codemod import FIXERS, REMEDY
from pipelines.work.spec.handler_io import Attempt
from tests.work.agents.conftest import Programs, ran
from tests.work.conftest import Collected


async def test_codemod_fixes_what_the_folder_is_set_up_for(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    (attempt.workspace / "ruff.toml").write_text("line-length = 100\n[format]\n")
    (attempt.workspace / "a.py").write_text("import os\nimport sys\nprint( sys.argv)\n")
    spec = program.spec("codemod")
    venv = str(Path(sys.executable).parent)
    outcome = await ran(replace(spec, env={**spec.env, "PATH": venv}), sink)
    assert (attempt.workspace / "a.py").read_text() == "import sys\n\nprint(sys.argv)\n"
    summary = "It ran 2 commands and changed 1 file. 2 findings of ruff before, 2 of them fixed."
    assert outcome["summary"] == f"Codemod is a program and no model. {summary}"
    assert outcome["facts"]["commands"] == {"run": 2, "failed": 0, "denied": 0, "last_exit_code": 0}
    assert outcome["facts"]["usage"] == {"tokens_in": 0, "tokens_out": 0, "price": "none"}


async def test_a_repository_that_lints_with_flake8_gets_what_flake8_finds_fixed_and_no_style_of_another(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    """By ruff's own rules imports were sorted and names changed that nobody had complained about."""
    folder = attempt.workspace
    (folder / "tox.ini").write_text(
        "[flake8]\nignore = W291\nextend-exclude = old\nper-file-ignores =\n    __init__.py: F401\n    b.py: E, W\n"
    )
    source = "import sys\nimport os\n\ntry:\n    print(sys.argv == None) \nexcept IOError:\n    pass\n"
    for name in ("a.py", "__init__.py", "old/a.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(source)
    spec = program.spec("codemod")
    outcome = await ran(replace(spec, env={**spec.env, "PATH": str(Path(sys.executable).parent)}), sink)
    assert outcome["summary"].endswith("changed 1 file. 1 finding fixed by ruff."), (
        "of all that flake8 finds nobody counted"
    )
    assert (folder / "a.py").read_text() == source.replace("import os\n", "")
    assert (folder / "__init__.py").read_text() == (folder / "old/a.py").read_text() == source


@pytest.mark.parametrize("project", ['[project]\nname = "a"\nrequires-python = ">= 3.7"\n', ""])
async def test_without_a_linter_of_its_own_nothing_is_written_that_an_old_python_cannot_run(
    project: str, program: Programs, sink: Collected, attempt: Attempt
) -> None:
    """A signature with `int | None` ends the import on Python 3.9, which no test on a newer one sees."""
    source = "import os\nfrom typing import Optional\n\n\ndef one(number: Optional[int]) -> None:\n    print(number)\n"
    for name, text in {"pyproject.toml": project, "a.py": source}.items():
        (attempt.workspace / name).write_text(text)
    spec = program.spec("codemod")
    await ran(replace(spec, env={**spec.env, "PATH": str(Path(sys.executable).parent)}), sink)
    left = (attempt.workspace / "a.py").read_text()
    assert "import os" not in left and "number: Optional[int]" in left


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        # What flake8-pyproject reads: unused imports are wanted there, and trailing blanks are not chosen
        (
            {"pyproject.toml": '[tool.flake8]\nselect = ["F", "E"]\nignore = ["F401"]\n'},
            "import os\nprint(1) \n",
        ),
        # Called without settings of its own
        ({"tox.ini": "[testenv:flake8]\ncommands =\n    flake8\n"}, "print(1)\n"),
    ],
)
async def test_flake8_is_known_by_the_settings_of_its_plugin_and_by_a_call_alone(
    settings: dict[str, str], left: str, program: Programs, sink: Collected, attempt: Attempt
) -> None:
    """By ruff's own rules `range(0, 2)` was changed, of which flake8 says nothing."""
    for name, text in {**settings, "a.py": "import os\nprint(1) \n", "b.py": "range(0, 2)\n"}.items():
        (attempt.workspace / name).write_text(text)
    spec = program.spec("codemod")
    await ran(replace(spec, env={**spec.env, "PATH": str(Path(sys.executable).parent)}), sink)
    assert (attempt.workspace / "a.py").read_text() == left
    assert (attempt.workspace / "b.py").read_text() == "range(0, 2)\n"


async def test_a_repository_that_only_lints_with_ruff_is_not_formatted(
    program: Programs, sink: Collected, attempt: Attempt
) -> None:
    (attempt.workspace / "pyproject.toml").write_text("[tool.ruff]\nline-length = 90\n")
    (attempt.workspace / "a.py").write_text("import os\nprint( 1)\n")
    spec = program.spec("codemod")
    await ran(replace(spec, env={**spec.env, "PATH": str(Path(sys.executable).parent)}), sink)
    assert (attempt.workspace / "a.py").read_text() == "print( 1)\n"


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
    assert (attempt.workspace / "a.py").read_text() == "1"
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


CHECKED = {
    "eslint": "import sys; open('ran', 'a').write(' '.join(['eslint', *sys.argv[1:]]) + '\\n'); sys.exit(1)",
    **{
        name: f"import sys; open('ran', 'a').write(' '.join(['{name}', *sys.argv[1:]]) + '\\n')"
        for name in ("biome", "prettier", "oxlint", "oxfmt", "xo", "stylelint")
    },
}
BOTH = ["eslint --fix .", "biome check --write ."]


@pytest.mark.parametrize(
    ("scripts", "ran_commands"),
    [
        ({"lint": "biome ci src"}, ["biome check src --write"]),
        ({"lint": "eslint src test --ext ts --ext js -f json -o report.json"},
         ["eslint src test --ext ts --ext js --fix"]),
        ({"lint": "eslint . && prettier -c src test/**.ts", "format": "prettier --write ."},
         ["eslint . --fix", "prettier src test/**.ts --write --log-level=warn"]),
        ({"lint": "oxlint src && oxfmt --check src test", "lint:fix": "oxlint src --fix && oxfmt src test"},
         ["oxlint src --fix", "oxfmt src test"]),
        ({"test": "xo && node --test"}, ["xo --fix"]),
        ({"lint": "npm run lint:js && pnpm lint:css", "lint:js": "CI=1 npx --no eslint 'a b'",
          "lint:css": "stylelint --max-warnings=0 'src/**/*.css'"},
         ["eslint a b --fix", "stylelint --max-warnings=0 src/**/*.css --fix"]),
        ({"lint": "run-s lint:*", "lint:a": "node_modules/.bin/eslint a", "lint:b": "eslint a --fix || exit 1"},
         ["eslint a --fix"]),
        ({"format": "prettier -w docs", "lint": "tsc"}, ["prettier docs --write --log-level=warn"]),
        ({"lint": "npm run lint", "test": "node --test"}, BOTH),
        ({"lint": "eslint $FILES"}, BOTH),
        ({"lint": "eslint 'src"}, BOTH),
        ({"lint": "biome migrate"}, BOTH),
    ],
)  # fmt: skip
async def test_fixers_run_as_the_scripts_of_the_repository_call_them(
    scripts: dict[str, str],
    ran_commands: list[str],
    program: Programs,
    sink: Collected,
    attempt: Attempt,
) -> None:
    folder = attempt.workspace
    for name, text in CHECKED.items():
        program(name, text)
    (folder / "package.json").write_text(
        json.dumps({"scripts": scripts, "devDependencies": {"prettier": "^3"}})
    )
    (folder / "biome.json").write_text("{}")
    (folder / ".eslintrc.cjs").write_text("")
    outcome = await ran(program.spec("codemod"), sink)
    assert (folder / "ran").read_text().splitlines() == ran_commands
    assert outcome["exit_code"] == 0


@pytest.mark.parametrize("name", ["oxlint", "oxfmt"])
async def test_a_fixer_is_known_by_its_configuration(
    name: str, program: Programs, sink: Collected, attempt: Attempt
) -> None:
    program(name, CHECKED[name])
    (attempt.workspace / f".{name}rc.json").write_text("{}")
    await ran(program.spec("codemod"), sink)
    assert (attempt.workspace / "ran").read_text() == ("oxlint --fix\n" if name == "oxlint" else "oxfmt\n")


async def test_a_fixer_that_fails_is_named(program: Programs, sink: Collected, attempt: Attempt) -> None:
    for name in ("biome", "prettier"):
        program(name, f"import sys; open('a.ts', 'a').write('1'); sys.exit('{name}' == 'prettier')")
    (attempt.workspace / "biome.json").write_text("{}")
    (attempt.workspace / ".prettierrc").write_text("")
    (attempt.workspace / "a.ts").write_text("")
    outcome = await ran(program.spec("codemod"), sink)
    assert "1 of 2 commands failed: prettier. 1 file changed." in outcome["summary"]


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


def test_the_help_says_how_each_fixer_is_found() -> None:
    text = (Path(__file__).parents[3] / "docs" / "agents.md").read_text()
    table = text.partition("| fixer | found by")[2].partition("\n\n")[0]
    for fixer in FIXERS:
        assert f"| {fixer.name} |" in table or f", {fixer.name} |" in table or f"| {fixer.name}," in table
        assert fixer.name in REMEDY, "what is missing is named where none is found"


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
