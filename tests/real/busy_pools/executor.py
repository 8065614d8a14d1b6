# SPDX-License-Identifier: MIT
"""A ThreadPoolExecutor whose queue is never empty. No task takes 500 ms."""
import asyncio
import hashlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor


def task(i):
    if i % 3:
        time.sleep(0.02 * (1 + i % 10))
    else:
        hashlib.pbkdf2_hmac("sha256", b"a", b"b", 20000)


async def main():
    pool, loop, i = ThreadPoolExecutor(5), asyncio.get_running_loop(), 0
    until, waiting = time.monotonic() + float(sys.argv[1]), set()
    while time.monotonic() < until:
        while len(waiting) < 20:
            i += 1
            waiting.add(loop.run_in_executor(pool, task, i))
        _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.gather(*waiting)

asyncio.run(main())
