# SPDX-License-Identifier: MIT
#
# asyncio's loop with a timer.

import asyncio

from schedule import callback, wait_ms


async def main():
    ms = wait_ms()
    while ms is not None:
        await asyncio.sleep(ms / 1000)
        ms = callback()


asyncio.run(main())
