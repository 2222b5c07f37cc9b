"""Git over ssh by the machine's own ssh, which is told everything: no configuration, no agent, no password, the address
that was checked, and the key of this repository alone."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from dulwich.client import SSHGitClient, SubprocessSSHVendor, SubprocessWrapper

from pipelines.work.git.addresses import PORTS, RepositoryAddress
from pipelines.work.git.bounds import Bounds
from pipelines.work.git.refusals import GitRefused
from pipelines.work.outgoing.guard import Guard

CONNECT_SECONDS = 15


class BoundedSsh(SubprocessSSHVendor):
    """Ssh vendor that ends each ssh it runs when its time is over, and with this at the latest."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._running: list[tuple[subprocess.Popen[bytes], threading.Timer]] = []

    def run_command(self, *arguments: Any, **more: Any) -> SubprocessWrapper:
        wrapper = super().run_command(*arguments, **more)
        # A moment after the time is over: then who reads is told of that, and not of an ssh that
        # was killed
        timer = threading.Timer(self._bounds.seconds_left + 0.01, wrapper.proc.kill)
        timer.daemon = True
        timer.start()
        self._running.append((wrapper.proc, timer))
        original_read = wrapper.read

        def read_and_count_bytes(size: int | None = None, /) -> bytes:
            data = original_read(size)
            self._bounds.subtract_read_bytes(len(data))
            return data

        wrapper.read = read_and_count_bytes
        return wrapper

    def close(self) -> None:
        for process, timer in self._running:
            timer.cancel()
            if process.poll() is None:
                process.kill()
                process.wait()


@contextmanager
def open_ssh_client(
    address: RepositoryAddress, guard: Guard, key: str, known_hosts: Path, bounds: Bounds
) -> Iterator[SSHGitClient]:
    """`key`: a private key, kept in a file for as long as this goes on."""
    if shutil.which("ssh") is None:
        raise GitRefused("This machine has no ssh. Install it, or use an https address.")
    if not key:
        raise GitRefused("An ssh address needs a deploy key. Store it as a secret and choose it.")
    try:
        place = asyncio.run(guard.allowed_addresses(address.host, address.port))[0]
    except httpx2.ConnectError as error:
        raise GitRefused(str(error)) from error
    with tempfile.TemporaryDirectory(prefix="gateline-key-") as folder:
        file = Path(folder) / "key"
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            # The ssh program reads no key without the end of its last line.
            stream.write(key.rstrip("\n") + "\n")
        settings = {
            # The address that was checked: the name could lead elsewhere by now.
            "HostName": place,
            # Keys of hosts are kept by name, whatever the address; another port may be another server's
            "HostKeyAlias": address.host
            if address.port == PORTS["ssh"]
            else f"[{address.host}]:{address.port}",
            # Else ssh offers the keys of this machine's user as well, and one of them may be let in
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            # Asks nothing, as nobody could answer.
            "BatchMode": "yes",
            # A new host is taken as it is; one whose key changed is refused.
            "StrictHostKeyChecking": "accept-new",
            "UserKnownHostsFile": str(known_hosts),
            "ConnectTimeout": str(CONNECT_SECONDS),
            # A server that went away without a word is noticed after three of these
            "ServerAliveInterval": str(CONNECT_SECONDS),
            "ServerAliveCountMax": "3",
            "ForwardAgent": "no",
            "PermitLocalCommand": "no",
        }
        options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
        with closing(BoundedSsh(bounds)) as vendor:
            yield SSHGitClient(
                address.host,
                port=address.port,
                # Hosts have one user for all, and tell people apart by their keys
                username=address.user or "git",
                ssh_command=shlex.join(["ssh", "-F", "/dev/null", *options, "-i", str(file)]),
                # Not thin: packs go into the store as they come, where all bases of their deltas
                # have to be
                thin_packs=False,
                quiet=True,
                vendor=vendor,
            )
