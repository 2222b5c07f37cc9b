"""Check-up of a host: what Gateline asks of it, tried on the real account one after the other; it only reads,
unless asked to write a comment or a status."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.host import Host, HostToken

State = Literal["ok", "failed", "unknown", "untried"]
Step = tuple[str, Callable[[], Awaitable[str]], str]
# Nobody has this branch: only whether the list can be read is tried.
NEVER = "gateline/tried-and-never-pushed"
COMMENT_TEXT = "Tried with Gateline"
WAYS = {
    "push": "no rule keeps Gateline from pushing to it",
    "merge": "rules protect it: the host merges, by its merge call",
    "queue": "rules protect it: the host merges, by its queue",
}


@dataclass(frozen=True)
class CheckupLine:
    """Line of a check-up. `remedy`: what to do about it, "" where nothing is to be done."""

    check: str
    state: State
    said: str
    remedy: str = ""


@dataclass(frozen=True)
class CheckupScope:
    """`branch`: "" for the default one. `issue`, `commit`: where something is written; 0 and "" for nothing."""

    branch: str = ""
    issue: int = 0
    commit: str = ""
    page: str = ""


async def host_check_lines(host: Host, scope: CheckupScope) -> AsyncIterator[CheckupLine]:
    """Line by line, as they are found. After the first that cannot be read there are no more."""
    try:
        token = await host.read_token_rights()
    except HostError as error:
        yield CheckupLine(
            "repository", "failed", str(error), "Check the name of the repository and the token."
        )
        return
    for line in _token_lines(token, host):
        yield line
    for name, step, remedy in _checkup_steps(host, scope, scope.branch or token.default_branch or "main"):
        try:
            yield CheckupLine(name, "ok", await step())
        except HostError as error:
            yield CheckupLine(name, "failed", str(error), remedy)


def _checkup_steps(host: Host, scope: CheckupScope, base_branch: str) -> list[Step]:
    """Name, what is asked, and what to do where that is refused."""

    async def branch_rules_result() -> str:
        return f"{base_branch}: {WAYS[await host.landing_way(base_branch)]}"

    async def required_checks_result() -> str:
        check_names = await host.required_checks(base_branch)
        return (
            f"required for {base_branch}: {', '.join(check_names)}"
            if check_names
            else f"none is required for {base_branch}"
        )

    async def checks_result() -> str:
        tip = await host.branch_head_commit(base_branch)
        return f"{len(await host.checks_of_commit(tip))} on {tip[:7]}, the end of {base_branch}"

    async def pushers_result() -> str:
        tip = await host.branch_head_commit(base_branch)
        pushers = await host.pushers_to_branch_between(base_branch, "", tip)
        return f"of {tip[:7]}, the end of {base_branch}: {', '.join(pushers) or 'it does not tell'}"

    async def requests_result() -> str:
        return f"{len(await host.list_requests_between(NEVER, base_branch))} from {NEVER} into {base_branch}"

    async def write_comment_and_say_result() -> str:
        before = len(await host.comments_since("issue", scope.issue, datetime.now(UTC)))
        await host.add_comment("issue", scope.issue, COMMENT_TEXT)
        return f"written, {before} before"

    async def set_status_and_say_result() -> str:
        await host.set_status(scope.commit, "success", COMMENT_TEXT, scope.page)
        return "set"

    steps: list[Step] = [
        (
            "branch rules",
            branch_rules_result,
            "Give the token read access to the repository's rules (GitHub: Metadata).",
        ),
        (
            "required checks",
            required_checks_result,
            "Give the token read access to the branch and its rules.",
        ),
        (
            "checks",
            checks_result,
            "Give the token read access to Checks and Commit statuses (GitLab: the scope api).",
        ),
        (
            "who pushed",
            pushers_result,
            "Give the token read access to the repository (GitLab: the scope api).",
        ),
        ("requests", requests_result, "Give the token access to pull or merge requests."),
    ]
    if scope.issue:
        steps.append(
            (
                f"a comment on issue {scope.issue}",
                write_comment_and_say_result,
                "Give the token write access to issues.",
            )
        )
    if scope.commit:
        steps.append(
            (
                f"the status of {scope.commit[:7]}",
                set_status_and_say_result,
                "Give the token write access to statuses.",
            )
        )
    return steps


def untried_lines(host: Host, scope: CheckupScope) -> Iterator[CheckupLine]:
    """Yield what only a change at the host shows, which the owner has to try."""
    request = host.request
    steps = {
        "a comment": "" if scope.issue else "run this again with --issue and the number of an issue",
        "a status": "" if scope.commit else "run this again with --commit and a commit of a branch",
        f"a {request}": f"run a task of a line that delivers to a {request}, send it back once, then approve it: "
        f"one {request} is opened, and updated by the second round",
        "a merge": "approve a task of a line that merges: what was approved lands under the rules of the branch, "
        "by the way that is named above",
        "a failed check": "let a check fail that the branch requires: the task waits, then says which one failed",
        "a webhook": "enter it at the host, label an issue, and send the delivery again from there: one task starts, "
        "and the repository's page lists both deliveries",
    }
    for check, words in steps.items():
        if words:
            yield CheckupLine(check, "untried", words)


def _token_lines(token: HostToken, host: Host) -> list[CheckupLine]:
    writes = (
        "the token may write" if token.writes else "the token may read the repository, and not write to it"
    )
    scopes = ", ".join(token.scopes or ())
    detail = "the host does not say them of this kind of token" if token.scopes is None else scopes or "none"
    return [
        CheckupLine(
            "repository",
            _permission_state(token.writes),
            writes,
            "" if token.writes else "Use a token that may push.",
        ),
        CheckupLine("scopes", "unknown" if token.scopes is None else "ok", detail),
        _permission_line(
            "set a status", token.status, "Give it write access to commit statuses, or try it with --commit."
        ),
        _permission_line(
            "merge call",
            token.merge,
            f"Let it write, and merge a {host.request}, under the rules of the branch.",
        ),
    ]


def _permission_line(what: str, may: bool | None, remedy: str) -> CheckupLine:
    details = {
        True: "allowed to this token",
        False: "not allowed to this token",
        None: "shows only when it is tried",
    }
    return CheckupLine(what, _permission_state(may), details[may], "" if may else remedy)


def _permission_state(may: bool | None) -> State:
    return "unknown" if may is None else "ok" if may else "failed"
