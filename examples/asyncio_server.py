#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""An asyncio program watched by Hangdog. Each line on standard input is a request: "slow" blocks the loop for a second, and
is a hang. Type it, press Ctrl-D, and then: hangdog list"""

import asyncio
import sys
import time

import hangdog


def handle(request):
    if request == "slow":
        time.sleep(1)  # should be: await asyncio.sleep(1)
    print(request + ": done")


async def main():
    watch = hangdog.watch(threshold=0.5)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async for line in lines:
        request = line.decode().strip()
        watch.label(request)
        handle(request)


asyncio.run(main())
