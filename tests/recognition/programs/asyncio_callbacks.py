# SPDX-License-Identifier: MIT
"""asyncio: callbacks that block in every usual way, and some that nest loops."""
import asyncio
import os
import select
import socket
import subprocess
import sys
import time
import urllib.request

from marks import mark, since
from usual import computing

PORT = int(os.environ["MUTE_PORT"])


def mute_socket():
    s = socket.create_connection(("127.0.0.1", PORT))
    s.settimeout(0.5)
    return s


def blocking_socket():
    s = mute_socket()
    with mark("socket-recv"):
        try:
            s.recv(1)
        except TimeoutError:
            pass


def http():
    with mark("http"):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/", timeout=0.6)
        except OSError:
            pass


def command():
    with mark("subprocess"):
        subprocess.run(["sleep", "0.5"], capture_output=True, check=True)


def command_communicate():
    with mark("communicate"):
        subprocess.run(["sh", "-c", "cat; sleep 0.4"], input=b"x", capture_output=True, check=True)


def selecting():
    s = mute_socket()
    with mark("select"):
        select.select([s], [], [], 0.4)


def private_epoll():
    s = mute_socket()
    with mark("private-epoll"):
        with select.epoll() as e:
            e.register(s.fileno(), select.EPOLLIN)
            e.poll(0.4)
            e.poll(0.4)


def sleeping():
    with mark("sleep"):
        time.sleep(0.4)


def download(state="busy"):
    """From a server that takes its time: many short polls."""
    with mark("download", state):
        with urllib.request.urlopen(f"http://127.0.0.1:{os.environ['SLOW_PORT']}/40", timeout=5) as page:
            while page.read1(4000):
                pass


def nested(loop, state):
    """Runs a loop inside a callback: a new one, which asyncio forbids unless it is told otherwise, or the same."""
    with mark("nested", state):
        if loop is None:
            running = asyncio.events._get_running_loop()
            asyncio.events._set_running_loop(None)
            loop = asyncio.new_event_loop()
            loop.run_until_complete(asyncio.sleep(0.4))
            loop.close()
            asyncio.events._set_running_loop(running)
        else:
            done = []
            loop.call_later(0.4, done.append, True)
            loop.call_later(0.2, int)
            while not done:
                loop._run_once()
            loop.call_soon(int)  # the outer pass counts on what was ready


def nested_other():
    nested(None, "busy")


def nested_same():
    nested(asyncio.get_running_loop(), "idle")


ALL = [blocking_socket, command, http, nested_same, selecting, nested_other, private_epoll, nested_same, sleeping,
       command_communicate, computing, nested_other, blocking_socket, command]


async def main(callbacks, idle_s):
    since("idle")
    loop = asyncio.get_running_loop()
    await asyncio.sleep(idle_s)
    for callback in callbacks:
        for _ in range(3):
            await asyncio.sleep(0.07)
        loop.call_soon(callback)
        await asyncio.sleep(0.1)
    since("over")


def run(argument):
    if argument == "start":
        for _ in range(3):
            subprocess.run(["sleep", "0.2"], capture_output=True, check=True)
    if argument == "download-start":
        download("start")
        asyncio.run(main([blocking_socket, command, download, nested_same], 0.3))
    elif argument == "download":
        asyncio.run(main([download, nested_same, download, command], 0.3))
    elif argument == "thrice":
        for _ in range(3):
            asyncio.run(main([blocking_socket, command], 0.5))
    else:
        asyncio.run(main(ALL, 0.3))
    command()  # after the loop's end


run(sys.argv[1] if len(sys.argv) > 1 else "")
