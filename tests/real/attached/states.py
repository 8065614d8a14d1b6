# SPDX-License-Identifier: MIT
#
# A loop of asyncio in one of several states, for test_attach_states.py. It prints "ready" when the state begins.

import asyncio
import os
import sys
import threading
import time


def block(seconds):
    time.sleep(seconds)


def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def say(text):
    print(text, flush=True)


def wait_for_a_line():
    sys.stdin.readline()


async def stuck():
    """Hangs before the watch begins, until a line comes."""
    say("ready")
    wait_for_a_line()
    say("went on")
    await asyncio.sleep(1.5)


async def blocks(seconds, then_computes=0):
    """Has been watched for a while, then hangs."""
    say("ready")
    await asyncio.get_running_loop().run_in_executor(None, wait_for_a_line)
    await asyncio.sleep(0.3)
    say("blocks")
    block(seconds)
    compute(then_computes)
    await asyncio.sleep(0.5)


def becomes_another():
    """Another program takes the process's place."""
    say("ready")
    wait_for_a_line()
    os.execv("/proc/self/exe", [sys.argv[0], __file__, "second"])


def in_a_thread():
    """The loop has a thread of its own, and the main thread joins it."""
    thread = threading.Thread(target=lambda: asyncio.run(blocks(1)), name="events")
    thread.start()
    thread.join()


def launches():
    """The program needs long until its first wait."""
    say("ready")
    block(1.5)
    asyncio.run(blocks(0))


STATES = {
    "launches": launches,
    "stuck": lambda: asyncio.run(stuck()),
    "dies": lambda: asyncio.run(blocks(60)),
    "stops": lambda: asyncio.run(blocks(2.6)),
    "second": lambda: asyncio.run(blocks(0.9)),
    "computes": lambda: asyncio.run(blocks(0.8, 0.8)),
    "becomes": becomes_another,
    "thread": in_a_thread,
}

if __name__ == "__main__":
    STATES[sys.argv[1]]()
