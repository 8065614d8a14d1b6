# SPDX-License-Identifier: MIT
#
# The program of test_pipes.py: one callback of an asyncio loop reads the pipe of another process, in the way that its
# argument says.

import asyncio
import os
import subprocess
import sys


def begin_service():
    return subprocess.Popen(["sh", "-c", "while read word; do sleep 1; echo $word; done"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            bufsize=0)


def ask(service):
    service.stdin.write(b"word\n")
    return service.stdout.readline()


def read(way, service):
    return {
        "check_output": lambda: subprocess.check_output(["sleep", "1"]),
        "run": lambda: subprocess.run(["sleep", "1"], capture_output=True, check=True),
        "popen": lambda: os.popen("sleep 1").read(),  # pylint: disable=consider-using-with
        "pipeline": lambda: subprocess.check_output("sleep 1 | cat", shell=True),
        "behind": lambda: subprocess.check_output("sleep 1 & exit", shell=True),  # the shell ends, what it has left has the pipe
        "before": lambda: ask(service),
    }[way]()


async def main(way):
    service = begin_service() if way == "before" else None
    for _ in range(50):
        await asyncio.sleep(0.04)
    asyncio.get_running_loop().call_soon(read, way, service)
    await asyncio.sleep(0.5)
    if service:
        service.stdin.close()
        service.wait()


asyncio.run(main(sys.argv[1]))
