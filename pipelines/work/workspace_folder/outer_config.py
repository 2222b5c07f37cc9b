"""Files that tools look for in the folders above the one they work in: below such a file a station would work by a
configuration that is no part of its repository."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path
from typing import Final

_PYTHON: Final = """
    pyproject.toml setup.cfg setup.py tox.ini tox.toml pytest.ini .pytest.ini pytest.toml .pytest.toml conftest.py
    ruff.toml .ruff.toml mypy.ini .mypy.ini pyrightconfig.json .flake8 pylintrc .pylintrc pylintrc.toml .pylintrc.toml
    .isort.cfg .style.yapf uv.toml Pipfile .python-version .venv .bandit
"""
_JAVASCRIPT: Final = """
    package.json node_modules tsconfig.json jsconfig.json eslint.config.* .eslintrc* .eslintignore .prettierrc*
    prettier.config.* .prettierignore biome.json* .biome.json* .oxlintrc.json dprint.json* .dprint.json* .stylelintrc*
    stylelint.config.* .babelrc* babel.config.* .swcrc .browserslistrc postcss.config.* .postcssrc* tailwind.config.*
    jest.config.* commitlint.config.* .commitlintrc* .lintstagedrc* lint-staged.config.* .markdownlint* .jshintrc
    pnpm-workspace.yaml .yarnrc .yarnrc.yml .pnp.cjs lerna.json nx.json turbo.json deno.json* .nvmrc .node-version
"""
_OTHERS: Final = """
    Cargo.toml .cargo/config .cargo/config.toml rust-toolchain rust-toolchain.toml rustfmt.toml .rustfmt.toml
    clippy.toml .clippy.toml go.mod go.work .golangci.* Gemfile .rubocop.yml .ruby-version composer.json pubspec.yaml
    analysis_options.yaml Package.swift .mvn settings.gradle* build.gradle* Directory.*.props Directory.*.targets
    global.json nuget.config NuGet.Config .clang-format _clang-format .clang-tidy .clangd compile_commands.json
    WORKSPACE WORKSPACE.bazel MODULE.bazel .bazelrc .buckconfig cabal.project stack.yaml dune-project dune-workspace
    justfile Justfile .justfile Taskfile.y* Rakefile gulpfile.* Gruntfile.* compose.y* docker-compose.y* Vagrantfile
"""
_ANY: Final = """
    .git .hg .svn .jj .bzr .editorconfig .ignore .env .envrc .tool-versions mise.toml .mise.toml .yamllint*
    .shellcheckrc .luacheckrc .vale.ini CLAUDE.md CLAUDE.local.md AGENTS.md AGENTS.override.md GEMINI.md .mcp.json
    opencode.json* .opencode .cursorrules
"""
LOOKED_FOR: Final = tuple(f"{_PYTHON}{_JAVASCRIPT}{_OTHERS}{_ANY}".split())
_NAMES: Final = tuple(name for name in LOOKED_FOR if "*" not in name)
_PATTERNS: Final = tuple(name for name in LOOKED_FOR if "*" in name)


def find_config_file_above(folder: Path) -> Path | None:
    """The first such file in the folder itself or above it, the nearest first; None where there is none. Links are
    resolved, as a tool's own working folder is."""
    place = folder.resolve()
    return next((path for above in (place, *place.parents) if (path := _config_file_in_or_none(above))), None)


def _config_file_in_or_none(folder: Path) -> Path | None:
    for name in _NAMES:
        if os.path.lexists(folder / name):
            return folder / name
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return None  # nobody else lists it, either: a tool finds there only what it knows by its whole name
    matching = (name for name in names for pattern in _PATTERNS if fnmatch.fnmatchcase(name, pattern))
    return next((folder / name for name in matching), None)
