# SPDX-License-Identifier: MIT
#
# The program of test_script_frames.py: coroutines that block, and ten functions that compute, in an order that the seed
# gives. Its log has the time of each by CLOCK_REALTIME, in ns.

import asyncio
import hashlib
import random
import sys
import time

SLICE = 0.25


def count_up(until):
    n = 0
    while time.monotonic() < until:
        n += 1


def nested_loops(until):
    while time.monotonic() < until:
        for a in range(100):
            for b in range(10):
                a * b


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def recursion(until):
    while time.monotonic() < until:
        fibonacci(12)


def comprehension(until):
    while time.monotonic() < until:
        [x * x for x in range(2000) if x % 3]


def numbers(n):
    for i in range(n):
        yield i


def generator(until):
    while time.monotonic() < until:
        sum(numbers(1000))


def sorting(until):
    values = list(range(500))
    while time.monotonic() < until:
        values.sort(key=lambda x: -x % 17)


def strings(until):
    while time.monotonic() < until:
        ",".join(str(i) for i in range(300)).split(",")


class Shape:
    def __init__(self, size):
        self.size = size

    def area(self):
        return self.size * self.size

    def __lt__(self, other):
        return self.area() < other.area()


def methods(until):
    shapes = [Shape(i % 7) for i in range(50)]
    while time.monotonic() < until:
        min(shapes)


def dictionaries(until):
    d = {}
    while time.monotonic() < until:
        for i in range(100):
            d[i] = d.get(i, 0) + 1


def library(until):
    import json  # pylint: disable=import-outside-toplevel
    while time.monotonic() < until:
        json.loads(json.dumps([1, {"a": [2, 3]}, "x" * 10]))


BUSY = [count_up, nested_loops, recursion, comprehension, generator, sorting, strings, methods, dictionaries, library]


async def sleeps_in_a_coroutine():
    time.sleep(0.8)


async def hashes_in_a_coroutine(rounds):
    return hash_it(rounds)


def hash_it(rounds):
    return hashlib.pbkdf2_hmac("sha256", b"password", b"salt", rounds)


def one_after_the_other(seed, log):
    order = BUSY * 2
    random.Random(seed).shuffle(order)
    for function in order:
        begin = time.time_ns()
        function(time.monotonic() + SLICE)
        print(function.__name__, begin, time.time_ns(), file=log)
    log.flush()


async def idle(seconds):
    for _ in range(int(seconds / 0.1)):
        await asyncio.sleep(0.1)


async def main(seed, log):
    hash_it(10000)  # what only the first one costs
    begin = time.thread_time()
    hash_it(100000)
    rounds = int(100000 * 1.2 / (time.thread_time() - begin))
    await idle(1.5)
    await sleeps_in_a_coroutine()
    await idle(0.3)
    await hashes_in_a_coroutine(rounds)
    await idle(0.3)
    one_after_the_other(seed, log)
    await idle(1)


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as LOG:
        asyncio.run(main(int(sys.argv[1]), LOG))
