"""TypeScript of the pages, run by node as it is: for what page and server must do alike."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NODE = shutil.which("node")
LOAD = """
const ts = require("typescript"), fs = require("fs"), path = require("path");
const loaded = new Map();
function load(file) {
  if (loaded.has(file)) return loaded.get(file);
  const compilerOptions = { module: "CommonJS", target: "ES2022" };
  const { outputText } = ts.transpileModule(fs.readFileSync(file, "utf8"), { compilerOptions });
  const made = { exports: {} };
  const required = (name) => load(path.resolve(path.dirname(file), `${name}.ts`));
  new Function("module", "exports", "require", outputText)(made, made.exports, required);
  loaded.set(file, made.exports);
  return made.exports;
}
const { parse, write } = load(path.resolve("static/ts/json.ts"));
const asked = parse(fs.readFileSync(0, "utf8"));
"""


def run(script: str, asked: Any) -> Any:
    """The value of this JavaScript, which has `load(file)` and `asked`."""
    assert NODE, "set-up brings node: run the tests by make test"
    done = subprocess.run(
        [NODE, "-e", f"{LOAD}process.stdout.write(write((() => {{ {script} }})()));"],
        cwd=ROOT,
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)
