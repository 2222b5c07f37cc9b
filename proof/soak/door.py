"""Attack a web process as it comes, and tell how signed-in people get on beside it (config/request_bounds.py).

    python -m proof.soak.door [--seconds 60] [--server daphne|uvicorn|granian] [--beside FOLDER]

`--server`: another one than `manage.py web`, from the environment whose packages are in the folder `--beside`; never
from the product's own. Prints one JSON object; exit code 1 if a signed-in post failed."""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from proof.soak.kills import free_port, prepare

ROOT = Path(__file__).resolve().parents[2]
LARGE = 3 * 1024**2
"""Bytes of an upload, more than is taken of anybody who is not known."""
Json = dict[str, Any]


def server(home: Path, name: str, port: int, beside: str) -> Any:
    from proof.soak.fleet import Fleet, Member  # noqa: PLC0415  # see prepare

    fleet = Fleet(home, (), port)
    (web,) = fleet.members
    address = f"http://127.0.0.1:{port}"
    web.env |= {"BASE_URL": address, "GATELINE_ANONYMOUS_PER_MINUTE": "120"}
    if name != "daphne":
        words = {
            "uvicorn": ("config.asgi:application", "--port", str(port), "--log-level", "warning"),
            "granian": ("--interface", "asgi", "--port", str(port), "--no-ws", "config.asgi:application"),
        }[name]
        env = {**web.env, "PYTHONPATH": os.pathsep.join((str(ROOT), beside))}
        fleet.members = [Member(name, words, env, web.log, program=("-m", name))]
    fleet.tend()
    return fleet


class SignedInClient:
    """Somebody with a token who works on, on a new connection for each request."""

    def __init__(self, port: int, secret: str) -> None:
        self.port, self.secret = port, secret
        self.seconds: dict[str, list[float]] = {}
        self.answers: dict[str, Counter[str]] = {}

    def post(self, kind: str, path: str, body: bytes, content_type: str) -> None:
        began, answer = time.perf_counter(), "201"
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Authorization": f"Bearer {self.secret}", "Content-Type": content_type}
        try:
            connection.request("POST", path, body, headers)
            answer = str(connection.getresponse().status)
        except (OSError, HTTPException) as error:
            answer = type(error).__name__
        finally:
            connection.close()
        self.seconds.setdefault(kind, []).append(time.perf_counter() - began)
        self.answers.setdefault(kind, Counter())[answer] += 1

    def told(self) -> Json:
        return {
            kind: {
                "answers": dict(self.answers[kind]),
                "median ms": round(1000 * percentile(seconds, 0.5)),
                "p95 ms": round(1000 * percentile(seconds, 0.95)),
                "longest ms": round(1000 * max(seconds)),
            }
            for kind, seconds in self.seconds.items()
        }


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def form(content: bytes) -> bytes:
    lead = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
    return lead + content + b"\r\n--x--\r\n"


def work(reader: SignedInClient, base: str, line: str, seconds: float, started: float) -> None:
    """Start tasks, and upload a file in every tenth round."""
    upload = form(b"0" * LARGE)
    task = json.dumps({"title": "Beside an attack"}).encode()
    rounds = 0
    while time.perf_counter() - started < seconds:
        reader.post("task", f"{base}/stages/{line}/tasks", task, "application/json")
        if rounds % 10 == 0:
            reader.post("file of 3 MB", f"{base}/files", upload, "multipart/form-data; boundary=x")
        rounds += 1
        time.sleep(0.1)


def size_of(pid: int) -> Json:
    """Memory, open files, and what lies in files without a name, of a process and those that it started."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]
    files = list(Path(f"/proc/{pid}/fd").iterdir())
    nameless = 0
    for file in files:
        try:
            nameless += os.stat(file).st_size if "(deleted)" in os.readlink(file) else 0
        except OSError:
            continue
    size = {"memory MB": int(resident) // 1024, "open files": len(files), "bodies MB": nameless // 1024**2}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        size = {name: count + size_of(int(child))[name] for name, count in size.items()}
    return size


def run(home: Path, seconds: float, name: str, beside: str) -> Json:
    from tests.factories import document, make_world, station  # noqa: PLC0415  # see prepare
    from tests.fixtures.site import health  # noqa: PLC0415  # see prepare

    world, port = make_world(), free_port()
    line = world.line(document([station("build")])).line
    _token, secret = world.token_of(world.operator)
    base = f"/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}"
    fleet = server(home, name, port, beside)
    try:
        deadline = time.monotonic() + 120
        while not health(f"http://127.0.0.1:{port}"):
            assert time.monotonic() < deadline, fleet.members[0].log.read_text()[-3000:]
            time.sleep(0.1)
        alone, beside_attack, after = (SignedInClient(port, secret) for _ in range(3))
        work(alone, base, line.key, 5, time.perf_counter())
        words = [sys.executable, "-m", "proof.soak.attackers", str(port), str(seconds)]
        with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as attackers:
            work(beside_attack, base, line.key, seconds - 1, time.perf_counter())
            size = size_of(fleet.members[0].process.pid)
            answers = json.loads(attackers.communicate()[0])
        work(after, base, line.key, 5, time.perf_counter())
        return {
            "server": name,
            "load": round(os.getloadavg()[0], 1),
            "alone": alone.told(),
            "beside the attack": beside_attack.told(),
            "afterwards": after.told(),
            "web process at the end of the attack": size,
            "web process afterwards": size_of(fleet.members[0].process.pid),
            "attackers were answered": answers,
        }
    finally:
        fleet.stop()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--server", choices=["daphne", "uvicorn", "granian"], default="daphne")
    parser.add_argument("--beside", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gl-door-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        prepare(home)
        from django.core.management import call_command  # noqa: PLC0415  # see prepare
        from django.db import connections  # noqa: PLC0415  # see prepare

        from config.embedded.server_share import acquire_share  # noqa: PLC0415  # see prepare

        call_command("migrate", verbosity=0)
        try:
            table = run(home, options.seconds, options.server, options.beside)
        finally:
            connections.close_all()
            acquire_share(home).release()
    print(json.dumps(table, indent=2))
    posts = table["beside the attack"].values()
    return int(any(set(kind["answers"]) != {"201"} for kind in posts))


if __name__ == "__main__":
    sys.exit(main())
