"""Page of a repository on its host, where people open it: `https://host/team/app`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

LONGEST = 1000
PART = re.compile(r"[A-Za-z0-9_.~+-]+")


@dataclass(frozen=True)
class HostPage:
    """`path`: `team/app`, of GitLab also with groups between."""

    origin: str
    server: str
    path: str

    def __str__(self) -> str:
        return f"{self.origin}/{self.path}"

    @property
    def owner(self) -> str:
        return self.path.partition("/")[0]

    @property
    def quoted_path(self) -> str:
        return quote(self.path, safe="/")

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def parsed_host_page(text: str) -> HostPage:
    """Parse the address of a page, or of the repository itself. :raises ValueError: it is neither, in words"""
    if len(text) > LONGEST:
        raise ValueError("This address is too long.")
    # The short form of git: git@host:team/app.git
    scp = re.fullmatch(r"[^@:/]+@([^:/@]+):([^/:].*)", text)
    parts = urlsplit(f"ssh://{scp[1]}/{scp[2]}" if scp else text)
    try:
        # Only here urlsplit reads the port, and raises for one that is no number
        port = parts.port
    except ValueError as error:
        raise ValueError("The address of the page cannot be read.") from error
    segments = [
        segment for segment in parts.path.removesuffix("/").removesuffix(".git").split("/") if segment
    ]
    usable = parts.scheme in ("https", "http", "ssh") and parts.hostname and len(segments) >= 2
    if not usable or parts.query or parts.fragment or parts.password:
        raise ValueError("Enter the address of the repository's page: https://host/team/app.")
    # `.` and `..` are no names either: they would lead to another path
    if not all(PART.fullmatch(segment) and segment.strip(".") for segment in segments):
        raise ValueError("The address of the page has a part that is no plain name.")
    server = str(parts.hostname)
    if parts.scheme == "ssh":  # its port is not that of the pages
        return HostPage(f"https://{_bracketed(server)}", server, "/".join(segments))
    origin = f"{parts.scheme}://{_bracketed(server)}" + (f":{port}" if port else "")
    return HostPage(origin, server, "/".join(segments))


def _bracketed(server: str) -> str:
    return f"[{server}]" if ":" in server else server
