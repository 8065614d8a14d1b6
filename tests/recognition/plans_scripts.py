# SPDX-License-Identifier: MIT
"""Plans for programs whose callbacks are scripts of ours: Python with asyncio, GTK and Qt, and Node."""
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from plans import plan

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


def mute_server(run):
    """Takes connections and never says a word. Its port is in MUTE_PORT."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    kept = []

    def serve():
        while True:
            try:
                kept.append(listener.accept())
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    run.env["MUTE_PORT"] = str(listener.getsockname()[1])
    run.kept = (listener, kept)


class Slow(BaseHTTPRequestHandler):
    """/N gives N pieces, 80 ms apart; up to ten of them 30 ms."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        pieces = int(self.path.strip("/"))
        for _ in range(pieces):
            time.sleep(0.03 if pieces <= 10 else 0.08)
            self.wfile.write(b"x" * 2000)

    def log_message(self, *arguments):
        pass


def slow_server(run):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    run.kept_slow = server
    run.env["SLOW_PORT"] = str(server.server_address[1])
    return server.server_address[1]


def x_server(run, recorded=False):
    numbers, child_end = os.pipe()
    start = run.record if recorded else run.start
    server = start(["Xvfb", "-displayfd", str(child_end), "-screen", "0", "800x600x24", "-nolisten", "tcp"],
                   pass_fds=[child_end])
    os.close(child_end)
    with os.fdopen(numbers) as f:
        run.env["DISPLAY"] = ":" + f.readline().strip()
    run.env["DISPLAY_PID"] = str(server.pid)
    return server


def wayland_server(run, recorded=False):
    start = run.record if recorded else run.start
    server = start(["weston", "--backend=headless-backend.so", "--socket=wayland-rec", "--idle-time=0",
                    "--no-config"])
    run.wait_for(lambda: os.path.exists(run.path("wayland-rec")))
    run.env["WAYLAND_DISPLAY"] = "wayland-rec"
    run.env["DISPLAY_PID"] = str(server.pid)
    return server


def message_bus(run):
    """A session bus with a peer (org.hangdog.Mute) that never answers."""
    bus = run.start(["dbus-daemon", "--session", "--nofork", "--print-address"], stdout=subprocess.PIPE)
    run.env["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().decode().strip()
    peer = run.start(["/usr/bin/python3", str(PROGRAMS / "mute_peer.py")], stdout=subprocess.PIPE)
    peer.stdout.readline()
    peer.send_signal(signal.SIGSTOP)


PYTHON = ["python3.11"]
GTK = PYTHON + ["libgtk-3-0", "libglib2.0-0", "libxcb1"]
QT = PYTHON + ["libqt5core5a", "python3-pyqt5"]


def script(run, name, *arguments, **options):
    return run.run(["/usr/bin/python3", str(PROGRAMS / name), *arguments], **options)


@plan("asyncio", "Python's asyncio", "blocking socket, subprocess, sleeps, select and nested loops in callbacks", PYTHON)
def asyncio(run):
    mute_server(run)
    script(run, "asyncio_callbacks.py")


@plan("asyncio-start", "Python's asyncio after a start-up that waits", "three commands of 200 ms, then the loop", PYTHON)
def asyncio_start(run):
    mute_server(run)
    script(run, "asyncio_callbacks.py", "start")


@plan("asyncio-thrice", "Python's asyncio, asyncio.run three times", "a blocking call in each", PYTHON)
def asyncio_thrice(run):
    mute_server(run)
    script(run, "asyncio_callbacks.py", "thrice")


@plan("asyncio-download-start", "Python's asyncio after a download of 3 s", "blocking calls in callbacks", PYTHON)
def asyncio_download_start(run):
    mute_server(run)
    slow_server(run)
    script(run, "asyncio_callbacks.py", "download-start")


@plan("asyncio-download", "Python's asyncio", "downloads of 3 s in callbacks, the first soon", PYTHON)
def asyncio_download(run):
    mute_server(run)
    slow_server(run)
    script(run, "asyncio_callbacks.py", "download")


@plan("node", "Node", "execSync, spawnSync, a FIFO, Atomics.wait and a computation in timers", ["nodejs"])
def node(run):
    os.mkfifo(run.path("fifo"))
    run.run(["/usr/bin/node", str(PROGRAMS / "callbacks.js"), run.path("fifo")])


@plan("node-early", "Node", "execSync before the loop and in its second callback", ["nodejs"])
def node_early(run):
    os.mkfifo(run.path("fifo"))
    run.run(["/usr/bin/node", str(PROGRAMS / "callbacks.js"), run.path("fifo"), "early"])


@plan("gtk-x11", "GTK 3 on X", "D-Bus, X round trip, sockets, processes, libpq, libcurl, nested loops in callbacks", GTK)
def gtk_x11(run):
    mute_server(run)
    message_bus(run)
    x_server(run)
    script(run, "gtk_callbacks.py", env={"GDK_BACKEND": "x11"})


@plan("gtk-dialog-first", "GTK 3 on X", "the first callback opens a dialog, then as gtk-x11", GTK)
def gtk_dialog_first(run):
    mute_server(run)
    message_bus(run)
    x_server(run)
    script(run, "gtk_callbacks.py", "dialog-first", env={"GDK_BACKEND": "x11"})


@plan("gtk-libpq-start", "GTK 3 on X, libpq before the loop", "a connection that fails after 2 s, then as gtk-x11", GTK)
def gtk_libpq_start(run):
    mute_server(run)
    message_bus(run)
    x_server(run)
    script(run, "gtk_callbacks.py", "libpq-start", env={"GDK_BACKEND": "x11"})


@plan("gtk-download-start", "GTK 3 on X, a libcurl download of 3 s before the loop", "callbacks as in gtk-x11", GTK + ["libcurl4"])
def gtk_download_start(run):
    mute_server(run)
    slow_server(run)
    x_server(run)
    script(run, "gtk_callbacks.py", "download-start", env={"GDK_BACKEND": "x11"})


@plan("gtk-download", "GTK 3 on X", "libcurl downloads of 3 s in callbacks, the first soon", GTK + ["libcurl4"])
def gtk_download(run):
    mute_server(run)
    slow_server(run)
    x_server(run)
    script(run, "gtk_callbacks.py", "download", env={"GDK_BACKEND": "x11"})


@plan("gtk-wayland", "GTK 3 on Wayland", "as gtk-x11, with a round trip to a stopped compositor", GTK)
def gtk_wayland(run):
    mute_server(run)
    message_bus(run)
    wayland_server(run)
    script(run, "gtk_callbacks.py", env={"GDK_BACKEND": "wayland"})


@plan("qt-xcb", "Qt 5 on X, its GLib dispatcher", "D-Bus, X round trip, sockets, processes, dialogs and nested loops in callbacks", QT)
def qt_xcb(run):
    mute_server(run)
    message_bus(run)
    x_server(run)
    script(run, "qt_callbacks.py", env={"QT_QPA_PLATFORM": "xcb"})


@plan("qt-offscreen", "Qt 5 offscreen, its own dispatcher", "as qt-xcb, without the X server", QT)
def qt_offscreen(run):
    mute_server(run)
    message_bus(run)
    script(run, "qt_callbacks.py", env={"QT_QPA_PLATFORM": "offscreen", "QT_NO_GLIB": "1"})
