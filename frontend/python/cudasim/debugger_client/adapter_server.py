"""Where `cudasim dap` meets editors: on the standard streams, or on a port. What it does for each is adapter.py's."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import sys
import threading

from cudasim.debugger_client.adapter import Adapter


def serve_stdio() -> int:
    """Serves the editor that has started this process. Returns the exit status."""
    # Whatever prints to standard output in this process must not get between the messages.
    to_editor = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _end_at_sigterm()
    return Adapter(sys.stdin.buffer, to_editor).serve()


def _end_at_sigterm() -> None:
    """SIGTERM ends this process as an exit does: programs that it has started end, too."""

    def end(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)


def serve_port(port: int) -> int:
    """Serves one editor after the other on a port of the loopback interface; 0: any port that is free.

    Standard output has "listening on 127.0.0.1:PORT, token TOKEN" in its first line. Returns the exit status when interrupted.
    """
    token = secrets.token_hex(16)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen(4)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "there are ports 0 to 65535"
        print(f"cudasim dap: cannot listen on port {port}: {reason}", file=sys.stderr)
        return 2
    print(f"listening on 127.0.0.1:{listening.getsockname()[1]}, token {token}", flush=True)
    adapters: list[Adapter] = []
    _end_at_sigterm()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                connected, _ = listening.accept()
                served = (connected, token, adapters)
                threading.Thread(target=_serve_connection, args=served, daemon=True).start()
    finally:
        for adapter in list(adapters):
            adapter.end_program()
    return 0


def _serve_connection(connected: socket.socket, token: str, adapters: list[Adapter]) -> None:
    with connected, connected.makefile("rb") as reading, connected.makefile("wb") as writing:
        adapter = Adapter(reading, writing, token)
        adapters.append(adapter)
        try:
            adapter.serve()
        finally:
            adapters.remove(adapter)
