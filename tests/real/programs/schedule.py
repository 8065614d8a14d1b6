# SPDX-License-Identifier: MIT
#
# What a Python program of the tests does, as schedule.h has it: how long its loop waits and how long a callback blocks, in turn.

import os
import subprocess
import sys
import threading
import time

steps = iter(sys.argv[1:])
other_threads_mutex = threading.Lock()


def block_in_sleep(seconds):
    time.sleep(seconds)


def block_in_compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def block_in_child(seconds):
    subprocess.run(["/bin/sleep", str(seconds)], check=True)


def block_in_read(_seconds):
    """Reads a pipe to which the program never writes."""
    os.read(os.pipe()[0], 1)


def take_mutex_and_wait():
    with other_threads_mutex:
        time.sleep(10**6)


def block_in_lock(_seconds):
    threading.Thread(target=take_mutex_and_wait, daemon=True).start()
    while not other_threads_mutex.locked():
        time.sleep(0.001)
    with other_threads_mutex:
        pass


KINDS = {"sleep": block_in_sleep, "compute": block_in_compute, "child": block_in_child, "read": block_in_read,
         "lock": block_in_lock}


def wait_ms():
    """How long the loop waits, in ms; None: the program ends."""
    step = next(steps, None)
    return None if step is None else int(step)


def callback():
    """One callback: blocks as the schedule says. How long the loop waits then, in ms; None: the program ends."""
    step = next(steps, None)
    if step is None:
        return None
    kind, ms = step.split(":")
    print("freezes", flush=True)
    begin = time.monotonic_ns()
    KINDS[kind](10**6 if ms == "forever" else int(ms) / 1000)
    print("froze", time.monotonic_ns() - begin, flush=True)
    return wait_ms()
