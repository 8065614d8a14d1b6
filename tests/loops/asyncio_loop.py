#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""asyncio's loop, by python/hangdog.py, in the cases of tests/loops/loops.c: asyncio_loop.py CASE SPOOL"""

import asyncio
import glob
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.environ["HANGDOG_SOURCE"], "python"))
import hangdog  # pylint: disable=wrong-import-position

LIBRARY = os.path.join(os.environ["HANGDOG_BUILD"], "lib/libhangdog.so.0")
TURNS, ROUNDS = int(os.environ.get("TURNS", 20000)), 5
ENDS = os.pipe()


def block():
    started = time.monotonic_ns()
    time.sleep(0.5)
    print(time.monotonic_ns() - started)


def watch(loop, name="main"):
    watched = hangdog.watch(loop, name, threshold=0.25, spool=sys.argv[2], library=LIBRARY)
    assert watched
    return watched


def run(prepare, name="main"):
    loop = asyncio.new_event_loop()
    watch(loop, name)
    loop.call_later(0.05, prepare, loop)
    loop.run_forever()
    loop.close()


def block_and_quit(loop):
    block()
    loop.call_later(0.1, loop.stop)


def in_io(loop):
    def receive():
        os.read(ENDS[0], 1)
        block_and_quit(loop)
    loop.add_reader(ENDS[0], receive)
    loop.call_later(0.1, os.write, ENDS[1], b"x")


def in_timer(loop):
    loop.call_later(0.1, block_and_quit, loop)


def in_two():
    second = threading.Thread(target=run, args=(lambda loop: loop.call_later(0.8, block_and_quit, loop), "second"))
    second.start()
    run(in_timer)
    second.join()


def switches():
    total = 0
    for path in glob.glob("/proc/self/task/*/status"):
        if path.split("/")[4] != str(threading.get_native_id()):
            with open(path, encoding="ascii") as status:
                total += sum(int(line.split()[1]) for line in status if line.startswith("voluntary"))
    return total


def count():
    least = 1 << 62
    for _ in range(3):
        time.sleep(1)
        before = switches()
        time.sleep(2)
        least = min(least, switches() - before)
        if least == 0:
            break
    print(least, flush=True)
    os._exit(0)  # pylint: disable=protected-access


def turn_ns(watched):
    loop = asyncio.new_event_loop()
    watching = watch(loop) if watched else None
    turns = 0

    def pass_on():
        nonlocal turns
        os.read(ENDS[0], 1)
        turns += 1
        if turns < TURNS:
            os.write(ENDS[1], b"x")
        else:
            loop.stop()

    loop.add_reader(ENDS[0], pass_on)
    os.write(ENDS[1], b"x")
    started = time.thread_time_ns()
    loop.run_forever()
    took = time.thread_time_ns() - started
    if watching:
        watching.close()
    loop.close()
    return took // TURNS


def in_cost():
    rounds = [(turn_ns(True), turn_ns(False)) for _ in range(ROUNDS)]
    added, plain = sorted(watched - other for watched, other in rounds), sorted(other for _, other in rounds)
    print(added[ROUNDS // 2], added[-2] - added[1], plain[ROUNDS // 2])


def main():
    case = sys.argv[1]
    if case in ("idle", "nested"):
        print({"idle": "asyncio has no hook for idle work", "nested": "asyncio's loop is not reentrant"}[case])
        return 77
    if case == "quiet":
        threading.Thread(target=count).start()
        run(lambda loop: None)
    {"io": lambda: run(in_io), "timer": lambda: run(in_timer), "two": in_two, "cost": in_cost}[case]()
    time.sleep(0.3)  # a stop on a busy machine may leave a report unfinished
    return 0


sys.exit(main())
