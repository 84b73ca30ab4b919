"""``python3 -m orlop PATH``: serves the plugins of a file or a folder to the host that started it."""

from __future__ import annotations

import os
import signal
import sys
import threading


def main() -> int:
    """Takes standard input and output for the protocol, and serves."""
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python3 -m orlop PATH_OF_A_PLUGIN\n")
        return 2
    source, output = _take_standard_streams()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The host decides what an interrupt means.
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    from .server import Server

    Server(sys.argv[1], source, output).run()
    _do_not_linger()
    return 0


def _take_standard_streams() -> tuple[object, int]:
    """Plugins that print write to the log, and those that read find nothing."""
    source = os.fdopen(os.dup(0), "rb", 1 << 16)
    output = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    return source, output


def _do_not_linger() -> None:
    """Threads that a plugin left running do not keep the process."""
    last = threading.Timer(1.0, os._exit, (0,))
    last.daemon = True
    last.start()


if __name__ == "__main__":
    sys.exit(main())
