"""A station that uses its proxy in every way that programs have: a script, standard library only.

honest_connections.py PORT      of the host inside.test, which answers in capitals
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading

target = int(sys.argv[1])
proxy = ("127.0.0.1", int(os.environ["HTTPS_PROXY"].rpartition(":")[2]))
ASK = f"CONNECT inside.test:{target} HTTP/1.1\r\n\r\n".encode()
TIMES = 40


def answered():
    with socket.create_connection(proxy, timeout=20) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.sendall(ASK)
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        client.sendall(b"hello")
        return client.recv(5) == b"HELLO"


def by_threads():
    good = []
    threads = [threading.Thread(target=lambda: good.append(answered())) for _ in range(TIMES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(good)


def with_signals():
    """As Go has them: they interrupt system calls, which are begun again."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        return sum(answered() for _ in range(TIMES))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


async def not_waiting():
    async def one():
        reader, writer = await asyncio.open_connection(*proxy)
        writer.write(ASK)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"hello")
        answer = await reader.readexactly(5)
        writer.close()
        return answer == b"HELLO"

    return sum(await asyncio.gather(*(one() for _ in range(TIMES))))


def by_an_orphan():
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writing, b"1" if answered() else b"0")
        os._exit(0)
    os.wait()
    os.close(writing)
    return int(os.read(reading, 1))


def on_the_file_system():
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("a-socket")
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect("a-socket")
            connection, _ = server.accept()
            connection.sendall(b"x")
            connection.close()
            return int(client.recv(1) == b"x")


def after_exec():
    program = f"import socket; socket.create_connection({proxy!r}, timeout=20); print(1)"
    return int(subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, check=True).stdout)


print(
    json.dumps(
        {
            "threads": by_threads(),
            "signals": with_signals(),
            "not_waiting": asyncio.run(not_waiting()),
            "orphan": by_an_orphan(),
            "file_system": on_the_file_system(),
            "after_exec": after_exec(),
        }
    )
)
