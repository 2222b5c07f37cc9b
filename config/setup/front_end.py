"""The front end: Node (the system's, else one from the package index), `npm ci`, and the build."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from config.setup import packages
from config.setup.steps import (
    NO_NETWORK,
    ROOT,
    StepFailed,
    digest_of_inputs,
    environment_for_tools,
    is_stamp_fresh,
    print_at_once,
    run_long_command,
)

MODULES, DIST, GENERATED = ROOT / "node_modules", ROOT / "static" / "dist", ROOT / "static" / "generated"
OFFLINE = (
    "npm's registry could not be reached, or its certificate is not trusted here. Check the network, name a mirror "
    "(npm_config_registry) or a proxy (HTTPS_PROXY), and start again: what is done is not done twice."
)
SHIPPED = DIST / "server" / "shipped"
AGAIN = "Start again; if it fails again, remove node_modules first."


def ensure_build() -> None:
    """Has the build in static/dist. Node is looked for only when something has to be done."""
    _ensure_generated_types()
    modules_digest, built = _digest_of_modules_inputs(), _digest_of_build_inputs()
    modules_fresh = is_stamp_fresh(MODULES / ".gateline-stamp", modules_digest)
    if modules_fresh and is_stamp_fresh(DIST / ".gateline-stamp", built):
        return
    env = node_environment()
    if not modules_fresh:
        _run_npm(
            # One retry: npm would try for minutes before it says that there is no network
            "Installing the front end's packages",
            ["ci", "--no-audit", "--no-fund", "--fetch-retries=1"],
            env,
        )
        # In the folder that `npm ci` removes first: a run that was cut off leaves no stamp.
        (MODULES / ".gateline-stamp").write_text(modules_digest)
    _run_npm("Building the front end", ["run", "build"], env)
    (DIST / ".gateline-stamp").write_text(built)


def ensure_drawings() -> None:
    """Has the lines drawn that ship with the product, which then starts no Node for them. Where it fails the product
    draws them itself."""
    stamp = _digest_of_drawing_inputs()
    if is_stamp_fresh(SHIPPED / ".gateline-stamp", stamp):
        return
    env = node_environment()
    # Not where this installation's settings are: it asks for none of its keys, and for no database
    env = {name: env[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in env}
    command = [str(packages.PYTHON), "-m", "config.draw_shipped", stamp]
    try:
        run_long_command("Drawing the lines of the demo and the templates", command, env=env, remedy=AGAIN)
    except StepFailed as failure:
        print_at_once(f"{failure.output.strip()[-300:]}\nThese lines are drawn once somebody looks at them.")


def ensure_modules() -> None:
    """Has node_modules, for checks that need no build."""
    _ensure_generated_types()
    if not is_stamp_fresh(MODULES / ".gateline-stamp", _digest_of_modules_inputs()):
        ensure_build()


def _ensure_generated_types() -> None:
    """Has the types of the line document, which come from its declarations."""
    sources = [
        *(ROOT / "pipelines" / "routing").rglob("*.py"),
        *(ROOT / "pipelines" / "formats").glob("*.py"),
    ]
    sources_digest = digest_of_inputs(*sorted(sources))
    if is_stamp_fresh(GENERATED / ".gateline-stamp", sources_digest):
        return
    command = [str(packages.PYTHON), "-m", "pipelines.routing", "types"]
    completed = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment_for_tools()
    )
    if completed.returncode:
        raise StepFailed("Generating the types of the line document", completed.stderr, AGAIN)
    # The stamp last: without it a run that was cut off begins again
    GENERATED.mkdir(exist_ok=True)
    (GENERATED / "line.d.ts").write_text(completed.stdout)
    (GENERATED / ".gateline-stamp").write_text(sources_digest)


def node_environment() -> dict[str, str]:
    """Return an environment with a PATH on which a recent enough Node comes first; install one if there is
    none."""
    env = environment_for_tools(PATH=os.environ.get("PATH", os.defpath))
    if _is_node_recent_enough(env):
        return env
    env["PATH"] = f"{packages.VENV / 'bin'}{os.pathsep}{env['PATH']}"
    if not packages.has_packages_of_lock("requirements-node.lock") or not _is_node_recent_enough(env):
        packages.install_packages("requirements-node.lock", "Installing Node into the Python environment")
    return env


def _is_node_recent_enough(env: dict[str, str]) -> bool:
    """Vite's bounds: 20.19 and later of 20, or 22.12 and later."""
    if not all(shutil.which(name, path=env["PATH"]) for name in ("node", "npm")):
        return False
    # Looked up on the PATH of the environment, not on ours.
    command = [shutil.which("node", path=env["PATH"]) or "node", "--version"]
    output = subprocess.run(command, capture_output=True, text=True, check=False, env=env).stdout
    words = output.strip().removeprefix("v").split(".")
    if len(words) < 2 or not (words[0].isdigit() and words[1].isdigit()):
        return False
    major, minor = int(words[0]), int(words[1])
    return (major == 20 and minor >= 19) or (major, minor) >= (22, 12)


def _run_npm(label: str, words: list[str], env: dict[str, str]) -> None:
    npm = shutil.which("npm", path=env["PATH"]) or "npm"
    try:
        run_long_command(label, [npm, *words], env=env, remedy=AGAIN)
    except StepFailed as failure:
        if NO_NETWORK.search(failure.output + _content_of_npm_log_or_empty(failure.output)):
            raise StepFailed(label, failure.output, OFFLINE) from None
        raise


def _content_of_npm_log_or_empty(output: str) -> str:
    """Return the content of npm's own log: some versions end the output with “Exit handler never called!” and
    nothing else."""
    match = re.search(r"complete log of this run can be found in: (\S+)", output)
    log = Path(match[1]) if match else None
    return log.read_text(errors="replace") if log and log.is_file() else ""


def _digest_of_modules_inputs() -> str:
    return digest_of_inputs(ROOT / "package.json", ROOT / "package-lock.json", ROOT / ".npmrc")


def _digest_of_build_inputs() -> str:
    sources: list[Path | str] = sorted(
        path
        for path in (ROOT / "static").iterdir()
        if path not in (DIST, GENERATED) and not path.name.startswith(".")
    )
    # Each kind of work names its icon (static/build/sprite.ts).
    kinds = sorted((ROOT / "pipelines/routing/document/kinds").glob("*.py"))
    return digest_of_inputs(
        _digest_of_modules_inputs(), ROOT / "vite.config.ts", ROOT / "tsconfig.json", *kinds, *sources
    )


def _digest_of_drawing_inputs() -> str:
    """Return one of what the drawings are made of: files and programs; each drawing has one of its own."""
    pipelines = ROOT / "pipelines"
    folders = [pipelines / name for name in ("formats", "lines", "routing", "web/editor", "web/lines")]
    return digest_of_inputs(
        _digest_of_build_inputs(), *(path for folder in folders for path in _sources(folder))
    )


def _sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in {".py", ".yaml"})
