# SPDX-License-Identifier: MIT
#
# The program of test_python_versions.py, for CPython 3.8 to 3.14: an event loop that hangs in functions of every kind,
# one after the other. Before each hang it prints the stack that the interpreter itself gives, one JSON line a hang. With
# an argument it hangs once, in a child, and a second thread waits for a lock.

import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
import time
import zlib

SECONDS = 0.4
ROUNDS = 60000000
HEAP = [[i] for i in range(200000)]
NOISE = os.urandom(1 << 20)


def say(kind, value):
    """Stands on the line that hangs: the frames are those that a debugger would see there."""
    frame, frames = sys._getframe(1), []
    while frame is not None:
        code = frame.f_code
        frames.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    print(json.dumps({"kind": kind, "at": time.time(), "frames": frames}), flush=True)
    return value


def in_a_child():
    subprocess.call(say("child", ["sleep", str(SECONDS)]))


def in_a_read():
    reader, writer = os.pipe()
    with subprocess.Popen(["sleep", str(SECONDS)], stdout=writer):
        os.close(writer)
        os.read(say("read", reader), 1)
    os.close(reader)


def computes():
    until = say("computes", time.monotonic() + SECONDS)
    while time.monotonic() < until:
        pass


def in_an_extension(rounds):
    zlib.compress(say("extension", NOISE * rounds), 9)


def for_a_lock(taken):
    taken.acquire(timeout=say("lock", SECONDS))


def for_the_interpreter():
    """Another thread has the GIL for all of one call of C code."""
    def sums():
        go.wait()
        sum(range(ROUNDS))
    go = threading.Event()
    threading.Thread(target=sums).start()
    go.set()
    time.sleep(say("gil", 0.05))


def collects():
    until = say("collects", time.monotonic() + SECONDS)
    while time.monotonic() < until:
        gc.collect()


class Shop:
    def __init__(self, kind):
        self.kind = kind

    @property
    def price(self):
        return self.sell(2)

    def sell(self, depth):
        if depth:
            return self.sell(depth - 1)
        return sorted([3], key=lambda _: time.sleep(say("method", SECONDS)) or 1)

    @staticmethod
    def numbers():
        yield from (time.sleep(say("generator", SECONDS)) or n for n in range(1))


async def grüße():
    async def inner():
        try:
            await asyncio.sleep(0)
        finally:
            # A statement of several lines, as people write them.
            print(
                [time.sleep(say("coroutine", SECONDS))
                 for _ in range(1)],
                file=sys.stderr)
    await inner()


# More lines than a signed byte counts, and an instruction far from its function's start.
TALL = "def tall():\n    a = [" + "1,\n" * 300 + "    ]\n    time.sleep(say('tall', SECONDS))\n"
exec(compile(TALL, __file__ + ".tall", "exec"))  # pylint: disable=exec-used


def rounds_of_compression():
    zlib.compress(NOISE, 9)  # what only the first one costs
    begin = time.thread_time()
    zlib.compress(NOISE, 9)
    return max(1, int(1.3 * SECONDS / (time.thread_time() - begin)))


async def main():
    taken = threading.Lock()
    taken.acquire()  # pylint: disable=consider-using-with
    rounds = rounds_of_compression()
    for _ in range(7):
        await asyncio.sleep(0.1)
    for hang in (in_a_child, in_a_read, computes, lambda: in_an_extension(rounds), lambda: for_a_lock(taken),
                 lambda: Shop("a").price, lambda: list(Shop.numbers()), for_the_interpreter, collects,
                 tall):  # pylint: disable=undefined-variable # noqa
        hang()
        await asyncio.sleep(0.1)
    await grüße()
    await asyncio.sleep(0.1)


def once():
    def waits():
        taken.acquire()  # pylint: disable=consider-using-with
    taken = threading.Lock()
    taken.acquire()  # pylint: disable=consider-using-with
    threading.Thread(target=waits, daemon=True).start()
    subprocess.call(say("once", ["sleep", "30"]))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        once()
    else:
        asyncio.run(main())
