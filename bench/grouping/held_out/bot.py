# SPDX-License-Identifier: MIT
"""The bot: coroutines of asyncio. Each message is a bug. Two by one query: history, stats. usage: bot.py MESSAGE"""

import asyncio
import json
import sqlite3
import sys
import threading
import time

BUG_S = 0.24
DEADLINE = 0.0
# MORE

def over():
    return time.monotonic() >= DEADLINE


class Answer:
    def __init__(self, words):
        self.words = words

    def weigh(self, word):
        return sum(ord(c) * i for i, c in enumerate(word * 10))

    def compose(self):
        best = 0
        while not over():
            for word in self.words:
                best = max(best, self.weigh(word))
        return best


async def write_answer(text):
    return Answer(text.split()).compose()


async def on_reply():
    await write_answer("a message of some words that wants an answer")

# MORE

def run_query(text):
    with sqlite3.connect(":memory:") as db:
        while not over():
            db.execute(text).fetchall()


COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT sum(i %s 7) FROM n"


def load_history():
    run_query(COUNT % "*")


async def on_history():
    load_history()


def count_stats():
    run_query(COUNT % "+")


async def on_stats():
    count_stats()

# MORE

def moves(board, depth):
    for field in range(3):
        if depth == 0:
            yield sum(board[i] * i for i in range(len(board))) + field
        else:
            board[depth] = field
            yield from moves(board, depth - 1)


def plan_game():
    while not over():
        max(moves([0] * 12, 5))


async def on_plan():
    plan_game()


def export_chat(depth):
    chat = {"text": "hello"}
    for _ in range(depth):
        chat = {"text": "a reply", "replies": [chat, dict(chat)]}
    while not over():
        json.dumps(chat, indent=1)


async def on_export():
    export_chat(9)

# MORE

def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        before, row[0] = row[0], i + 1
        for j, y in enumerate(b):
            before, row[j + 1] = row[j + 1], min(row[j + 1] + 1, row[j] + 1, before + (x != y))
    return row[-1]


def suggest(word):
    words = ["spelling%d" % i for i in range(30)]
    while not over():
        words.sort(key=lambda other: distance(word, other))


async def on_spell():
    suggest("speling")


LOCK = threading.Lock()


def refresh_cache():
    with LOCK:
        time.sleep(BUG_S)


def read_cache():
    with LOCK:
        return 1


async def on_ask():
    worker = threading.Thread(target=refresh_cache)
    worker.start()
    await asyncio.sleep(0.005)
    read_cache()


async def main():
    global DEADLINE
    for turn in range(18):
        await asyncio.sleep(0.01)
        if turn == 12:
            DEADLINE = time.monotonic() + BUG_S
            await {"reply": on_reply, "history": on_history, "stats": on_stats, "plan": on_plan, "export": on_export,
                   "spell": on_spell, "ask": on_ask}[sys.argv[1]]()


asyncio.run(main())
