"""Lead a station's programs to their proxy, then become the command: a script, standard library only, an argv prefix.

    egress_bridge.py SOCKET -- argv…

In a network of its own, which holds nothing but its loopback, a process beside the command listens there and passes
what it gets to the proxy at SOCKET. The command is told of it by the variables that programs know."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys

NOT_PROXIED = "localhost,127.0.0.1,::1"
BACKLOG, CHUNK = 128, 64 * 1024


def proxy_variables(port: int) -> dict[str, str]:
    """Variables of the command. The last one is Node's, which looks at the others only then."""
    proxy = f"http://127.0.0.1:{port}"
    names = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
    # Both spellings: curl, for one, reads http_proxy in small letters only
    proxies = {spelling: proxy for name in names for spelling in (name, name.lower())}
    return {**proxies, "NO_PROXY": NOT_PROXIED, "no_proxy": NOT_PROXIED, "NODE_USE_ENV_PROXY": "1"}


async def copy_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.transport.abort()


async def relay_to_socket(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> None:
    """Pass on what a program and its proxy send each other, until both are done."""
    try:
        inner, outer = await asyncio.open_unix_connection(path)
    except OSError:
        writer.transport.abort()
        return
    await asyncio.gather(copy_stream(reader, outer), copy_stream(inner, writer))
    writer.close()
    outer.close()


async def serve_connections(listener: socket.socket, path: str) -> None:
    async def relay_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await relay_to_socket(reader, writer, path)

    server = await asyncio.start_server(relay_connection, sock=listener)
    await server.serve_forever()


def serve_in_detached_process(listener: socket.socket, path: str) -> None:
    """Serve in a process that is nobody's child: the command waits for its own alone."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    # It goes on while the command ends in order; with the last process of the station it is gone.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # It would hold the command's output open after the command has ended
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    try:
        asyncio.run(serve_connections(listener, path))
    finally:
        # Never back from here: a second process would become the command
        os._exit(0)


def main() -> int:
    path, argv = sys.argv[1], sys.argv[3:]
    try:
        # Programs know proxies at a port alone: a bridge leads from there to the socket, which is the only
        # way out
        with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listener:
            os.environ.update(proxy_variables(listener.getsockname()[1]))
            serve_in_detached_process(listener, path)
        os.execvp(argv[0], argv)
    except OSError as error:
        print(f"egress_bridge: {error}", file=sys.stderr)
    return 127


if __name__ == "__main__":
    sys.exit(main())
