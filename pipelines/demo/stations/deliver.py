"""repository-deliver: an archive of what was checked, its manifest, and a summary of all findings."""

from __future__ import annotations

import json
import re
from pathlib import Path

from . import archive, summary, tree
from .report import Report, arguments, evidence, kept, replace
from .text import count

DELIVERY = Path("delivery")


def main() -> Report:
    given = arguments(
        "Pack the checked-out tree with a manifest of checksums and a summary of what the stations found.",
        tree={"required": True},
        checkout_report={"required": True},
        lint_report={"required": True},
        tests_report={"required": True},
        security_report={"required": True},
    )
    checkout = kept("checkout", given.checkout_report)
    reports = {name: kept(name, getattr(given, f"{name}_report")) for name in ("lint", "tests", "security")}
    found = {name: evidence(name, document) for name, document in reports.items()}
    entries = tree.checked(given.tree)
    top = f"{short_name(checkout['output']['repository'])}-{checkout['output']['commit'][:12]}"
    tree.remove(DELIVERY)
    DELIVERY.mkdir()
    packed = DELIVERY / f"{top}.tar.gz"
    archive.pack(tree.TREE, entries, top, packed)
    replace(DELIVERY / archive.MANIFEST, archive.manifest(entries))
    whole = summary.document(
        checkout, summary.detailed(reports, found), archive.artifact(packed, "application/gzip")
    )
    replace(DELIVERY / "summary.json", json.dumps(whole, indent=1, sort_keys=True).encode())
    replace(DELIVERY / "summary.md", summary.markdown(whole).encode())
    return report(packed, len(entries))


def report(packed: Path, entries: int) -> Report:
    artifacts = [
        archive.artifact(packed, "application/gzip"),
        archive.artifact(DELIVERY / archive.MANIFEST, "text/plain"),
        archive.artifact(DELIVERY / "summary.md", "text/markdown"),
        archive.artifact(DELIVERY / "summary.json", "application/json"),
    ]
    output = {
        "archive": packed.name,
        "sha256": artifacts[0]["sha256"],
        "bytes": artifacts[0]["size"],
        "files": entries,
    }
    return Report(
        f"Delivered {packed.name}: {count(entries, 'file')}, {artifacts[0]['size']} bytes.",
        output=output,
        artifacts=artifacts,
    )


def short_name(repository: str) -> str:
    """The last part of the address, as a plain file name."""
    last = repository.rstrip("/").rpartition("/")[2].removesuffix(".git")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip(".-")[:60] or "repository"
