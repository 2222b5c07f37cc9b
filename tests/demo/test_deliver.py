"""repository-deliver: what arrives is what was checked."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.demo.conftest import Done, Workspace
from tests.demo.repositories import GOOD, Repository

Make = Callable[..., Repository]
FILES = GOOD | {
    "run.sh": "#!/bin/sh\n",
    "bad.py": "import subprocess\nsubprocess.call(input(), shell=True)\nprint(nowhere)\n",
    "link": "-> sums.py",
    "odd\\name\n.txt": "x",
}


def checked(workspace: Workspace, made: Repository) -> None:
    workspace.checkout(made)
    for station in ("lint", "tests", "security"):
        assert workspace.check(station).code == 0


def archive(workspace: Workspace, done: Done) -> Path:
    return workspace.folder / done.document["artifacts"][0]["path"]


def test_the_archive_holds_the_tree_and_its_checksums(
    workspace: Workspace, repository: Make, tmp_path: Path
) -> None:
    checked(workspace, repository(FILES))
    done = workspace.deliver()
    assert done.code == 0
    top = f"sums-{workspace.context['commit'][:12]}"
    with tarfile.open(archive(workspace, done)) as packed:
        for member in packed:
            packed.extract(member, tmp_path / "out")
    out = tmp_path / "out" / top
    assert {p.name for p in out.parent.iterdir()} == {top}
    assert {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()} == {*FILES, "MANIFEST.sha256"}
    assert out.joinpath("run.sh").stat().st_mode & 0o100
    assert out.joinpath("link").is_symlink()
    manifest = (out / "MANIFEST.sha256").read_text()
    assert f"{hashlib.sha256(b'x').hexdigest()}  odd\\\\name\\n.txt" in manifest
    assert manifest == (workspace.folder / "delivery" / "MANIFEST.sha256").read_text()
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "--check", "--strict", "MANIFEST.sha256"], cwd=out, check=True)


@pytest.mark.wide
def test_the_artifacts_are_listed_with_their_checksums(workspace: Workspace, repository: Make) -> None:
    checked(workspace, repository(FILES))
    done = workspace.deliver()
    assert [a["name"] for a in done.document["artifacts"]][1:] == [
        "MANIFEST.sha256",
        "summary.md",
        "summary.json",
    ]
    for artifact in done.document["artifacts"]:
        data = (workspace.folder / artifact["path"]).read_bytes()
        assert artifact["sha256"] == hashlib.sha256(data).hexdigest()
        assert artifact["size"] == len(data)


@pytest.mark.wide
def test_the_same_commit_gives_the_same_archive(
    workspace: Workspace, repository: Make, tmp_path: Path
) -> None:
    made = repository(FILES)
    checked(workspace, made)
    first = archive(workspace, workspace.deliver()).read_bytes()
    other = Workspace(tmp_path / "other", workspace.roots)
    checked(other, made)
    (other.folder / "tree" / "sums.py").touch()
    assert archive(other, other.deliver()).read_bytes() == first


@pytest.mark.wide
def test_the_summary_holds_all_findings(workspace: Workspace, repository: Make) -> None:
    checked(workspace, repository(FILES))
    workspace.deliver()
    whole = json.loads((workspace.folder / "delivery" / "summary.json").read_text())
    assert whole["commit"] == workspace.context["commit"]
    assert whole["stations"]["lint"]["output"]["findings"][0]["code"] == "F821"
    assert whole["stations"]["security"]["output"]["high"] == 1
    assert whole["stations"]["tests"]["output"]["passed"] == 1
    text = (workspace.folder / "delivery" / "summary.md").read_text()
    for words in ("| high | F821 | bad.py:3 |", "| high | B602 | bad.py:2 |", "1 test passed"):
        assert words in text


@pytest.mark.wide
def test_text_of_strangers_is_no_markup_in_the_summary(workspace: Workspace, repository: Make) -> None:
    name = "<img src=x onerror=alert(1)>|[a](b).py"
    checked(workspace, repository({name: "print(nowhere)\n"}))
    workspace.deliver()
    text = (workspace.folder / "delivery" / "summary.md").read_text()
    assert "<img" not in text
    assert "[a]" not in text
    assert "\\|\\[a\\](b).py" in text


@pytest.mark.wide
def test_a_tree_that_changed_since_is_not_delivered(workspace: Workspace, repository: Make) -> None:
    checked(workspace, repository(FILES))
    (workspace.folder / "tree" / "extra.py").write_text("x")
    done = workspace.deliver()
    assert (done.code, done.document["failure_type"]) == (1, "changed")
    assert not list(workspace.folder.glob("delivery/*"))


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.parametrize("station", ["checkout", "lint", "tests", "security"])
def test_a_report_that_changed_since_is_not_delivered(
    workspace: Workspace, repository: Make, station: str
) -> None:
    checked(workspace, repository(FILES))
    kept = workspace.folder / ".gateline-results" / f"{station}.json"
    kept.write_text(kept.read_text().replace('"high": 1', '"high": 0') + " ")
    done = workspace.deliver()
    assert (done.code, done.document["failure_type"]) == (1, "changed")
    assert station in done.summary


@pytest.mark.wide
def test_delivering_again_leaves_one_delivery(workspace: Workspace, repository: Make) -> None:
    checked(workspace, repository(FILES))
    workspace.deliver()
    (workspace.folder / "delivery" / "left.txt").write_text("x")
    workspace.deliver()
    assert len(list((workspace.folder / "delivery").iterdir())) == 4
