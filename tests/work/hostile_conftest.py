"""The conftest.py of a repository that attacks whoever runs its tests: standard library only. ATTACK names what it
tries, as JSON [name, argument]; what it got lies in got.json afterwards."""

import json
import mmap
import os
import socket
import tempfile
import threading
import time
from pathlib import Path


def tcp(port):
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        return client.recv(100).decode()


def udp(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"stolen", ("127.0.0.1", port))
        return "sent"


def abstract(name):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + name)
        return "connected"


def raw(family):
    return str(socket.socket(family, socket.SOCK_STREAM))


def own_loopback(_):
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()
        return "served"


def files(paths):
    """Those of them that can be read."""
    found = []
    for path in paths:
        try:
            Path(path).read_bytes()
            found.append(path)
        except OSError:
            continue
    return found


def forks(most):
    for _ in range(most):
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
    time.sleep(600)


def threads(most):
    threading.stack_size(64 * 1024)
    for _ in range(most):
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    time.sleep(600)


def memory(most):
    kept = []
    for _ in range(most // 2**20):
        kept.append(b"x" * 2**20)
    time.sleep(600)


def shared_memory(most):
    kept = mmap.mmap(-1, most)
    for _ in range(most // 2**20):
        kept.write(b"x" * 2**20)
    time.sleep(600)


def children_share(size):
    """Not an attack: many processes that share one large piece."""
    kept = mmap.mmap(-1, size)
    kept.write(b"x" * size)
    children = []
    for _ in range(8):
        child = os.fork()
        if child == 0:
            kept.seek(0)
            # Piece by piece: read at once, each child has a copy of its own for as long as the machine takes for it
            while kept.read(2**20):
                pass
            time.sleep(1.5)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return "done"


def one_file(most):
    with open("large", "wb") as file:
        for _ in range(most // 2**20):
            file.write(b"x" * 2**20)
    return "written"


def many_files(most):
    for number in range(most // 2**20):
        Path(f"large-{number}").write_bytes(b"x" * 2**20)
    return "written"


def files_below_the_longest_path(most):
    for _ in range(40):
        os.mkdir("d" * 120)
        os.chdir("d" * 120)
    many_files(most)
    time.sleep(600)


def nameless_files(most):
    kept = []
    for _ in range(most // 2**20):
        kept.append(tempfile.TemporaryFile())  # noqa: SIM115
        kept[-1].write(b"x" * 2**20)
        kept[-1].flush()
    time.sleep(600)


def in_memory_files(most):
    kept = [os.memfd_create(str(number)) for number in range(4)]
    for number in range(most // 2**20):
        os.write(kept[number % 4], b"x" * 2**20)
    time.sleep(600)


def elsewhere(places):
    """Files where only memory lies behind, or the machine."""
    found = []
    for place in places:
        try:
            Path(place, "forged").write_bytes(b"x")
            found.append(place)
        except OSError:
            continue
    return found


def open_files(most):
    kept = []
    try:
        for _ in range(most):
            kept.append(os.open(os.devnull, os.O_RDONLY))
    finally:
        for descriptor in kept:
            os.close(descriptor)
    return len(kept)


def spin(_):
    while True:
        pass


def spin_in_children(_):
    """Each for a short while, one after the other."""
    while True:
        child = os.fork()
        if child == 0:
            until = time.process_time() + 0.05
            while time.process_time() < until:
                pass
            os._exit(0)
        os.waitpid(child, 0)


def main():
    name, argument = json.loads(os.environ["ATTACK"])
    try:
        got = globals()[name](argument)
    except (OSError, RuntimeError, MemoryError) as error:
        got = {"refused": f"{type(error).__name__}: {error}"}
    Path("got.json").write_text(json.dumps(got))


main()
