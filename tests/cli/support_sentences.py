# SPDX-License-Identifier: MIT
#
# Sentences that a cause alone does not show, and a program for each. test_kinds.py asserts them, and scripts/kinds writes them into
# docs/kinds.md.

import typing


class Sentence(typing.NamedTuple):
    name: str
    says: str  # an expression that fits the sentence of the report
    means: str  # for the page
    command: str  # the program in words
    program: str  # for python3


# The loop of each program: some waits, the hang, and one wait more.
LOOP = """import asyncio, contextlib, os, pty, socket, sqlite3, subprocess, sys, time
async def main():
    for _ in range(12):
        await asyncio.sleep(0.05)
    with contextlib.suppress(OSError):
        hang()
    await asyncio.sleep(0.2)
"""
RUN = "asyncio.run(main())\n"

DATABASE = LOOP + """def hang():
    sqlite3.connect("app.db").execute("create table notes (t)")
    other = subprocess.Popen([sys.executable, "-c", OTHER], stdout=subprocess.PIPE)
    other.stdout.readline()
    save_note()
    other.wait()
def save_note():
    sqlite3.connect("app.db", timeout=30, isolation_level=None).execute("insert into notes values (1)")
OTHER = '''import sqlite3, time
db = sqlite3.connect("app.db", isolation_level=None)
db.execute("begin immediate")
print(flush=True)
time.sleep(1.2)
'''
""" + RUN

FILE = LOOP + """import fcntl
def hang():
    other = subprocess.Popen([sys.executable, "-c", OTHER], stdout=subprocess.PIPE)
    other.stdout.readline()
    take_lock()
    other.wait()
def take_lock():
    fcntl.flock(open("app.lock", "w"), fcntl.LOCK_EX)
OTHER = '''import fcntl, time
file = open("app.lock", "w")
fcntl.flock(file, fcntl.LOCK_EX)
print(flush=True)
time.sleep(1)
'''
""" + RUN

PIPE = LOOP + """def hang():
    reader, writer = os.pipe()
    subprocess.run(["sh", "-c", "sleep 1 <&%d & exit" % reader], pass_fds=[reader])
    os.close(reader)
    print_table(writer)
def print_table(writer):
    os.write(writer, bytes(200000))
""" + RUN

LOGGER = LOOP + """def hang():
    with subprocess.Popen(["sleep", "1"], stdin=subprocess.PIPE) as logger:
        write_log(logger.stdin)
def write_log(pipe):
    pipe.write(bytes(200000))
""" + RUN

TERMINAL = LOOP + """def hang():
    master, terminal = pty.openpty()
    subprocess.Popen(["sleep", "1"], pass_fds=[master])
    os.close(master)
    draw_screen(terminal)
def draw_screen(terminal):
    os.write(terminal, bytes(200000))
""" + RUN

SOCKET = LOOP + """def hang():
    service = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    service.bind("log")
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.connect("log")
    subprocess.Popen(["sleep", "1"], stdin=service)
    service.close()
    while True:
        place_order(log)
def place_order(log):
    log.send(b"an order")
""" + RUN

SENTENCES = [
    Sentence("lock of a database", r"^waited for a lock of app\.db held by python3 \(\d+\)",
             "SQLite waits for a lock of a database, in sleeps of up to 100 ms. Another process has the lock.",
             "python3, which writes to a database while another process has it locked", DATABASE),
    Sentence("lock of a file", r"^waited for a file lock in flock on app\.lock held by python3 \(\d+\)",
             "The thread waits for a lock of a file, by `flock`, or by `fcntl` with `F_SETLKW` or `F_OFD_SETLKW`.",
             "python3, which locks a file that another process has locked", FILE),
    Sentence("pipe", r"^waited for sleep \(\d+\), which does not read a pipe, in write$",
             "The thread writes to a pipe, which is full. The process has the pipe's other end.",
             "python3, which prints to a process that does not read", PIPE),
    Sentence("pipe of a child", r"^waited for child \d+ \(sleep\), which does not read, in write$",
             "The same, with a child of the process.", "python3, which writes a log to a child that does not read", LOGGER),
    Sentence("terminal", r"^waited for the terminal pts/\d+ of sleep \(\d+\) to take output in write$",
             "The thread writes to a terminal that takes no more. The process shows the terminal, or the user stopped it by Ctrl-S.",
             "python3, which writes to a terminal that no process reads", TERMINAL),
    Sentence("local socket", r"^waited for sleep \(\d+\), which does not read the socket log, in sendto$",
             "The thread writes to a local socket, which is full, such as that of the system's log.",
             "python3, which writes a log to a service that does not read", SOCKET),
]
