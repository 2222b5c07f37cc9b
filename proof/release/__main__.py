"""`make release`: wheels of the server and of the command line, the notes, and the locked versions, in `release/`.

Each wheel is installed into an empty environment and run there before anything is written."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.setup.steps import ROOT, SetupError
from gateline import __version__
from proof.release import wheels
from proof.release.trial import WheelTrial


@contextmanager
def _step(name: str) -> Iterator[None]:
    begin = time.monotonic()
    yield
    print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "release", help="where the release goes")
    parser.add_argument(
        "--uncommitted", action="store_true", help="try it with changes that are not committed"
    )
    options = parser.parse_args()
    release: Path = options.folder
    # A station has a /tmp of its own, and would not see its programs there.
    folder = Path(tempfile.mkdtemp(prefix="gateline-release-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        if not options.uncommitted:
            wheels.check_committed()
        wheels.check_versions()
        notes = wheels.release_notes()
        with _step("Build"):
            server = wheels.build(ROOT, folder / "wheel of the server")
            client = wheels.build(ROOT / "gateline", folder / "wheel of the command line")
        faults = wheels.differences(server, wheels.server_files())
        faults += wheels.differences(client, wheels.client_files())
        if faults:
            raise SetupError(
                "\n".join(faults), "Compare [tool.hatch.build] in pyproject.toml and gateline/pyproject.toml."
            )
        _try(WheelTrial(folder), server, client)
        release.mkdir(exist_ok=True)
        for earlier in release.glob("*.whl"):
            earlier.unlink()
        for path in (server, client, ROOT / "requirements.lock"):
            shutil.copy(path, release)
        (release / "notes.md").write_text(notes)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(
        f"Gateline {__version__} is in {release}: {', '.join(sorted(path.name for path in release.iterdir()))}"
    )
    return 0


def _try(trial: WheelTrial, server: Path, client: Path) -> None:
    with _step("Install the server"):
        # As docs/operating.md has it: the versions that were tested, with their hashes, then the wheel alone.
        trial.install(
            "server", ["--require-hashes", "-r", str(ROOT / "requirements.lock")], ["--no-deps", str(server)]
        )
    with _step("Install the server with the newest libraries that fit"):
        trial.install("newest", [str(server), str(client)])
    with _step("Install the command line"):
        trial.install("client", [str(client)])
    assert not list((trial.folder / "client").rglob("django")), "the command line needs nothing of the server"
    version = trial.run("client", "gateline", "--version").strip()
    assert version == f"gateline {__version__}", version
    assert "Start a task." in trial.run("client", "gateline", "--help")
    try:
        with _step("Start"):
            sign_in_link = trial.start()
        with _step("Server"):
            trial.try_server()
        with _step("Signed-in pages"):
            trial.try_signed_in_pages(sign_in_link)
        with _step("Server with the newest libraries that fit"):
            trial.run("newest", "gateline-server", "check")
            assert "--server" in trial.run("newest", "gateline", "runner", "--help")
        with _step("Command line"):
            trial.try_client()
    finally:
        trial.stop()


if __name__ == "__main__":
    sys.exit(main())
