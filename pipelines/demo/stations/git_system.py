"""Fetching with the system's git: no hooks, no prompts, one transport, no value that could be an option."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from .process import capture, environment
from .references import Wanted, not_there, wanted
from .report import StationError
from .source import Address, Folder
from .text import clip, one_line
from .way_out import checked

EVERYTHING = ("+refs/heads/*:refs/it/heads/*", "+refs/tags/*:refs/it/tags/*")
SSH = "ssh -oBatchMode=yes -oPermitLocalCommand=no -oClearAllForwardings=yes -oForwardAgent=no"


class Git:
    """One bare repository `home`/it.git that commits of `origin` are fetched into; `limit` seconds for each command."""

    def __init__(self, origin: Folder | Address, home: Path, limit: float) -> None:
        self.origin, self.limit = origin, limit
        self.home, self.store = home, home / "it.git"
        self.env = environment(HOME=str(home), LC_ALL="C", **_environment(origin))
        self.pins = _pins(origin, self.env)
        # Ownership is git's guard against a stranger's configuration, which fetching does not read; a folder
        # under a listed root is often another user's. Only git's own start-up file may say so.
        (home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n")
        self.git("init", "--quiet", "--bare", "--template=", "--", str(self.store), cwd=home)

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        """Run git; its standard output.

        :raises StationError: `unreachable`, with git's own words.
        """
        settings = (
            "core.hooksPath=/dev/null",
            "credential.helper=",
            "http.followRedirects=false",
            *self.pins,
        )
        argv = ["git", *(part for setting in settings for part in ("-c", setting)), *arguments]
        code, out, err = capture(argv, cwd=cwd or self.store, env=self.env, limit=self.limit)
        if code:
            raise StationError(
                f"git could not read {self.origin}: {clip(one_line(err))}", "unreachable", code
            )
        return out.decode("utf-8", "surrogateescape")

    def references(self) -> tuple[dict[str, str], str]:
        """What the origin advertises: full name → commit, and HEAD's branch. An annotated tag counts as what it is
        put on."""
        head, refs = "", {}
        for line in self.git("ls-remote", "--symref", "--", str(self.origin)).splitlines():
            value, _, name = line.partition("\t")
            if value.startswith("ref: ") and name == "HEAD":
                head = value.removeprefix("ref: ")
            else:
                refs[name.removesuffix("^{}")] = value
        return refs, head

    def fetch(self, revision: str) -> Wanted:
        """Bring the commit that `revision` means into the store."""
        refs, head = self.references()
        want = wanted(refs, head, revision)
        if want.complete and self.brought(want.ref or want.commit):
            commit = self.git("rev-parse", "--verify", "FETCH_HEAD^{commit}").strip()
            return Wanted(commit, want.ref, want.branch)
        # Not every server hands out a commit by number, and a short number needs all to compare with.
        self.bring(*EVERYTHING)
        try:
            found = self.git(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{want.commit}^{{commit}}"
            )
        except StationError as error:
            raise not_there(revision, refs) from error
        return Wanted(found.strip(), None, want.branch)

    def brought(self, what: str) -> bool:
        try:
            self.bring(what, depth=("--depth=1",))
        except StationError as error:
            if re.fullmatch("[0-9a-f]+", what):
                return False
            raise error
        return True

    def bring(self, *what: str, depth: Sequence[str] = ()) -> None:
        options = ("--quiet", "--no-tags", "--no-recurse-submodules", "--update-shallow", *depth)
        self.git("fetch", *options, "--", str(self.origin), *what)


def _environment(origin: Folder | Address) -> dict[str, str]:
    return {
        "GIT_ALLOW_PROTOCOL": "file" if isinstance(origin, Folder) else origin.scheme,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_NO_LAZY_FETCH": "1",
    }


def _pins(origin: Folder | Address, env: dict[str, str]) -> tuple[str, ...]:
    """Settings that make git connect to the address that was checked, whatever the name says a second later."""
    if isinstance(origin, Folder):
        return ()
    place = checked(origin)
    if origin.scheme == "ssh":
        env["GIT_SSH_COMMAND"] = f"{SSH} -oHostName={place} -oHostKeyAlias={origin.host}"
        return ()
    return (f"http.curloptResolve={origin.host}:{origin.port}:{f'[{place}]' if ':' in place else place}",)


def installed() -> bool:
    """Whether this machine has git on the station's PATH."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return any(os.access(Path(folder) / "git", os.X_OK) for folder in folders if folder)
