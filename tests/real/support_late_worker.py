# SPDX-License-Identifier: MIT
"""asyncio, run by test_late_worker.py: a callback sleeps. Then it, or the callback of a later turn, may wait elsewhere."""

import asyncio
import os
import select
import sys
import time


def hold():
    time.sleep(0.6)
    print("slept", flush=True)


def wait_in_other():
    select.select([], [], [], 1.5)


def rest():
    print("rests", flush=True)
    time.sleep(1.5)


async def rest_in_task():
    rest()


def hold_and_wait():
    hold()
    wait_in_other()


async def main():
    for _ in range(20):  # the loop becomes certain
        await asyncio.sleep(0.02)
    print("ready", flush=True)
    while not os.path.exists("go"):
        await asyncio.sleep(0.05)
    loop = asyncio.get_running_loop()
    loop.call_soon(hold_and_wait if sys.argv[1] == "same" else hold)
    if sys.argv[1] == "alike":
        loop.call_later(0.1, lambda: loop.call_later(0.1, rest))
    if sys.argv[1] == "task":
        loop.call_later(0.1, lambda: loop.create_task(rest_in_task()))
    await asyncio.sleep(0.1)
    print("done", flush=True)
    await asyncio.sleep(60)


asyncio.run(main())
