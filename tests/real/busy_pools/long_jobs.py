# SPDX-License-Identifier: MIT
"""Executors whose threads all work for long, while no work waits: jobs that last as long as the program."""
import asyncio
import sys
import time
from concurrent.futures import ThreadPoolExecutor


async def main():
    pool, loop = ThreadPoolExecutor(), asyncio.get_running_loop()
    until = time.monotonic() + float(sys.argv[1])
    jobs = [loop.run_in_executor(pool, time.sleep, float(sys.argv[1])) for _ in range(3)]
    while time.monotonic() < until:
        await asyncio.sleep(0.3)
    await asyncio.gather(*jobs)

asyncio.run(main())
