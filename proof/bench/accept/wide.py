"""Every shipped template, begun, published, started, and worked to its end in the browser: `make accept ARGS=--wide`.

Three people: one requests, two review. Where a template asks a model, a program that is called like the agent answers
by a script; where it runs make without a repository, every target succeeds. The words are those of the README, of
`docs`, and of the documents of the templates."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proof.bench.accept.guest import Guest
from proof.bench.accept.product import LocalRepository
from proof.bench.accept.readme import ROOT

PAGES = (
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "pipelines/lines/starters/lines").glob("*.yaml")),
)
AGENT = """#!/usr/bin/env -S python3 -IS
import json, sys
prompt = sys.stdin.read()
def show(kind, **more): print(json.dumps({"type": kind, "session_id": "s1", **more}), flush=True)
show("system", subtype="init")
if "Carry out this plan" in prompt:
    open("rounding.py", "w").write("CENTS = 100\\n")
    answer = "I created rounding.py."
elif "Read what this branch changes" in prompt:
    answer = 'Read.\\n\\n```json\\n{"findings": "None"}\\n```'
else:
    answer = 'Planned.\\n\\n```json\\n{"plan": "Say how many cents there are."}\\n```'
show("result", subtype="success", is_error=False, result=answer, total_cost_usd=0.01, usage={})
"""
WRITER = """#!/bin/sh
cat > /dev/null
printf '```json\\n{"draft": "A first draft"}\\n```\\n'
"""
MAKE = """#!/bin/sh
case "$1" in build | test | lint | audit) [ -e Makefile ] || exit 0 ;; esac
exec {make} "$@"
"""
MAKEFILE = """test:
\tpython3 -B -m pytest -q -p no:cacheprovider
audit:
\t@true
update:
\t@echo 'till==2' > packages.txt
prepare-release:
\t@echo $(VERSION) > VERSION
publish:
\t@echo "published $(VERSION)"
"""
FILES = {"Makefile": MAKEFILE, "packages.txt": "till==1\n"}


@dataclass(frozen=True)
class ManualStep:
    """Work of a person at a station, with what they enter."""

    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReviewStep:
    """A review, which so many people approve. `files`: more than one, which they do not open."""

    people: int = 1
    files: bool = False


@dataclass(frozen=True)
class TemplateTour:
    name: str
    end: str
    steps: Sequence[ManualStep | ReviewStep] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)


TILLS = {"Repository": "tills"}
TOURS = (
    TemplateTour("Triage", "Solved", [ManualStep({"How grave": "high"}), ManualStep()],
                 {"What was reported": "The door does not close"}),
    TemplateTour("Intake form", "Planned", [ManualStep({"Decision": "accept"}), ManualStep({"Day": "2030-01-15"})],
                 {"What you need": "Access to the archive", "Kind": "access"}),
    TemplateTour("Review before delivery", "Delivered",
                 [ManualStep(), ReviewStep(), ManualStep({"Where it went": "To the customer"})],
                 {"What is to be delivered": "The offer"}),
    TemplateTour("Build, test, fix", "Released"),
    TemplateTour("Checks in turn", "Checked", [ReviewStep()]),
    TemplateTour("Checks side by side", "Released", [ManualStep()]),
    TemplateTour("Agent draft, two approvals", "Published", [ReviewStep(2), ManualStep()],
                 {"What is to be written": "Explain the new tariff"}),
    TemplateTour("Fix lint findings", "Merged", [ReviewStep()], TILLS),
    TemplateTour("Dependency update", "Merged", [ReviewStep()], TILLS),
    TemplateTour("Review somebody's branch", "Merged", [ReviewStep()], {**TILLS, "Branch": "receipts"}),
    TemplateTour("Request to merged change", "Merged", [ReviewStep(), ReviewStep()],
                 {**TILLS, "Request": "Say how many cents there are"}),
    TemplateTour("Release", "Released", [ReviewStep(2)], {**TILLS, "Version": "2.4.0"}),
)  # fmt: skip


def programs(folder: Path) -> Path:
    """A folder for the path of the product, with the scripted programs."""
    folder.mkdir()
    make = shutil.which("make")
    for name, text in {"claude": AGENT, "scripted-writer": WRITER, "make": MAKE.format(make=make)}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def connect(admin: Guest, folder: Path) -> None:
    """A repository of this machine, and the key of the agent, which its script does not read."""
    repository = LocalRepository(folder / "tills.git", FILES)
    repository.branch("receipts", "receipts.py", "PAPER = 80\n")
    admin.choose("Home › Settings › Repositories")
    admin.fill("Address", str(repository.path))
    admin.press("Connect and test")
    admin.tick("Allow")
    admin.press("Connect and test")
    admin.see("Pushing allowed")
    admin.film("connected")
    admin.choose("Home › Settings › Secrets and variables")
    admin.fill("Name", "ANTHROPIC_API_KEY")
    admin.fill("Value", "no-key-of-anybody")
    admin.press("Save")


def work(tour: TemplateTour, admin: Guest, reviewers: Sequence[Guest]) -> None:
    """One template, to its end."""
    admin.choose("Home › Lines › New line")
    admin.press("Use this template", tour.name)
    admin.press("Publish")
    admin.press("Publish", within="main")
    admin.choose("Overview › Start a task")
    for label, value in tour.inputs.items():
        admin.fill(label, value)
    admin.press("Start the task")
    admin.see("History")
    task = admin.page.url
    for step in tour.steps:
        if isinstance(step, ManualStep):
            admin.go(task)
            admin.press("Complete", within="main")
            for label, value in step.fields.items():
                admin.fill(label, value)
            admin.press("Complete", within="main")
            continue
        for person in reviewers[: step.people]:
            person.go(task)
            person.press("Review", within="main", whole=True)
            person.approve(opened=not step.files)
    admin.go(task)
    admin.see(tour.end)
    admin.film(tour.name)
