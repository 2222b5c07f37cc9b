"""The names of files in which package managers keep which releases they chose. Nothing but its program writes one: what
is prepared for a repository is kept by their content, so a formatter may not touch them."""

from __future__ import annotations

from typing import Final

LOCK_FILES: Final = (
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "Pipfile.lock",
    "pixi.lock",
    "Cargo.lock",
    "go.sum",
    "go.work.sum",
    "Gemfile.lock",
    "composer.lock",
    "mix.lock",
    "pubspec.lock",
    "Package.resolved",
    "packages.lock.json",
    "gradle.lockfile",
    "flake.lock",
    ".terraform.lock.hcl",
)
