"""`make agents`: install four real coding agents from npm into a temporary folder, run each in a namespace without
network against a scripted model, and print what Gateline derives of each case.

    python -m proof.bench.agents [--programs FOLDER] [--only PRESET]"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pipelines.routing.document.agents import PRESETS
from proof.bench.agents.inside import CASES

PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "opencode": "opencode-ai",
    "gemini": "@google/gemini-cli",
    "gemini-acp": "@google/gemini-cli",
}
# npm leaves out what packages want to run after they were unpacked; these two fetch nothing, and link their program.
AFTER = ("@anthropic-ai/claude-code/install.cjs", "opencode-ai/postinstall.mjs")
SECONDS = 600


def install(folder: Path) -> None:
    wanted = [f"{package}@{PRESETS[preset].versions[-1]}" for preset, package in PACKAGES.items()]
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *wanted]
    subprocess.run(npm, check=True)
    for script in AFTER:
        subprocess.run(["node", str(folder / "node_modules" / script)], check=True, stdout=subprocess.DEVNULL)


def ran(preset: str, case: str, programs: Path) -> dict[str, Any]:
    """What was derived; `error` where the program could not be tried."""
    with tempfile.TemporaryDirectory(prefix="gateline-agents-", ignore_cleanup_errors=True) as folder:
        inside = [sys.executable, "-m", "proof.bench.agents.inside", preset, case, folder, str(programs)]
        try:
            done = subprocess.run(
                ["unshare", "-rn", *inside], capture_output=True, text=True, timeout=SECONDS, check=False
            )
            found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        except (subprocess.TimeoutExpired, ValueError, IndexError) as error:
            return {"error": type(error).__name__}
        return found


def cell(found: dict[str, Any]) -> str:
    if "error" in found:
        return f"not tried ({found['error']})"
    by = f" {found['by']}" if found["by"] else ""
    code = "" if found["exit_code"] is None else f", rc {found['exit_code']}"
    return f"{found['result']}{by}{code}"


def lied(case: str, found: dict[str, Any]) -> bool:
    """Whether a success is none: a change was expected, and there is no file. And the other way round."""
    if "error" in found:
        return False
    if CASES[case].tools:
        # What it asked, and that its claim was recorded as one, with the output that it named
        made = found["facts"].get("claims", {}).get("made", [])
        return found["asked"] != ["what_if"] or [claim["kind"] for claim in made] != ["report"]
    good = bool(found["files"]) if CASES[case].expects == "change" else CASES[case].up
    return (found["result"] == "success") != good


def main() -> int:
    parser = argparse.ArgumentParser(prog="make agents")
    parser.add_argument("--programs", type=Path, help="where they are installed already")
    parser.add_argument("--only", choices=sorted(PACKAGES))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gateline-npm-", ignore_cleanup_errors=True) as temporary:
        programs = chosen.programs or Path(temporary)
        if not chosen.programs:
            install(programs)
        false = 0
        print("| program | case | derived | files | claims |\n|---|---|---|---|---|")
        for preset in [chosen.only] if chosen.only else list(PACKAGES):
            for case in CASES:
                if case == "denied" and not PRESETS[preset].limits_commands:
                    print(f"| {preset} | {case} | cannot be limited: not published | | |")
                    continue
                found = ran(preset, case, programs)
                wrong = lied(case, found)
                false += wrong
                files, claim = ", ".join(found.get("files", ())) or "none", found.get("claim", "")[:60]
                mark = " **wrong**" if wrong else ""
                claim = claim.replace("\n", " ").replace("|", "/")
                print(f"| {preset} | {case} | {cell(found)}{mark} | {files} | {claim} |", flush=True)
    print(f"\n{false} derived wrongly.")
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
