"""The newcomer's repository: a small TypeScript package with a lock file, eslint and tests, made here."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = {
    "name": "small-urls",
    "version": "1.0.0",
    "private": True,
    "type": "module",
    "scripts": {"lint": "eslint .", "test": "npm run lint && tsc && node --test build/test"},
    "devDependencies": {"@types/node": "^20", "eslint": "^9", "typescript": "^5", "typescript-eslint": "^8"},
}
ESLINT = """import tseslint from "typescript-eslint";

export default tseslint.config({ ignores: ["build/"] }, ...tseslint.configs.recommended, {
  rules: { "prefer-const": "error", "no-var": "error" },
});
"""
COMPILER = {
    "target": "es2022",
    "module": "nodenext",
    "outDir": "build",
    "strict": True,
    "skipLibCheck": True,
}
SOURCE = """export function joined(base: string, ...parts: string[]): string {
  let url = base.replace(/\\/+$/, "");
  for (let part of parts) {
    url += "/" + part.replace(/^\\/+|\\/+$/g, "");
  }
  return url;
}

export function query(values: Record<string, string>): string {
  var pairs = Object.entries(values);
  return pairs.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
}
"""
FIXED = SOURCE.replace("let part", "const part").replace("var pairs", "const pairs")
TESTS = """import assert from "node:assert/strict";
import { test } from "node:test";
import { joined, query } from "../src/urls.js";

test("parts are joined by one slash", () => {
  assert.equal(joined("https://example.org/", "/a/", "b"), "https://example.org/a/b");
});

test("values are encoded", () => {
  assert.equal(query({ q: "a b" }), "q=a%20b");
});
"""
REQUEST = (
    "joined() drops the last slash of a folder. Keep it where the last part ends with one, so that relative links "
    "below that address still work, and show it with a test. Addresses without a slash at their end stay as they are."
)
PLAN = """1. `src/urls.ts`: remember whether the last part ends with “/”, and put one back after the parts are joined.
2. `test/urls.test.ts`: one test with a slash at the end, beside the one without, which stays as it is.

I assume that an empty last part counts as no slash."""
KEPT = FIXED.replace("  return url;", '  return parts.at(-1)?.endsWith("/") ? `${url}/` : url;')
MORE_TESTS = (
    TESTS
    + """
test("the last slash of a folder is kept", () => {
  assert.equal(joined("https://example.org", "a/"), "https://example.org/a/");
});
"""
)
AGENT = """#!/usr/bin/env -S python3 -IS
# Answers like Claude Code 2.1.330: its stream, its exit; what it writes is known beforehand.
import json, os, sys, time
if "--version" in sys.argv:
    print("2.1.330 (Claude Code)")
    sys.exit()
told = sys.stdin.read()
def show(kind, **more): print(json.dumps({{"type": kind, "session_id": "s1", **more}}), flush=True)
def says(*blocks): show("assistant", message={{"id": os.urandom(4).hex(), "content": list(blocks)}})
def end(text): show("result", subtype="success", is_error=False, result=text, total_cost_usd=0.02, usage={{}})
show("system", subtype="init", claude_code_version="2.1.330")
says({{"type": "text", "text": "I read src/urls.ts and its tests."}})
if "Plan this change" in told:
    end("Here is what I will do.\\n\\n```json\\n" + json.dumps({{"plan": {plan!r}}}) + "\\n```")
    sys.exit()
for path, text in {files!r}.items():
    says({{"type": "tool_use", "id": path, "name": "Write", "input": {{"file_path": path, "content": text}}}})
    open(path, "w").write(text)
    show("user", message={{"content": [{{"type": "tool_result", "tool_use_id": path, "content": "Written."}}]}})
end("I changed src/urls.ts and test/urls.test.ts. I ran nothing.")
"""


@dataclass(frozen=True)
class Origin:
    """A bare repository."""

    path: Path

    def head(self) -> str:
        """The commit and the subject of its branch."""
        return _git("-C", str(self.path), "log", "-1", "--format=%h %s", "main")


WHO = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false")


def _git(*words: str) -> str:
    return subprocess.run(["git", *WHO, *words], check=True, capture_output=True, text=True).stdout.strip()


def made(folder: Path, environment: Mapping[str, str], *, clean: bool) -> Origin:
    """A bare one. `clean`: nothing is left for its linter. The lock file is npm's own, of the registry asked here."""
    package = json.dumps(PACKAGE, indent=2) + "\n"
    place = folder / "locking"
    place.mkdir()
    (place / "package.json").write_text(package)
    words = ["npm", "install", "--package-lock-only", "--no-audit", "--no-fund"]
    named = "--omit-lockfile-registry-resolved=false"  # as everywhere, whatever this machine's npm is set to
    subprocess.run([*words, named], cwd=place, env=dict(environment), check=True, stdout=subprocess.DEVNULL)
    files = {
        "package.json": package,
        "package-lock.json": (place / "package-lock.json").read_text(),
        "eslint.config.js": ESLINT,
        "tsconfig.json": json.dumps({"compilerOptions": COMPILER, "include": ["src", "test"]}, indent=2)
        + "\n",
        "src/urls.ts": FIXED if clean else SOURCE,
        "test/urls.test.ts": TESTS,
        ".gitignore": "node_modules/\nbuild/\n",
        "README.md": "# small-urls\n\nJoins addresses.\n",
    }
    return _committed(folder, files)


def _committed(folder: Path, files: Mapping[str, str]) -> Origin:
    work, origin = folder / "work", Origin(folder / "small-urls.git")
    for path, text in files.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
    _git("init", "-q", "-b", "main", str(work))
    _git("-C", str(work), "add", "-A")
    _git("-C", str(work), "commit", "-q", "-m", "Join addresses")
    _git("clone", "-q", "--bare", str(work), str(origin.path))
    return origin


def agent(folder: Path) -> Path:
    """The program `claude` in a folder of its own. Stations see the Python of the installation."""
    folder.mkdir()
    program = folder / "claude"
    files = {"src/urls.ts": KEPT, "test/urls.test.ts": MORE_TESTS}
    program.write_text(AGENT.format(plan=PLAN, files=files))
    program.chmod(0o755)
    return folder
