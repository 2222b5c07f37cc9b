"""`checkout`: the branch of a task, to go on with it by hand. With your own git and its credentials."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from gateline import completion, lookup, output
from gateline.client import Client
from gateline.failures import CommandFailure, ConflictFailure, UsageFailure
from gateline.lookup import TaskPlace
from gateline.output import Json, print_text, unstyled
from gateline.session import signed_in_client

PROTOCOLS = "https:http:ssh:file"
"""What an address of a server's may make git speak, unless GIT_ALLOW_PROTOCOL says otherwise: `ext::` runs programs."""
# SHA-1, or SHA-256
COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class GitFailure(CommandFailure):
    """git said no; `message` has its words."""


@dataclass(frozen=True)
class Clone:
    """A work tree, and git in it."""

    folder: Path

    def git_output(self, *words: str) -> str:
        """Return git's standard output. Raises GitFailure."""
        return git_output("-C", str(self.folder), *words)

    def has_commit(self, commit: str) -> bool:
        return _git_succeeds("-C", str(self.folder), "cat-file", "-e", f"{commit}^{{commit}}")

    def remote_name_or_empty(self, address: str) -> str:
        """The name of its remote with this address, "" where it has none."""
        for name in self.git_output("remote").split():
            if is_same_repository(self.git_output("remote", "get-url", name).strip(), address):
                return name
        return ""


def checkout(
    ctx: typer.Context,
    task: Annotated[
        str,
        typer.Argument(help="Such as WI-app-42.", metavar="WI-…", autocompletion=completion.complete_task),
    ],
    folder: Annotated[
        Path | None,
        typer.Argument(help="Clone there; otherwise the clone that you are in, else a new folder."),
    ] = None,
    json: Json = False,
) -> None:
    """Get the branch of a task, to go on with it by hand.

    In a clone of its repository the branch is fetched and checked out; elsewhere the repository is cloned first. What
    you commit and push to this branch is a run of yours: approvals of before are void, and you cannot approve it."""
    if shutil.which("git") is None:
        raise UsageFailure(
            "There is no git on this machine.", "Install it; checkout works with your own git."
        )
    server = signed_in_client(ctx)
    place = lookup.find_task(server, task)
    branch = server.get(place.api_path("branch"))
    if not branch["address"]:
        raise ConflictFailure(
            f"The repository “{branch['repository']}” of {place.name} is not connected any more."
        )
    # The server's words become arguments of git here, so that none may be an option
    _check_branch_values(branch, place.name)
    clone, remote = _find_or_clone_and_remote(branch["address"], folder, place.name)
    _fetch_branch(server, place, branch, clone, remote)
    _switch_to_branch(branch, clone, remote)
    at = clone.git_output("rev-parse", "HEAD").strip()
    if json:
        output.print_json({**branch, "folder": str(clone.folder), "remote": remote, "at": at})
        return
    print_text(f"{unstyled(branch['branch'])} at {at[:10]} in {unstyled(clone.folder)}")
    output.print_note(
        f"Go on there, then: git push {unstyled(remote)} {unstyled(branch['branch'])}\n"
        "A push is a run of yours: approvals of before are void, and you cannot approve it."
    )


def _check_branch_values(branch: dict[str, Any], name: str) -> None:
    """Check the server's values, which become arguments for git and a folder here: none may be an option, nor
    lead elsewhere.

    Raises CommandFailure."""
    names = branch["branch"], branch["base_branch"]
    ids = branch["head"], branch["base"], branch["pushed"] or branch["base"]
    well = (
        all(
            _git_succeeds("check-ref-format", f"refs/heads/{name}") and not name.startswith("-")
            for name in names
        )
        and all(COMMIT.fullmatch(commit) for commit in ids)
        and not branch["address"].startswith("-")
        and Path(name).name == name
    )
    if not well:
        raise CommandFailure(f"The server names a branch, a commit or a task that git cannot take: {name}.")


def _find_or_clone_and_remote(address: str, folder: Path | None, name: str) -> tuple[Clone, str]:
    """Return the clone that the branch goes to, and the remote of the repository there. Raises Usage,
    GitFailure."""
    here = None if folder else _work_tree_or_none(Path.cwd())
    if here is not None and (remote := here.remote_name_or_empty(address)):
        return here, remote
    target = folder or Path(name)
    # Its own root, not one further up: a folder inside a clone of something else is a folder to clone into
    around = _work_tree_or_none(target) if target.is_dir() else None
    if around is not None and around.folder.resolve() == target.resolve():
        if remote := around.remote_name_or_empty(address):
            return around, remote
        raise UsageFailure(
            f"{target} is a clone of another repository.", "Name a folder that does not exist yet."
        )
    if target.exists() and any(target.iterdir() if target.is_dir() else [target]):
        raise UsageFailure(f"{target} is there already.", "Name a folder that does not exist yet.")
    output.print_note(f"Cloning {unstyled(address)} into {unstyled(target)} …")
    # house §5: -- before what a server said, so that git takes none of it for an option.
    git_output("clone", "--quiet", "--no-checkout", "--", address, str(target))
    return Clone(target), "origin"


def _work_tree_or_none(folder: Path) -> Clone | None:
    """The work tree that this folder is in."""
    done = _run_git_unchecked("-C", str(folder), "rev-parse", "--show-toplevel")
    return Clone(Path(done.stdout.strip())) if done.returncode == 0 else None


def _fetch_branch(
    server: Client, task_place: TaskPlace, branch: dict[str, Any], clone: Clone, remote: str
) -> None:
    """The commits of the branch: from the remote where it was pushed, else from the server, as a bundle."""
    tracked = f"+refs/heads/{branch['branch']}:refs/remotes/{remote}/{branch['branch']}"
    if branch["pushed"]:
        clone.git_output("fetch", "--quiet", remote, tracked)
    # What was pushed may be older than what stations committed since: those commits only the server has
    if clone.has_commit(branch["head"]):
        return
    # The bundle begins after the base: git takes it only where it has that commit.
    if not clone.has_commit(branch["base"]):
        clone.git_output("fetch", "--quiet", remote, branch["base_branch"])
    with tempfile.TemporaryDirectory(prefix="gateline-") as folder:
        file = Path(folder) / "task.bundle"
        with (
            server.stream("GET", task_place.api_path("branch", "bundle")) as answer,
            file.open("wb") as stored,
        ):
            for piece in answer.iter_bytes():
                stored.write(piece)
        clone.git_output("fetch", "--quiet", str(file), f"refs/heads/{branch['branch']}")


def _switch_to_branch(branch: dict[str, Any], clone: Clone, remote: str) -> None:
    """Switch to a local branch of this name, at the head of the task. A branch with commits of its own is
    left where it is.

    Raises ConflictFailure, GitFailure.
    """
    name, head = branch["branch"], branch["head"]
    if not _git_succeeds("-C", str(clone.folder), "show-ref", "--verify", "--quiet", f"refs/heads/{name}"):
        clone.git_output("switch", "--quiet", "--create", name, "--no-track", head)
    else:
        clone.git_output("switch", "--quiet", name)
        # Forward or not at all: what somebody committed here is never thrown away
        if _git_succeeds("-C", str(clone.folder), "merge-base", "--is-ancestor", "HEAD", head):
            clone.git_output("merge", "--quiet", "--ff-only", head)
        elif not _git_succeeds("-C", str(clone.folder), "merge-base", "--is-ancestor", head, "HEAD"):
            raise ConflictFailure(
                f"{name} has commits of yours that are not on top of the task's.",
                f"Rebase them: git rebase {head[:10]}; or move the branch away: git branch -m {name} mine",
            )
    # Set by hand (--no-track above): the remote may not have this branch yet.
    clone.git_output("config", f"branch.{name}.remote", remote)
    clone.git_output("config", f"branch.{name}.merge", f"refs/heads/{name}")


def is_same_repository(one: str, other: str) -> bool:
    """Return whether two addresses lead to the same repository, as git@host:a/b and https://host/a/b.git do."""
    return _normalized_address(one) == _normalized_address(other)


def _normalized_address(address: str) -> str:
    # The short form of ssh: git@host:owner/name
    if "://" not in address and ":" in address and not address.startswith(("/", ".")):
        host, _, path = address.partition(":")
        address = f"ssh://{host}/{path}"
    if "://" not in address:
        return str(Path(address).resolve())
    parts = urlsplit(address)
    if parts.scheme == "file":
        return str(Path(parts.path).resolve())
    # Neither user nor port: one repository has others over ssh than over https
    path = parts.path.strip("/").removesuffix(".git")
    return f"{(parts.hostname or '').lower()}/{path}"


def git_output(*words: str) -> str:
    """Return git's standard output; git may ask for credentials at the terminal. Raises GitFailure."""
    done = _run_git_unchecked(*words)
    if done.returncode:
        message = (done.stderr or done.stdout).strip()
        raise GitFailure(
            f"git {' '.join(word for word in words if word not in ('--quiet', '--'))}: {message}"
        )
    return done.stdout


def _git_succeeds(*words: str) -> bool:
    return _run_git_unchecked(*words).returncode == 0


def _run_git_unchecked(*words: str) -> subprocess.CompletedProcess[str]:
    # Theirs last: whoever set it here has decided for this machine
    env = {"GIT_ALLOW_PROTOCOL": PROTOCOLS, **os.environ}
    return subprocess.run(["git", *words], env=env, capture_output=True, text=True, check=False)
