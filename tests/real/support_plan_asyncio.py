# SPDX-License-Identifier: MIT
#
# The program of test_asyncio.py: one callback of the event loop for each step of its plan.

import asyncio
import hashlib
import json
import sys
import threading
import time


def pbkdf2(rounds):
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", rounds)


def rounds_of(seconds):
    """As many as take about so long on this machine."""
    pbkdf2(20000)  # what only the first one costs
    begin = time.thread_time()
    pbkdf2(200000)
    return int(200000 * seconds / (time.thread_time() - begin))


def numbers_of(seconds):
    """As many as are summed up in about that time, in one call of C that keeps the interpreter's lock."""
    begin = time.thread_time()
    sum(range(10 ** 7))
    return int(10 ** 7 * seconds / (time.thread_time() - begin))


def wait_for_lock(seconds):
    lock = threading.Lock()
    lock.acquire()  # pylint: disable=consider-using-with
    lock.acquire(timeout=seconds)  # pylint: disable=consider-using-with


def block(kind, seconds, rounds):
    if kind == "pbkdf2":
        pbkdf2(rounds)
    elif kind == "sum":
        threading.Thread(target=sum, args=(range(rounds),)).start()
    elif kind == "lock":
        wait_for_lock(seconds)
    else:
        time.sleep(seconds)
    if kind == "exit":  # in mid-hang, and with what exit() does
        sys.exit(3)


async def main(truth, plan):
    steps = [(step, *step.split(":")) for step in plan]
    rounds = {step: rounds_of(float(seconds)) for step, kind, seconds in steps if kind == "pbkdf2"}
    rounds.update({step: numbers_of(float(seconds)) for step, kind, seconds in steps if kind == "sum"})

    def note(begin, **line):
        truth.write(json.dumps({**line, "at": begin}) + "\n")
        truth.flush()

    def callback(step, kind, seconds, done):
        begin = time.monotonic_ns()
        note(begin, step=step)
        block(kind, float(seconds), rounds.get(step))
        note(begin, step=step, ns=time.monotonic_ns() - begin)
        done.set_result(None)

    loop = asyncio.get_running_loop()
    for step, kind, seconds in steps:
        print("step", step, flush=True)
        if kind == "idle":
            note(time.monotonic_ns(), step=step)
            # the loop wakes a few times before it idles in one piece
            for _ in range(5):
                await asyncio.sleep(0.02)
            await asyncio.sleep(float(seconds) - 0.1)
        else:
            done = loop.create_future()
            loop.call_later(0.05, callback, step, kind, seconds, done)
            await done
    print("the plan is done", file=sys.stderr)
    return 3


with open(sys.argv[1], "w", encoding="utf-8") as truth_file:
    STATUS = asyncio.run(main(truth_file, sys.argv[2:]))
sys.exit(STATUS)
