# SPDX-License-Identifier: MIT
#
# A loop of asyncio, or of uvloop where the second argument names it. Requests are those of requests.h.

import asyncio
import os
import sys
import time


def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def block(seconds):
    time.sleep(seconds)


def on_input(loop):
    words = os.read(0, 64).decode().split()
    if len(words) < 2:
        print("interrupted 0", flush=True)
        loop.stop()
        return
    start = time.monotonic_ns()
    (compute if words[0] == "cpu" else block)(int(words[1]) / 1000)
    end = time.monotonic_ns()
    print("stall", words[0], start, end, flush=True)


def tick(loop, seconds):
    loop.call_later(seconds, tick, loop, seconds)


def main():
    if sys.argv[2:] == ["uvloop"]:
        import uvloop  # pylint: disable=import-outside-toplevel
        loop = uvloop.new_event_loop()
    else:
        loop = asyncio.new_event_loop()
    loop.add_reader(0, on_input, loop)
    if sys.argv[1] != "0":
        tick(loop, int(sys.argv[1]) / 1000)
    print("ready", flush=True)
    loop.run_forever()


main()
