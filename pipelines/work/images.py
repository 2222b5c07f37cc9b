"""Images on the machine of a runner: podman or docker brings one, and its files are unpacked beside the folders of
stations, once for each content. Nothing of it is started by podman or docker."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2

from pipelines.work.outgoing.guard import Guard, RefusedAddress
from pipelines.work.processes.image_root import ImageRoot
from pipelines.work.processes.isolation import Isolation
from pipelines.work.workspace_folder.folders import remove_folder

FOLDER: Final = "images"
ROOT: Final = "root"
PROGRAMS: Final = ("podman", "docker")
PULL_SECONDS: Final = 1800.0
SECONDS: Final = 600.0
PROBE_SECONDS: Final = 20.0
# Two weeks
UNUSED_SECONDS: Final = 14 * 86_400.0
LARGEST: Final = 20 * 1024**3
MAX_OUTPUT: Final = 4000
USUAL_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NoticeCallback = Callable[[str], Awaitable[None]]


class ImageAbsent(Exception):
    """There is no such image here, in words. `said`: what the program wrote."""

    def __init__(self, why: str, output: str = "") -> None:
        self.said = output
        super().__init__(why)


@dataclass(frozen=True)
class Images:
    """`program`: the path of podman or docker. `base`: the folder of the worker under which files are unpacked."""

    program: str
    base: Path

    @property
    def name(self) -> str:
        return Path(self.program).name

    async def unpacked_image_root(self, image: str, guard: Guard, tell: NoticeCallback) -> ImageRoot:
        """The files of an image, fetched where it is not here. :raises ImageAbsent"""
        inspection = await self._image_details_or_none(image)
        if inspection is None:
            await _check_registry(image, guard)
            await tell(f"Image {image}: {self.name} pulls it.")
            code, output = await self._exit_code_and_output_of_image_program(
                "pull", "--quiet", image, seconds=PULL_SECONDS
            )
            inspection = await self._image_details_or_none(image) if code == 0 else None
            if inspection is None:
                raise ImageAbsent(
                    f"Image {image} is not on this runner, and {self.name} could not pull it", output
                )
        if int(inspection.get("Size") or 0) > LARGEST:
            raise ImageAbsent(f"Image {image} is larger than {LARGEST // 1024**3} GB")
        digest = str(inspection["Id"]).removeprefix("sha256:")
        place = self.base / FOLDER / digest
        # The folder has the name of the content: another tag of the same image finds it here
        if not (place / ROOT).is_dir():
            began = time.monotonic()
            await self._unpack(image, digest, place)
            await tell(f"Image {image} was unpacked ({time.monotonic() - began:.1f} s).")
        # Its time is that of the last use, by which `expire` goes
        os.utime(place)
        environment = ((inspection.get("Config") or {}).get("Env")) or ()
        path = next((variable[5:] for variable in environment if variable.startswith("PATH=")), USUAL_PATH)
        return ImageRoot(image, place / ROOT, path)

    async def _image_details_or_none(self, image: str) -> dict[str, Any] | None:
        code, output = await self._exit_code_and_output_of_image_program(
            "image", "inspect", image, errors=False
        )
        try:
            inspections = json.loads(output) if code == 0 else []
        except ValueError:
            return None
        return next((inspection for inspection in inspections if inspection.get("Id")), None)

    async def _unpack(self, image: str, digest: str, place: Path) -> None:
        """:raises ImageAbsent"""
        container = f"gateline-{uuid.uuid4().hex}"
        # Beside, under a name of its own: the files appear whole, by a rename
        made = place.with_name(f".{container}")
        # Created and never started: only a container has files that can be exported
        code, output = await self._exit_code_and_output_of_image_program(
            "create", "--network", "none", "--name", container, digest, "true"
        )
        try:
            if code != 0:
                raise ImageAbsent(f"Image {image} could not be opened by {self.name}", output)
            (made / ROOT).mkdir(parents=True)
            tar = made / "files.tar"
            code, output = await self._exit_code_and_output_of_image_program(
                "export", "--output", str(tar), container
            )
            if code == 0:
                # Device files take root to make, and the station's own /dev is mounted there
                leave = ("--exclude=dev/*", "--exclude=./dev/*")
                code, output = await _exit_code_and_output_of_program(
                    (
                        "tar",
                        "-x",
                        "-f",
                        str(tar),
                        "-C",
                        str(made / ROOT),
                        *leave,
                        # The files are this user's, whoever owns them in the image
                        "--no-same-owner",
                        "--no-same-permissions",
                    ),
                    SECONDS,
                )
            if code != 0:
                raise ImageAbsent(f"Image {image} could not be unpacked", output)
            tar.unlink()
            await asyncio.to_thread(_move_into_place, made, place)
        except OSError as error:
            raise ImageAbsent(f"Image {image} could not be unpacked: {error.strerror}") from error
        finally:
            await asyncio.to_thread(remove_folder, made)
            # Shielded: a job that is cancelled must not leave its container behind
            await asyncio.shield(self._exit_code_and_output_of_image_program("rm", "--force", container))

    async def _exit_code_and_output_of_image_program(
        self, *words: str, seconds: float = SECONDS, errors: bool = True
    ) -> tuple[int, str]:
        return await _exit_code_and_output_of_program((self.program, *words), seconds, errors=errors)

    def remove_unused_images(self) -> int:
        """Remove the files of images that nobody used for long."""
        folder, removed = self.base / FOLDER, 0
        for place in folder.iterdir() if folder.is_dir() else ():
            if time.time() - place.stat().st_mtime > UNUSED_SECONDS:
                remove_folder(place)
                removed += 1
        return removed


async def _check_registry(image: str, guard: Guard) -> None:
    """Check the registry that an image names as any outgoing call: podman and docker would ask whatever answers there,
    and the log shows what it says. :raises ImageAbsent"""
    server = host_and_port_of_registry_or_none(image)
    try:
        if server is not None:
            await guard.allowed_addresses(*server)
    except RefusedAddress as error:
        raise ImageAbsent(
            f"Image {image} is not on this runner, and it is not asked for there: {str(error).rstrip('.')}"
        ) from error
    except httpx2.ConnectError:
        pass  # Nobody knows the name here: the program says so.


def host_and_port_of_registry_or_none(image: str) -> tuple[str, int] | None:
    """Return the host and the port that the name of an image begins with; None: those that the runner has for it."""
    first, slash, _rest = image.partition("/")
    host, colon, port = first.partition(":")
    # As docker reads names: `team/app` has no host in it, `host.example/app` has
    if not slash or not (colon or "." in host or host == "localhost"):
        return None
    return host, int(port) if port.isdecimal() else 443


def _move_into_place(made: Path, place: Path) -> None:
    """Whole, or as another station unpacked it meanwhile."""
    if not place.exists():
        made.rename(place)


async def _exit_code_and_output_of_program(
    argv: Iterable[str], seconds: float, *, errors: bool = True
) -> tuple[int, str]:
    """Its exit code and the end of what it wrote, of inspections standard output alone. Cancelled, it is killed."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if errors else subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(seconds):
            out, _none = await process.communicate()
    except TimeoutError:
        return 1, f"no answer within {seconds:g} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text = out.decode(errors="replace")
    return process.returncode or 0, text[-MAX_OUTPUT:] if errors else text


def find_image_program(isolation: Isolation, base: Path, path: Iterable[str]) -> Images | None:
    """Return what provides images on this machine; None where nothing does, or where bubblewrap could not use
    them."""
    # Landlock cannot put another root in the place of this machine's
    if isolation.name != "bubblewrap":
        return None
    for name in PROGRAMS:
        program = shutil.which(name, path=os.pathsep.join(path))
        if program and is_program_answering(program):
            return Images(program, base)
    return None


def is_program_answering(program: str) -> bool:
    """A docker without its daemon does not."""
    try:
        done = subprocess.run(
            [program, "version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
