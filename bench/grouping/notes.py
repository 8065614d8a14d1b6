# SPDX-License-Identifier: MIT
"""The notes: callbacks of asyncio. usage: notes.py EVENT"""

import asyncio
import re
import sys
import time

BUG_S = 0.24
DEADLINE = 0.0
# MORE

def over():
    return time.monotonic() >= DEADLINE


def word_count(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return counts


def render_markdown(text):
    while not over():
        word_count(text)


def on_render():
    render_markdown("a note of some words " * 200)

# MORE

def index_note(text):
    while not over():
        re.search(r"(a+)+b", text)


def on_index():
    index_note("a" * 14 + "c")


def fetch_note(tries):
    for _ in range(tries):
        time.sleep(BUG_S / tries)


def on_fetch():
    fetch_note(2)

# MORE

def count_links(depth):
    if depth == 0:
        return sum(i * i for i in range(20))
    return count_links(depth - 1) + count_links(depth - 1)


def on_tree():
    while not over():
        count_links(8)


async def main():
    global DEADLINE
    for turn in range(18):
        await asyncio.sleep(0.01)
        if turn == 12:
            DEADLINE = time.monotonic() + BUG_S
            asyncio.get_running_loop().call_soon({"render": on_render, "index": on_index, "fetch": on_fetch,
                                                  "tree": on_tree}[sys.argv[1]])


asyncio.run(main())
