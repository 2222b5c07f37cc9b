"""What a station can do: a script, standard library only. Its argument names whom and what it tries it on; it prints
one object {name of an attempt: true where it succeeded}. The names are those of `test_isolation_table`."""

import ctypes
import json
import os
import platform
import resource
import signal
import socket
import sys
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_USER, SIGCHLD, IPC_CREATE = 0x10000000, 17, 0o1000
X86 = platform.machine() == "x86_64"
CALLS = {
    "clone": 56 if X86 else 220,
    "keyctl": 250 if X86 else 219,
    "bpf": 321 if X86 else 280,
    "mq_open": 240 if X86 else 180,
    "io_uring_setup": 425,
    "clone3": 435,
}
CREATE_MESSAGES = 0o100 | 0o2
WHAT = json.loads(sys.argv[1])


def called(result):
    """The result of a call. EINVAL and its like come from a kernel that looked at the arguments, and so would do it."""
    refused = (1, 13, 38, 97)
    if result == -1 and ctypes.get_errno() in refused:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def call(name, *arguments):
    return called(LIBC.syscall(CALLS[name], *arguments))


def in_a_child(work):
    """Whether it succeeded in a process of its own, which it may change or stop."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def read_any(paths):
    """Whether one of them can be read."""
    for path in paths:
        try:
            return bool(Path(path).read_bytes() if os.path.isfile(path) else os.listdir(path))
        except OSError:
            continue
    return False


def write_any(folders):
    for folder in folders:
        try:
            Path(folder, "forged").write_text("forged")
            return True
        except OSError:
            continue
    return False


def of_process(file):
    """Whether it says what only that process knows: another may have its number in a namespace of its own."""
    return WHAT["needle"].encode() in Path(f"/proc/{WHAT['process']}/{file}").read_bytes()


def is_there():
    return os.path.exists(f"/proc/{WHAT['process']}")


def on_process(work):
    """A namespace of its own has processes with low numbers."""
    if not is_there():
        raise OSError("no such process")
    return work(WHAT["process"])


def attach(process):
    called(LIBC.ptrace(16, process, 0, 0))


def limit(process):
    resource.prlimit(process, resource.RLIMIT_CORE)


def terminal():
    descriptor = os.open(WHAT["terminal"], os.O_RDWR | os.O_NOCTTY)
    return os.fstat(descriptor).st_ino == WHAT["terminal_file"]


def leave_file():
    Path("/dev/shm", WHAT["left"]).write_bytes(b"left")


def leave_segments():
    key = WHAT["key"]
    called(LIBC.shmget(key, 4096, IPC_CREATE | 0o600))
    called(LIBC.semget(key, 1, IPC_CREATE | 0o600))
    called(LIBC.msgget(key, IPC_CREATE | 0o600))
    call("mq_open", WHAT["left"].encode(), CREATE_MESSAGES, 0o600, None)


def connected(family, address):
    with socket.socket(family) as client:
        client.settimeout(5)
        client.connect(address)


def sees_connections():
    """The port that somebody else listens on, among the sockets of the machine."""
    with open("/proc/self/net/tcp") as file:
        return f":{WHAT['port']:04X}" in file.read()


def map_user():
    called(LIBC.unshare(NEW_USER))


def enter():
    """Its own namespace: a kernel that looks at it says that this is not possible."""
    own = os.open("/proc/self/ns/user", os.O_RDONLY)
    return in_a_child(lambda: called(LIBC.setns(own, 0)))


def clone():
    child = call("clone", NEW_USER | SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def clone3():
    """With a size that no kernel takes, which starts nothing."""
    call("clone3", None, 1)


def change_mode():
    """To what it is: nothing is broken where it succeeds."""
    path = WHAT["secrets"][0]
    os.chmod(path, os.stat(path).st_mode & 0o7777)


def open_to_write(path):
    """Without changing it."""
    os.close(os.open(path, os.O_WRONLY))


def bpf():
    """An array, which a kernel may permit to everybody."""
    call("bpf", 0, ctypes.byref((ctypes.c_uint32 * 16)(2, 4, 4, 1)), 64)


ATTEMPTS = {
    "secrets": lambda: read_any(WHAT["secrets"]),
    "installation": lambda: read_any(WHAT["installation"]),
    "git": lambda: read_any(WHAT["git"]),
    "commits": lambda: all(read_any([path]) for path in WHAT["commits"]),
    "names": lambda: any(os.path.exists(path) for path in WHAT["secrets"]),
    "write": lambda: write_any(WHAT["folders"]),
    "mode": change_mode,
    "command_line": lambda: of_process("cmdline"),
    "environment": lambda: of_process("environ"),
    "memory": lambda: on_process(attach),
    "number": is_there,
    "signal": lambda: on_process(lambda process: os.kill(process, signal.SIGCONT)),
    "limit": lambda: on_process(limit),
    "priority": lambda: on_process(lambda process: os.setpriority(os.PRIO_PROCESS, process, 1)),
    "terminal": terminal,
    "left_file": leave_file,
    "left_segments": leave_segments,
    "unshare": lambda: in_a_child(map_user),
    "setns": enter,
    "clone": clone,
    "clone3": clone3,
    "netlink": lambda: socket.socket(16, socket.SOCK_RAW),
    "vsock": lambda: socket.socket(40, socket.SOCK_STREAM),
    "keyctl": lambda: call("keyctl", 0, -3, 1),
    "bpf": bpf,
    "kernel_log": lambda: called(LIBC.klogctl(10, None, 0)),
    "kernel_settings": lambda: open_to_write("/proc/sys/kernel/core_pattern"),
    "io_uring": lambda: call("io_uring_setup", 1, bytes(120)),
    "service": lambda: connected(socket.AF_INET, ("127.0.0.1", WHAT["port"])),
    "connections": sees_connections,
    "file_socket": lambda: connected(socket.AF_UNIX, WHAT["socket"]),
    "nameless_socket": lambda: connected(socket.AF_UNIX, "\0" + WHAT["nameless"]),
}


def main():
    done = {}
    for name, attempt in ATTEMPTS.items():
        try:
            done[name] = attempt() is not False
        except OSError:
            done[name] = False
    print("attempts:" + json.dumps(done), flush=True)


main()
