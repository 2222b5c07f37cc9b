"""A repository with a lock file, a service, and tests that need both (docs/repositories.md): prepared once, and from
the cache afterwards. What fails around a station is named as itself."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pipelines.models import Repository, Token
from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.outgoing.guard import Guard, Resolve, resolve_addresses
from pipelines.work.outgoing.special_purpose import is_private_network
from pipelines.work.processes.isolation import Isolation, isolation_places, link_folders
from pipelines.work.results import repositories
from pipelines.work.spec.preparation import Preparation
from pipelines.work.worker import environment_preparation, prepared_files
from pipelines.work.worker.prepared_files import EnvironmentFiles, PreparedFiles
from tests.factories import World
from tests.waiting import LONG
from tests.work.driving import PYTHON, Bench, command, done, drive, outcome_of, text_of
from tests.work.isolations import BOTH, isolation_or_skip
from tests.work.remotes import RemoteRepository, connect, remote

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.isolation,
    pytest.mark.usefixtures("artifacts_here"),
]
# Installs what the lock file names, as a package manager does: into a folder that git ignores.
INSTALL = b"""
import os, pathlib, sys
folder = pathlib.Path("packages/inner/modules")
folder.mkdir(parents=True)
for name in pathlib.Path("deps.lock").read_text().split():
    (folder / f"{name}.py").write_text("VALUE = 42")
print("installed", file=sys.stderr)
"""
SERVICE = b"""
import socket, sys
print("answering soon", flush=True)
with socket.create_server(("127.0.0.1", 4711)) as server:
    while True:
        client = server.accept()[0]
        client.sendall(b"PONG")
        client.close()
"""
# The suite of the repository: needs the package of the lock file, and the service.
SUITE = (
    "import socket, sys; sys.path.insert(0, 'packages/inner/modules'); import answer; "
    "assert socket.create_connection(('127.0.0.1', 4711)).recv(4) == b'PONG'; "
    "open('result.txt', 'w').write(str(answer.VALUE)); print('suite passed')"
)
# Installs the repository's own package, editable, and a program of it.
EDITABLE = f"""
import pathlib
folder = pathlib.Path(".venv/bin").absolute()
folder.mkdir(parents=True)
(folder.parent / "own.pth").write_text(str(pathlib.Path("src").absolute()))
program = folder / "price"
program.write_text(f"#!{{folder}}/python\\nimport basket; print('the price is', basket.PRICE)")
program.chmod(0o755)
(folder / "python").symlink_to({PYTHON!r})
""".encode()
PRICE = (
    "import os, site, subprocess; site.addsitedir('.venv'); import basket; "
    "env = os.environ | {'PYTHONPATH': os.path.dirname(basket.__file__)}; "
    "subprocess.run(['.venv/bin/price'], check=True, env=env)"
)
SETTING = "npm_config_manage_package_manager_versions"
PREPARE = {"argv": [PYTHON, "install.py"], "cache": "deps.lock"}
PING = {"name": "ping", "argv": [PYTHON, "service.py"], "port": 4711}
FILES = {
    "deps.lock": b"answer\n",
    "install.py": INSTALL,
    "service.py": SERVICE,
    "packages/inner/readme": b"",
    "app.py": b"x = 1\n",
}


@pytest.fixture
def origin(tmp_path: Path, world: World) -> RemoteRepository:
    made = remote(tmp_path / "origin.git", FILES)
    connect(world.project, made)
    return made


@pytest.fixture(params=BOTH)
def isolated(request: pytest.FixtureRequest, bench: Bench, tmp_path: Path) -> Isolation:
    return isolation_of(request.param, bench, tmp_path)


@pytest.fixture
def with_ports(bench: Bench, tmp_path: Path) -> Isolation:
    """The one behind which a service can listen although its station has no network."""
    return isolation_of("bubblewrap", bench, tmp_path)


def isolation_of(name: str, bench: Bench, tmp_path: Path) -> Isolation:
    bench.base.mkdir(parents=True, exist_ok=True)
    readable = [Path(sys.prefix), Path(sys.base_prefix), *link_folders(Path(PYTHON)), repositories.SCRIPT]
    return asyncio.run(isolation_or_skip(name, isolation_places(readable, [], tmp_path), bench.base))


class Lines:
    """Tasks of a line with two stations, in a repository that is prepared so."""

    def __init__(self, world: World, bench: Bench, isolation: Isolation, **prepare: Any) -> None:
        self.world, self.bench, self.isolation = world, bench, isolation
        Repository.objects.update(prepare=prepare)
        self.resolve = resolve_addresses

    def task(self, program: str = SUITE, first: str = "", **repository: str) -> Any:
        world = self.world
        version = world.line(
            stations=[command("first", first or program), command("second", program)],
            workspace={"git": {"repository": "app", **repository}},
        )
        task = world.start(version)
        drive(self.bench, task, **self.where)
        return task

    @property
    def where(self) -> dict[str, Any]:
        roots = (str(self.bench.base.parent),)
        guard = Guard(resolve=self.resolve)
        return {"isolation": self.isolation, "repository_roots": roots, "outgoing": Outgoing(guard)}


def test_it_is_prepared_once_and_from_the_cache_afterwards(
    world: World, bench: Bench, with_ports: Isolation, origin: RemoteRepository
) -> None:
    lines = Lines(world, bench, with_ports, **PREPARE, services=[PING])
    task = lines.task()
    assert world.status(task) == "completed", text_of(done(task, "first"))
    first, second = text_of(done(task, "first")), text_of(done(task, "second"))
    assert "Prepare: " in first and "installed" in first and "Prepared (" in first
    assert "Service ping answers (" in first and "suite passed" in first
    assert "Prepared from the cache (" in second and "installed" not in second
    facts = outcome_of(task, "first")["facts"]
    assert facts["git"]["paths"] == ["result.txt"], "what was prepared is no part of the change"
    assert facts["prepare"]["cached"] is False
    assert [file["path"] for file in outcome_of(task, "first")["git"]["files"]] == ["result.txt"]
    assert outcome_of(task, "second")["facts"]["prepare"]["cached"] is True
    other = lines.task()
    assert "Prepared from the cache" in text_of(done(other, "first")), "another task of the repository, too"


@pytest.mark.wide
def test_the_package_of_the_repository_itself_is_found_from_the_cache_and_is_that_of_the_task(
    world: World, bench: Bench, with_ports: Isolation, origin: RemoteRepository
) -> None:
    """What `uv sync`, `poetry install` and `pip install -e .` leave names the folder of the first station, which is
    gone. The program that they leave beside it, too."""
    origin.add(FILES | {"install.py": EDITABLE, "src/basket.py": b"PRICE = 1\n"})
    change = f"open('src/basket.py', 'w').write('PRICE = 2'); {PRICE}"
    task = Lines(world, bench, with_ports, **PREPARE).task(PRICE, first=change)
    assert world.status(task) == "completed", text_of(done(task, "second"))
    second = text_of(done(task, "second"))
    assert "Prepared from the cache (" in second and "the price is 2" in second


@pytest.mark.wide
def test_a_package_manager_of_another_version_than_the_repository_names_is_used_as_it_is(
    world: World, bench: Bench, with_ports: Isolation, origin: RemoteRepository
) -> None:
    """It fetched the version that packageManager names, where a station has no network, for a minute and a half."""
    manifest = {"packageManager": "pnpm@1.0.0", "scripts": {"test": "echo suite passed"}}
    show = f"import os; print('fetches itself:', os.environ[{SETTING!r}])"
    origin.add(FILES | {"package.json": json.dumps(manifest).encode()})
    call = "; import subprocess; subprocess.run(['pnpm', 'test'], check=True)" if shutil.which("pnpm") else ""
    task = Lines(world, bench, with_ports, argv=[PYTHON, "-c", show]).task(show + call)
    assert world.status(task) == "completed", text_of(done(task, "first"))
    text = text_of(done(task, "first"))
    assert text.count("fetches itself: false") == 2, "in Prepare, too"
    assert "suite passed" in text or not call


@pytest.mark.wide
def test_two_stations_at_once_prepare_once(
    world: World, bench: Bench, isolated: Isolation, origin: RemoteRepository
) -> None:
    """Two tasks of one repository, driven side by side as branches of one are."""
    lines = Lines(world, bench, isolated, **PREPARE)
    version = world.line(
        stations=[command("first", "import os; assert os.listdir('packages/inner/modules')")],
        workspace={"git": {"repository": "app"}},
    )
    tasks = [world.start(version), world.start(version)]

    async def both() -> None:
        async with bench.driver(**lines.where) as driver:
            tokens = [token async for token in Token.objects.filter(task__in=tasks)]
            await asyncio.gather(*(driver.drive_token(token.pk) for token in tokens))

    asyncio.run(both())
    assert [world.status(task) for task in tasks] == ["completed", "completed"]
    made = sorted(outcome_of(task, "first")["facts"]["prepare"]["cached"] for task in tasks)
    assert made == [False, True]
    assert sum("Another station prepares the same." in text_of(done(task, "first")) for task in tasks) == 1


def test_who_was_killed_while_it_prepared_holds_up_nobody(tmp_path: Path) -> None:
    kept = PreparedFiles(tmp_path)
    hold = (
        "import sys, time; from pathlib import Path; from pipelines.work.worker.prepared_files import PreparedFiles\n"
        "with PreparedFiles(Path(sys.argv[1])).making_entry('a') as mine: print(mine, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([PYTHON, "-c", hold, tmp_path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "True\n"
        with kept.making_entry("a") as mine, kept.making_entry("b") as another:
            assert (mine, another) == (False, True)
        holder.kill()
    with kept.making_entry("a") as mine, kept.making_entry("a") as again:
        assert (mine, again) == (True, False)
    with kept.making_entry("a") as mine:
        assert mine, "and after it let go, too"


@pytest.mark.wide
def test_another_lock_file_or_definition_is_prepared_anew(
    world: World, bench: Bench, isolated: Isolation, origin: RemoteRepository
) -> None:
    lines = Lines(world, bench, isolated, **PREPARE)
    look = "import os; print(sorted(os.listdir('packages/inner/modules')))"
    change = f"open('deps.lock', 'a').write('second\\n'); {look}"
    task = lines.task(look, first=change)
    assert "Prepared (" in text_of(done(task, "second")), "the agent changed the lock file"
    assert "['answer.py', 'second.py']" in text_of(done(task, "second"))
    lines = Lines(world, bench, isolated, **{**PREPARE, "argv": [PYTHON, "-I", "install.py"]})
    assert "Prepared (" in text_of(done(lines.task(look), "first"))


@pytest.mark.wide
def test_a_task_that_changed_files_prepares_for_itself_alone(
    world: World, bench: Bench, isolated: Isolation, origin: RemoteRepository
) -> None:
    """Else a task could leave a package for others."""
    look = "print(open('packages/inner/modules/answer.py').read())"
    evil = "open('install.py', 'a').write(\"\\n(folder / 'answer.py').write_text('EVIL = 1')\\n\")"
    lines = Lines(world, bench, isolated, **PREPARE)
    task = lines.task(look, first=f"{evil}; open('deps.lock', 'a').write('x')")
    assert "EVIL" in text_of(done(task, "second"))
    other = lines.task(look, first="open('deps.lock', 'a').write('x')")
    assert "EVIL" not in text_of(done(other, "second"))


@pytest.mark.wide
def test_another_branch_with_the_same_lock_file_leaves_nothing_for_this_one(
    world: World, bench: Bench, isolated: Isolation, origin: RemoteRepository
) -> None:
    """Whoever may push any branch would say what tasks of the main one run."""
    evil = INSTALL + b"\n(folder / 'answer.py').write_text('EVIL = 1')\n"
    origin.point("side", origin.head())
    origin.add(FILES | {"install.py": evil}, branch="side")
    look = "print(open('packages/inner/modules/answer.py').read())"
    lines = Lines(world, bench, isolated, **PREPARE)
    assert "EVIL" in text_of(done(lines.task(look, base="side"), "first"))
    after = text_of(done(lines.task(look), "first"))
    assert "EVIL" not in after and "Prepared (" in after


@pytest.mark.smoke(2)
@pytest.mark.parametrize(
    ("prepare", "said", "log"),
    [
        (
            {"argv": [PYTHON, "-c", "import sys; print('no such package'); sys.exit(3)"]},
            "it ended with exit code 3",
            "no such package",
        ),
        ({"argv": ["no-such-installer", "ci"]}, "no-such-installer could not be started", "Prepare: "),
        ({**PREPARE, "cache": "gone.lock"}, "The lock file gone.lock is not in the repository", ""),
        (
            {"argv": [PYTHON, "-c", "open('app.py', 'w').write('x = 3')"]},
            "Prepare changed files of the repository: app.py. It may only add files",
            "",
        ),
        (
            {
                "argv": [PYTHON, "-c", "import urllib.request as u; u.urlopen('https://registry.test/')"],
                "network": {"egress": ["other.test"]},
            },
            "Prepare failed: The host registry.test is not in the Hosts of the environment. That is why ",
            "403",
        ),
        (
            {"services": [{"name": "redis", "argv": ["no-such-server"], "port": 6379}]},
            "Service redis could not be started: No such file or directory",
            "",
        ),
        (
            {
                "services": [
                    {**PING, "argv": [PYTHON, "-c", "print('bad configuration'); raise SystemExit(2)"]}
                ]
            },
            "Service ping ended with exit code 2 before it answered",
            "bad configuration",
        ),
        (
            {"services": [{"name": "db", "argv": ["sleep", "60"], "health": ["false"], "seconds": 0.3}]},
            "Service db did not answer within 0.3 s: its health command did not pass",
            "",
        ),
    ],
)
def test_what_fails_around_a_station_is_named_as_itself(
    prepare: dict[str, Any],
    said: str,
    log: str,
    world: World,
    bench: Bench,
    with_ports: Isolation,
    origin: RemoteRepository,
) -> None:
    task = Lines(world, bench, with_ports, **prepare).task("print('never started')")
    outcome = outcome_of(task, "first")
    assert outcome["failure_type"] == "prepare_failed"
    assert said in outcome["summary"], outcome
    text = text_of(done(task, "first"))
    assert log in text and said in text and "never started" not in text


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ("SECONDS", "Prepare failed (sleep 60): it took longer than 30 minutes"),
        ("SILENT_SECONDS", "Prepare failed (sleep 60): it printed nothing for 10 minutes"),
    ],
)
def test_a_preparation_that_ends_at_a_bound_says_which(
    bound: str,
    said: str,
    world: World,
    bench: Bench,
    with_ports: Isolation,
    origin: RemoteRepository,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(environment_preparation, bound, 0.5)
    task = Lines(world, bench, with_ports, argv=["sleep", "60"]).task("print('never started')")
    assert outcome_of(task, "first")["failure_type"] == "prepare_failed"
    assert said in outcome_of(task, "first")["summary"]


def own_private_address() -> str:
    """An address of this machine in a private network. A datagram socket that is connected sends nothing."""
    for family, far in ((socket.AF_INET, "10.255.255.254"), (socket.AF_INET6, "fd00:ffff::1")):
        with socket.socket(family, socket.SOCK_DGRAM) as connected, contextlib.suppress(OSError):
            connected.connect((far, 9))
            address = str(connected.getsockname()[0])
            if is_private_network(ipaddress.ip_address(address)):
                return address
    pytest.skip("this machine has no address in a private network")


@pytest.mark.wide
def test_a_host_inside_is_reached_once_an_administrator_allowed_its_private_address(
    world: World, bench: Bench, with_ports: Isolation, origin: RemoteRepository
) -> None:
    """Where a company serves packages itself it took a variable and a restart."""
    own = own_private_address()

    def resolving(address: str) -> Resolve:
        async def inside(host: str, port: int) -> list[str]:
            return [address]

        return inside

    fetch = "import urllib.request as u; u.urlopen('https://registry.test:{}/', timeout=5)"
    family = socket.AF_INET6 if ":" in own else socket.AF_INET
    with socket.create_server((own, 0), family=family) as server:
        port = server.getsockname()[1]
        taken = threading.Thread(target=lambda: server.accept()[0].close(), daemon=True)
        taken.start()

        def prepared(address: str, **more: Any) -> str:
            network = {"egress": [f"registry.test:{port}"], **more}
            argv = [PYTHON, "-c", fetch.format(port)]
            lines = Lines(world, bench, with_ports, argv=argv, network=network)
            lines.resolve = resolving(address)
            return str(outcome_of(lines.task("print('never started')"), "first")["summary"])

        refused = prepared(own)
        assert (
            f"has the private address {own}" in refused
            and "ticks “These hosts may have private addresses”" in refused
        )
        allowed = [f"registry.test:{port}"]
        for never in ("127.0.0.1", "169.254.169.254"):
            assert f"has the private address {never}" in prepared(never, private=allowed)
        assert f"has the private address {own}" in prepared(own, private=["registry.test"])
        assert taken.is_alive(), "nobody called"
        reached = prepared(own, private=allowed)
        taken.join(LONG)
    assert not taken.is_alive() and "private address" not in reached


def test_behind_landlock_a_service_is_refused_with_its_remedy_unless_the_network_is_open(
    world: World, bench: Bench, tmp_path: Path, origin: RemoteRepository
) -> None:
    isolation = isolation_of("landlock", bench, tmp_path)
    lines = Lines(world, bench, isolation, **PREPARE, services=[PING])
    task = lines.task("print('never started')")
    assert outcome_of(task, "first")["failure_type"] == "prepare_failed"
    text = text_of(done(task, "first"))
    assert "Landlock" in text and "apt-get install bubblewrap" in text and "never started" not in text
    opened = command("first", SUITE, work={"network": "open"})
    task = world.start(world.line(stations=[opened], workspace={"git": {"repository": "app"}}))
    drive(bench, task, **lines.where)
    assert "suite passed" in text_of(done(task, "first"))


def test_a_station_cannot_say_that_it_was_not_prepared(
    world: World, bench: Bench, with_ports: Isolation, origin: RemoteRepository
) -> None:
    forged = json.dumps({"failed": "is gone", "name": "ping", "log": ""})
    lines = Lines(world, bench, with_ports, services=[PING])
    task = lines.task(f"print({forged!r}); raise SystemExit(1)")
    outcome = outcome_of(task, "first")
    assert outcome["exit_code"] == 1 and outcome.get("failure_type") != "prepare_failed"


TAMPER = """
import os, pathlib
folder = pathlib.Path("packages/inner/modules")
module = folder / "answer.py"
was = module.stat()
module.write_text("VALUE = 66")
os.utime(module, ns=(was.st_atime_ns, was.st_mtime_ns))
(folder / "sitecustomize.py").write_text("raise SystemExit(1)")
"""
SHOW = "import os; f = 'packages/inner/modules'; print(sorted(os.listdir(f)), open(f + '/answer.py').read())"


def test_what_a_station_writes_into_the_environment_is_seen_by_no_other(
    world: World, bench: Bench, isolated: Isolation, origin: RemoteRepository
) -> None:
    """Of the same task, and of others: neither what it changed, with size and time put back, nor what it added."""
    lines = Lines(world, bench, isolated, **PREPARE)
    for task in (lines.task(SHOW, first=TAMPER), lines.task(SHOW, first=SHOW)):
        assert world.status(task) == "completed", text_of(done(task, "first"))
        assert "['answer.py'] VALUE = 42" in text_of(done(task, "second"))


def test_what_is_kept_is_bounded_and_never_leaves_the_folder(tmp_path: Path) -> None:
    kept, workspace = PreparedFiles(tmp_path / "w", together=1000), tmp_path / "one"
    (workspace / "deps" / "bin").mkdir(parents=True)
    (workspace / "deps" / "file").write_bytes(b"x" * 600)
    (workspace / "deps" / "link").symlink_to("/etc/passwd")
    kept.store_prepared_files("a", workspace, ("deps",))
    other = tmp_path / "other"
    other.mkdir()
    assert kept.fill_from_stored("a", other) == EnvironmentFiles(("deps",))
    assert (other / "deps" / "link").is_symlink() and (other / "deps" / "file").stat().st_size == 600
    assert kept.fill_from_stored("a", other) is None, "nothing is put over what stands there"
    outside, turned = tmp_path / "outside", tmp_path / "turned"
    outside.mkdir()
    turned.mkdir()
    (turned / "packages").symlink_to(outside)
    kept.store_prepared_files("b", workspace, ("deps",))
    content = tmp_path / "w" / prepared_files.FOLDER / "b" / "content.json"
    content.write_text(content.read_text().replace('["deps"]', '["packages/deps"]'))
    assert kept.fill_from_stored("b", turned) is None and list(outside.iterdir()) == []
    assert kept.remove_unused_entries() == 1 and kept.remove_unused_entries() == 0


def test_what_an_older_gateline_kept_is_removed(tmp_path: Path) -> None:
    entry = tmp_path / prepared_files.FOLDER / "old"
    entry.mkdir(parents=True)
    for name, text in (("lock", ""), ("roots.json", "[]"), ("place", "/gone")):
        (entry / name).write_text(text)
    assert PreparedFiles(tmp_path).fill_from_stored("old", tmp_path) is None
    assert PreparedFiles(tmp_path).remove_unused_entries() == 1 and not entry.exists()


def test_a_definition_is_read_back_as_it_was() -> None:
    said = {**PREPARE, "network": {"egress": ["a.test"]}, "services": [{**PING, "health": ["true"]}]}
    assert Preparation.of_dict(said).to_dict() == said
    assert Preparation.of_dict({}).to_dict() == {}
