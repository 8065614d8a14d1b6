# SPDX-License-Identifier: MIT
#
# Sentences that a cause alone does not show, and a program for each. test_kinds.py asserts them, and scripts/kinds writes them into
# docs/kinds.md.

import os
import shutil
import typing


class Sentence(typing.NamedTuple):
    name: str
    says: str  # an expression that fits the sentence of the report
    means: str  # for the page
    command: str  # the program in words
    program: str  # for python3
    needs: typing.Tuple[str, ...] = ()  # files and commands of other packages

    def is_here(self):
        return all(os.path.exists(need) if need[0] == "/" else shutil.which(need) for need in self.needs)


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

SERVICE = LOOP + """daemon = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--print-address"], stdout=subprocess.PIPE, text=True)
os.environ["DBUS_SESSION_BUS_ADDRESS"] = daemon.stdout.readline().strip()
from gi.repository import Gio
OTHER = '''import os, signal
from gi.repository import Gio, GLib
def own(*_):
    print(flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
Gio.bus_own_name(Gio.BusType.SESSION, "org.example.Portal", 0, None, own, None)
GLib.MainLoop().run()
'''
service = subprocess.Popen([sys.executable, "-c", OTHER], stdout=subprocess.PIPE)
service.stdout.readline()
bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
bus.set_exit_on_close(False)
def hang():
    with contextlib.suppress(Exception):
        open_portal()
    service.kill()
def open_portal():
    bus.call_sync("org.example.Portal", "/org/example", "org.example.Portal", "Open", None, None, 0, 1000, None)
""" + RUN + "daemon.kill()\n"

DISPLAY = LOOP + """import ctypes, signal
server = subprocess.Popen(["Xvfb", "-displayfd", "1", "-nolisten", "tcp"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
number = server.stdout.readline().strip()
x11 = ctypes.CDLL("libX11.so.6")
x11.XOpenDisplay.restype = ctypes.c_void_p
display = ctypes.c_void_p(x11.XOpenDisplay(b":" + number))
def hang():
    server.send_signal(signal.SIGSTOP)
    subprocess.Popen(["sh", "-c", "sleep 1; kill -CONT %d" % server.pid])
    redraw()
    server.kill()
def redraw():
    x11.XSync(display, 0)
""" + RUN

CLIPBOARD = """import os, signal, subprocess, time
server = subprocess.Popen(["Xvfb", "-displayfd", "1", "-nolisten", "tcp"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
os.environ["DISPLAY"] = ":" + server.stdout.readline().decode().strip()
from PyQt5.QtCore import QTimer
from PyQt5.QtWidgets import QApplication
app = QApplication([])
owner = subprocess.Popen(["xclip", "-quiet", "-selection", "clipboard"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
owner.stdin.write(b"text")
owner.stdin.close()
time.sleep(0.5)
owner.send_signal(signal.SIGSTOP)
def paste_text():
    subprocess.Popen(["sh", "-c", "sleep 1; kill -CONT %d" % owner.pid])
    app.clipboard().text()
    owner.kill()
    QTimer.singleShot(300, app.quit)
for ms in range(50, 1000, 50):
    QTimer.singleShot(ms, lambda: None)
QTimer.singleShot(1000, paste_text)
app.exec_()
server.kill()
"""

NAME_SERVER = LOOP + """import ctypes, struct
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
libc = ctypes.CDLL("libc.so.6")
libc.__res_init()
libc.__res_state.restype = ctypes.c_void_p
settings = struct.pack("=H", socket.AF_INET) + struct.pack("!H", server.getsockname()[1]) + bytes([127, 0, 0, 1])
ctypes.memmove(libc.__res_state(), struct.pack("=ii", 1, 1), 8)
ctypes.memmove(libc.__res_state() + 16, struct.pack("=i", 1) + settings, 12)
def hang():
    look_up()
def look_up():
    socket.getaddrinfo("files.example", 80, socket.AF_INET)
""" + RUN

GARBAGE = LOOP + """import gc
rows = [[i] for i in range(200000)]
def hang():
    until = time.monotonic() + 1
    while time.monotonic() < until:
        sum(range(4000000))
        gc.collect()
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
    Sentence("service", r"^waited for the D-Bus service org\.example\.Portal in g_dbus_connection_call_sync$",
             "The thread waits for the reply to a call by D-Bus. A unique name, such as `:1.42`, has the call's interface with it.",
             "python3, which calls a D-Bus service that does not answer", SERVICE,
             ("dbus-daemon", "/usr/lib/python3/dist-packages/gi/__init__.py")),
    Sentence("display server", r"^waited for the display server Xvfb \(\d+\) in poll$",
             "The thread waits for a reply of the X server or the Wayland compositor. The process is known if it is the user's.",
             "python3, whose X server is stopped", DISPLAY, ("Xvfb",)),
    Sentence("clipboard", r"^waited for the clipboard's owner in QClipboard::text$",
             "The thread waits for another program's data: that program owns the clipboard.",
             "python3, which pastes by Qt from a program that does not answer", CLIPBOARD,
             ("Xvfb", "xclip", "/usr/lib/python3/dist-packages/PyQt5/__init__.py")),
    Sentence("name server", r"^waited for the name server 127\.0\.0\.1:\d+ in getaddrinfo$",
             "The thread looks up a name, and the server does not answer. nscd and systemd-resolved are such servers, too.",
             "python3, which looks up a name at a server that does not answer", NAME_SERVER),
    Sentence("part of the time", r"ran on a CPU for \d+%.*, of it \d+% collecting garbage",
             "Parts of 10 % or more follow the cause: garbage collection, waits for memory from disk, and waits for a CPU.",
             "python3, which sums up and calls gc.collect()", GARBAGE),
]
