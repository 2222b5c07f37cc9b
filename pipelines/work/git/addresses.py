"""Addresses of repositories: https, ssh, or a folder that is allowed (house §5)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from pipelines.ports.server_folders import FolderRefused, ServerFolders
from pipelines.work.git.refusals import GitRefused

PORTS = {"https": 443, "ssh": 22}
LONGEST = 1000
# Begins with no dash, as ssh gets it as an argument.
USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9a-fA-F:.]+")
# `git@example.com:team/app.git`
SCP_LIKE = re.compile(r"(?P<user>[^@:/]+)@(?P<host>[^:/@]+):(?P<path>[^/:].*)")
# `ext::sh -c …` would run a program.
TRANSPORT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::")


@dataclass(frozen=True)
class RepositoryAddress:
    """`path`: of a folder the folder itself, links resolved."""

    text: str
    scheme: Literal["https", "ssh", "folder"]
    path: str
    host: str = ""
    port: int = 0
    user: str = ""

    def __str__(self) -> str:
        return self.text


def parsed_repository_address(text: str, folders: ServerFolders) -> RepositoryAddress:
    """:raises GitRefused: what is wrong with it, and what would be taken"""
    if not text.strip() or text != text.strip() or not text.isprintable() or len(text) > LONGEST:
        raise GitRefused("An address is one line of visible characters, without spaces around it.")
    # A program that gets it as an argument would read an option
    if text.startswith("-"):
        raise GitRefused("An address cannot begin with a dash.")
    # `ext::` and the like run a command
    if TRANSPORT.match(text):
        raise GitRefused("Addresses of the form transport::address are not taken. Use https or ssh.")
    if "://" in text:
        return _url_address(text)
    if scp := SCP_LIKE.fullmatch(text):
        return _url_address(f"ssh://{scp['user']}@{scp['host']}/{scp['path']}", text)
    if text.startswith("/"):
        return _folder_address(text, folders)
    raise GitRefused("Use an https or ssh address, or a folder of the server that is allowed.")


def _url_address(url: str, text: str = "") -> RepositoryAddress:
    try:
        parts = urlsplit(url)
        # Asked for here already: only this property reads the number, and it raises for one that is
        # none
        port = parts.port
    except ValueError as error:
        raise GitRefused(f"The address cannot be read: {error}.") from error
    if parts.scheme == "file":
        raise GitRefused("Give the folder itself, without file://.")
    if parts.scheme not in PORTS:
        raise GitRefused(f"{parts.scheme}: is not taken. Use https or ssh.")
    if parts.password is not None:
        raise GitRefused("Keep the password out of the address. Store it as a secret and choose that.")
    if parts.scheme == "https" and parts.username is not None:
        raise GitRefused(
            "Keep the user and the token out of an https address. Store the token as a secret and choose that."
        )
    user, host = parts.username or "", parts.hostname or ""
    if user and not USER.fullmatch(user):
        raise GitRefused("The user in the address is not a plain name.")
    if not HOST.fullmatch(host):
        raise GitRefused("The address names no host.")
    # A part of the path that begins with a dash could be read as an option.
    if parts.query or parts.fragment or parts.path.strip("/") == "" or "/-" in parts.path:
        raise GitRefused("The address does not lead to a repository: https://host/path.")
    scheme: Literal["https", "ssh"] = "https" if parts.scheme == "https" else "ssh"
    return RepositoryAddress(text or url, scheme, parts.path, host, port or PORTS[scheme], user)


def _folder_address(text: str, folders: ServerFolders) -> RepositoryAddress:
    try:
        return RepositoryAddress(text, "folder", folders.allowed_real_folder(text))
    except FolderRefused as refused:
        raise GitRefused(str(refused)) from refused
