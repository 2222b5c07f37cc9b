"""Start a command behind Landlock that reaches its proxy and nothing else: a script, standard library only, an argv
prefix.

    landlock_hosts.py SOCKET RULES -- argv…       SOCKET: the proxy's; RULES: as of `landlock.py`

Landlock knows ports and no addresses: one that it permitted would be permitted at every host, and a hostile program may
have a host that listens on all of them. So it permits none: no program makes a connection by itself, and none listens.
A filter of system calls hands `connect` and `listen` to this process, which stays outside. It connects the program's
own socket, to one address only: its port on the loopback, behind which is the proxy. What the program names, and may
change while it is looked at, decides whether that is done, and never where it leads.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from pathlib import Path

# A script without site: where the package lies is told here. Standard library only, there too.
sys.path.append(str(Path(__file__).resolve().parents[3]))

from pipelines.work.processes import call_filter, egress_bridge, landlock

PIDFD_GETFD = 438
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
# The kernel's requests and answers (linux/seccomp.h): id, thread, flags, call, machine, instruction, six arguments.
RECEIVE, ANSWER, VALID = 0xC0502100, 0xC0182101, 0x40082102
REQUEST, RESPONSE = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
# SECCOMP_USER_NOTIF_FLAG_CONTINUE
GO_ON = 1
# struct sockaddr_in: family, port, IPv4 address, eight bytes unused
ADDRESS = struct.Struct("=H2s4s8x")
MOST_CONNECTIONS = 256
# As a shell has it for a command that cannot be started
NOT_STARTED = 127


class Connector:
    """The answers to the system calls that the filter hands over, and the way to the proxy."""

    def __init__(self, calls: int, listener: socket.socket, path: str) -> None:
        self.calls, self.listener, self.path = calls, listener, path
        self.port: int = listener.getsockname()[1]
        # Ports from which a connection was made here: others on this machine get no answer.
        self.sources: set[int] = set()
        self.connections = 0

    async def serve(self) -> None:
        asyncio.get_running_loop().add_reader(self.calls, self.answer_one_call)
        server = await asyncio.start_server(self.relay_connection, sock=self.listener)
        await server.serve_forever()

    async def relay_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        source = writer.get_extra_info("peername")[1]
        if source not in self.sources:
            writer.transport.abort()
            return
        # Good for one connection: the port may be another program's later
        self.sources.remove(source)
        try:
            await egress_bridge.relay_to_socket(reader, writer, self.path)
        finally:
            self.connections -= 1

    def answer_one_call(self) -> None:
        """Take one call, and let it go on, do it, or refuse it."""
        request = bytearray(REQUEST.size)
        try:
            fcntl.ioctl(self.calls, RECEIVE, request)
        except OSError:
            return  # its thread is gone
        number, thread, _, call, _, _, *arguments = REQUEST.unpack(request)
        flags = error = 0
        try:
            flags = 0 if self.try_to_carry_out_on_socket(number, thread, call, arguments) else GO_ON
        except OSError as refusal:
            error = -(refusal.errno or errno.EACCES)
        with contextlib.suppress(OSError):  # its thread is gone
            fcntl.ioctl(self.calls, ANSWER, RESPONSE.pack(number, 0, error, flags))

    def try_to_carry_out_on_socket(self, number: int, thread: int, call: int, arguments: list[int]) -> bool:
        """Do the call on the program's socket. False: it is one of the file system, and goes on by itself, fenced.

        :raises OSError: the answer to the program"""
        listens = call == call_filter.machine_call_numbers().listen
        try:
            connection = duplicate_socket(thread, arguments[0])
        except OSError:
            if listens:
                raise
            return False
        with connection:
            if listens:
                if connection.family != socket.AF_UNIX:
                    raise OSError(errno.EACCES, "no program listens on the network")
                # The argument comes as 64 bits without a sign, listen takes a C int
                connection.listen(arguments[1] & 0x7FFFFFFF)
                return True
            if connection.family == socket.AF_UNIX:
                return False
            family, port, address = family_port_and_address_named_by_program(
                thread, arguments[1], arguments[2]
            )
            fcntl.ioctl(self.calls, VALID, struct.pack("=Q", number))  # else it may be another process by now
            # Such a connect only dissolves a connection
            if family == socket.AF_UNSPEC:
                return False
            if (address, port) != ("127.0.0.1", self.port):
                # Errors that programs know: a closed port here, a network that is not there
                near = address.startswith("127.")
                raise OSError(errno.ECONNREFUSED if near else errno.ENETUNREACH, "only the proxy is reached")
            self.connect_to_proxy(connection)
            return True

    def connect_to_proxy(self, connection: socket.socket) -> None:
        """:raises OSError: as of the program's own call, BlockingIOError of one that does not wait included"""
        # A repeated connect of the same socket is bound already, and counts once
        if connection.getsockname()[1] == 0:
            if self.connections >= MOST_CONNECTIONS:
                raise OSError(errno.ECONNREFUSED, "too many connections at once")
            connection.bind(("127.0.0.1", 0))
            # Before it connects: `connected` already looks for it
            self.sources.add(connection.getsockname()[1])
            self.connections += 1
        connection.connect(("127.0.0.1", self.port))


def duplicate_socket(thread: int, descriptor: int) -> socket.socket:
    """Another process's socket, as one of this process. :raises OSError: it is none, or may not be looked at"""
    # A thread's own number gives no pidfd
    process = os.pidfd_open(process_of_thread(thread))
    try:
        ours = call_filter.checked_result(
            call_filter.call_kernel(PIDFD_GETFD, process, ctypes.c_int(descriptor), 0), "pidfd_getfd"
        )
    finally:
        os.close(process)
    try:
        return socket.socket(fileno=ours)
    except OSError:
        os.close(ours)
        raise


def process_of_thread(thread: int) -> int:
    with open(f"/proc/{thread}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Tgid:"))


def family_port_and_address_named_by_program(thread: int, place: int, length: int) -> tuple[int, int, str]:
    """Family, port and IPv4 address that a program names. :raises OSError: it names none"""
    if length < 2:
        raise OSError(errno.EINVAL, "no address")
    with open(f"/proc/{thread}/mem", "rb", buffering=0) as memory:
        memory.seek(place)
        data = memory.read(min(length, ADDRESS.size)).ljust(ADDRESS.size, b"\0")
    family, port, address = ADDRESS.unpack(data)
    if family not in (socket.AF_UNSPEC, socket.AF_INET):
        raise OSError(errno.EAFNOSUPPORT, "IPv4 alone")
    return family, int.from_bytes(port, "big"), socket.inet_ntoa(address)


def become_command(argv: list[str], rules: dict[str, list[str]], port: int, channel: socket.socket) -> None:
    """Hand over the system calls of this child, and become the command. Returns only where that fails."""
    try:
        # Without the process outside nobody would answer its calls
        landlock.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        landlock.drop_capabilities()
        landlock.restrict_paths(rules["read"], rules["write"], tcp=False)
        calls = call_filter.hand_calls_over_and_return_descriptor()
        # A descriptor is sent along with a byte, never alone
        socket.send_fds(channel, [b"!"], [calls])
        os.close(calls)
        channel.close()
        os.environ.update(egress_bridge.proxy_variables(port))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            # What is ignored stays ignored over exec
            signal.signal(number, signal.SIG_DFL)
        os.execvp(argv[0], argv)
    except OSError as error:
        print(f"landlock: {error}", file=sys.stderr, flush=True)


async def serve_until_exit(child: int, connector: Connector) -> None:
    """Serve until the child has ended, and end with its exit code, as a shell has it."""
    loop = asyncio.get_running_loop()
    ended = loop.create_future()

    def reap_children() -> None:
        """Orphans, too: they are this process's, so that it may go on looking at their sockets."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == child and not ended.done():
                    ended.set_result(os.waitstatus_to_exitcode(status))

    loop.add_signal_handler(signal.SIGCHLD, reap_children)
    # The child may have ended before the handler was there
    reap_children()
    serving = asyncio.ensure_future(connector.serve())
    await asyncio.wait({ended, serving}, return_when=asyncio.FIRST_COMPLETED)
    if not ended.done():
        serving.result()
    code = int(await ended)
    # At once: what is left of connections would be waited for.
    os._exit(code if code >= 0 else 128 - code)


def main() -> int:
    path, rules, argv = sys.argv[1], json.loads(sys.argv[2]), sys.argv[4:]
    landlock.prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it serves while the command ends in order
    ours, theirs = socket.socketpair()
    with socket.create_server(("127.0.0.1", 0), backlog=egress_bridge.BACKLOG) as listener:
        port = listener.getsockname()[1]
        child = os.fork()
        if child == 0:
            ours.close()
            listener.close()
            become_command(argv, rules, port, theirs)
            os._exit(NOT_STARTED)
        # Else recv_fds would wait for ever for a child that ended without sending
        theirs.close()
        _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
        ours.close()
        if not descriptors:
            return NOT_STARTED
        # Else a command that closes its output would not be noticed.
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        asyncio.run(serve_until_exit(child, Connector(descriptors[0], listener, path)))
    return NOT_STARTED


if __name__ == "__main__":
    sys.exit(main())
