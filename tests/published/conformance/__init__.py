"""The suite by which the authors of the Model Context Protocol try servers, from npm. Its packages are locked, each by
its digest, in the folder of this module."""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
from pathlib import Path

from tests.published.packages import FETCH_SECONDS, FOLDER, NotFetched

LOCKED = Path(__file__).parent
MARK = re.compile(r"^\s*([✓✗⚠]) (\S+): (\d+) passed, (\d+) failed", re.M)
SUITE_SECONDS = 120


def scenario_results(url: str, folder: Path) -> dict[str, tuple[int, int]]:
    """Return {scenario: (checks passed, failed)} of a server that asks for no token. Raises NotFetched."""
    program = _installed() / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    command = ["node", "--import", str(LOCKED / "glob.mjs"), str(program), "server", "--url", url]
    said = subprocess.run(
        [*command, "--suite", "all", "--output-dir", str(folder)],
        cwd=folder, capture_output=True, text=True, timeout=SUITE_SECONDS, check=False,
    )  # fmt: skip
    found = {name: (int(passed), int(failed)) for _mark, name, passed, failed in MARK.findall(said.stdout)}
    assert found, said.stdout[-2000:] + said.stderr[-2000:]
    return found


def _installed() -> Path:
    """Return the folder of its packages, which are fetched once for a checkout."""
    npm = shutil.which("npm")
    if npm is None:
        raise NotFetched("no npm to fetch @modelcontextprotocol/conformance with")
    folder = FOLDER / "conformance"
    folder.mkdir(parents=True, exist_ok=True)
    lock_text = (LOCKED / "package-lock.json").read_text("utf-8")
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "installed"
        if not done.exists() or done.read_text("utf-8") != lock_text:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(LOCKED / name, folder)
            command = [npm, "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]
            try:
                subprocess.run(command, cwd=folder, timeout=FETCH_SECONDS, check=True, capture_output=True)
            except (subprocess.SubprocessError, OSError) as error:
                raise NotFetched(
                    f"@modelcontextprotocol/conformance cannot be fetched: {type(error).__name__}"
                ) from error
            done.write_text(lock_text, "utf-8")
    return folder
