"""A station that tries everything: a script, standard library only. Its findings go to standard output as one object
{name: "why it could not" | null if it could}. Arguments: one JSON object of what to try."""

import ctypes
import json
import os
import signal
import socket
import sys
import urllib.request
from pathlib import Path


def tried(work):
    try:
        return None if work() is not False else "refused"
    except (OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"[:200]


def read(path):
    return Path(path).read_bytes()


def find(root, needle):
    """Whether any readable file below holds the needle."""
    for folder, _, names in os.walk(root):
        for name in names:
            try:
                if needle.encode() in read(os.path.join(folder, name)):
                    return True
            except OSError:
                continue
    return False


def connect(path):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def environments(needle):
    """Whether any process that can be seen has the needle in its environment."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if needle.encode() in read(f"/proc/{entry}/environ"):
                    return True
            except OSError:
                continue
    return False


def attach(pid):
    if ctypes.CDLL(None, use_errno=True).ptrace(16, pid, 0, 0) != 0:
        raise OSError("ptrace refused")


def kill_by_name(needle):
    found = False
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if needle.encode() in read(f"/proc/{entry}/cmdline") and int(entry) not in (os.getpid(), 1):
                    os.kill(int(entry), signal.SIGKILL)
                    found = True
            except OSError:
                continue
    return found


def approve(url):
    request = urllib.request.Request(
        url, data=b'{"action": "approve"}', headers={"Content-Type": "application/json"}, method="POST"
    )
    urllib.request.urlopen(request, timeout=120)


def write(path):
    Path(path).write_text("forged")


def escape_by_link(place, target):
    os.symlink(target, place)
    return bool(read(place))


def main():
    what = json.loads(sys.argv[1])
    results = {}
    for name, path in what.get("read", {}).items():
        results[name] = tried(lambda path=path: read(path))
    for name, path in what.get("list", {}).items():
        results[name] = tried(lambda path=path: os.listdir(path) != [])
    for name, path in what.get("write", {}).items():
        results[name] = tried(lambda path=path: write(path))
    for name, path in what.get("connect", {}).items():
        results[name] = tried(lambda path=path: connect(path))
    for name, url in what.get("approve", {}).items():
        results[name] = tried(lambda url=url: approve(url))
    if "find" in what:
        results["find"] = tried(lambda: find(what["find"]["root"], what["find"]["needle"]))
    if "needle" in what:
        results["environment"] = tried(lambda: environments(what["needle"]))
    if "link" in what:
        results["link"] = tried(lambda: escape_by_link("./a-link", what["link"]))
    if "pid" in what:
        results["ptrace"] = tried(lambda: attach(what["pid"]))
    if "kill" in what:
        results["kill"] = tried(lambda: kill_by_name(what["kill"]))
    print(json.dumps(results), flush=True)


main()
