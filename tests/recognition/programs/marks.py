# SPDX-License-Identifier: MIT
"""What a program says of itself: when it blocks on purpose, and when its loop runs. Times are CLOCK_MONOTONIC."""
import contextlib
import os
import time

_file = os.open(os.environ["HANGDOG_MARKS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _write(text):
    os.write(_file, f"{time.monotonic_ns()} {text}\n".encode())


def since(state, name="-"):
    """From now on, outside of what is marked: start, idle (the loop runs), none (there is no loop), over."""
    _write(f"from {state} {name}")


@contextlib.contextmanager
def mark(name, state="busy"):
    """A callback that blocks (busy) or serves the program from inside (idle)."""
    _write(f"begin {state} {name}")
    try:
        yield
    finally:
        _write(f"end {state} {name}")
