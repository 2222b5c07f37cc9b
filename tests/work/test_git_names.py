"""Addresses, branches and titles that people and services give: which are taken, and what becomes of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.ports.server_folders import ServerFolders
from pipelines.routing.basics.hidden_characters import shortened_at_word
from pipelines.work.git import commits
from pipelines.work.git.addresses import parsed_repository_address
from pipelines.work.git.commits import is_branch
from pipelines.work.git.refusals import GitRefused
from pipelines.work.results.git_changes import message_trailers
from pipelines.work.worker.repository import title_slug
from tests.work.remotes import folders


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("ext::sh -c touch% x", "transport::address"),
        ("file:///etc", "without file://"),
        ("git://host/x", "git: is not taken"),
        ("http://host/x", "http: is not taken"),
        ("https://user:password@host/x", "Keep the password out"),
        ("https://ghp_token@host/x", "Store the token as a secret"),
        ("https://@host/x", "Store the token as a secret"),
        ("https://host", "does not lead to a repository"),
        ("ssh://-oProxyCommand=x/y", "names no host"),
        ("ssh://host/-oProxyCommand", "does not lead to a repository"),
        ("-oProxyCommand=x", "cannot begin with a dash"),
        ("/etc", "not allowed for this owner"),
        ("relative", "Use an https or ssh address"),
        ("https://host/a\nb", "one line"),
    ],
)
def test_an_address_that_is_not_taken_is_said(tmp_path: Path, address: str, why: str) -> None:
    with pytest.raises(GitRefused, match=why):
        parsed_repository_address(address, folders(tmp_path))


def test_addresses_that_are_taken(tmp_path: Path) -> None:
    inside = tmp_path / "it.git"
    inside.mkdir()
    (tmp_path / "out").symlink_to("/etc")
    assert parsed_repository_address("git@host.example:team/app.git", ServerFolders()).scheme == "ssh"
    assert parsed_repository_address("ssh://git@host.example:2222/app.git", ServerFolders()).port == 2222
    assert (
        parsed_repository_address("https://host.example/team/app.git", ServerFolders()).host == "host.example"
    )
    assert parsed_repository_address(str(inside), folders(inside)).path == str(inside)
    with pytest.raises(GitRefused):
        parsed_repository_address(str(tmp_path / "out"), folders(tmp_path))


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("gateline/WI-app-1-a", True), ("-f", False), ("a b", False), ("a..b", False), ("refs/heads/a", False),
     ("", False), ("HEAD", False), ("a\nb", False), ("a.lock", False)],
)  # fmt: skip
def test_a_branch_is_no_option(name: str, is_one: bool) -> None:
    assert is_branch(name) is is_one


def test_a_title_is_no_trailer() -> None:
    text = commits.commit_message("Fix\n\nGateline-Delivery: 1", "", {"Task": "a\nDecision: b", "Empty": ""})
    assert text == "Fix Gateline-Delivery: 1\n\nTask: a Decision: b\n"


def test_a_long_title_is_cut_at_a_word_and_stands_whole_below() -> None:
    """A whole request became the subject of the commit, and the name of the branch."""
    title = "Gateline-Delivery: 7 " + "make the table of prices sort by " * 4 + "name"
    subject, whole, said = commits.commit_message(title, "", {"Gateline-Delivery": "1"}).split("\n\n")
    assert len(subject) <= 72 and subject.endswith("…") and title.startswith(f"{subject[:-1]} ")
    assert whole == f"“{title}”" and said == "Gateline-Delivery: 1\n"
    assert message_trailers(f"{subject}\n\n{whole}\n\n{said}") == {"Gateline-Delivery": ["1"]}
    assert len(shortened_at_word(f"Merge {'x' * 80}: it", 72)) == 72, (
        "of a long branch nothing but “Merge…” was left"
    )
    assert shortened_at_word("x" * 100, 72) == "x" * 71 + "…" and shortened_at_word("x" * 72, 72) == "x" * 72
    assert title.lower().replace(": ", "-").replace(" ", "-").startswith(f"{title_slug(title)}-")
    assert len(title_slug(title)) <= 60 and title_slug("y" * 80) == "y" * 60
