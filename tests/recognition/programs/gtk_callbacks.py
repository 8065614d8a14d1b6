# SPDX-License-Identifier: MIT
"""GTK 3: callbacks that block in every usual way, and some that nest loops."""
import ctypes
import os
import subprocess
import sys
import time
import traceback

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, Gio, GLib, Gtk  # noqa: E402

from marks import mark, since  # noqa: E402
from usual import command, computing, python_socket, stop_display  # noqa: E402

PORT = int(os.environ["MUTE_PORT"])
ARGUMENT = sys.argv[1] if len(sys.argv) > 1 else ""


def dbus_call():
    bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
    with mark("dbus-call"):
        try:
            bus.call_sync("org.hangdog.Mute", "/", "org.freedesktop.DBus.Peer", "Ping", None, None,
                          Gio.DBusCallFlags.NONE, 600, None)
        except GLib.Error:
            pass


def round_trip():
    stop_display()
    with mark("round-trip"):
        Gdk.Display.get_default().sync()


def gsocket():
    with mark("gsocket"):
        connection = Gio.SocketClient.new().connect_to_host("127.0.0.1", PORT, None)
        try:
            connection.get_socket().condition_timed_wait(GLib.IOCondition.IN, 500_000, None)
        except GLib.Error:
            pass


def spawn_sync():
    with mark("g_spawn_sync"):
        GLib.spawn_command_line_sync("sleep 0.5")


def subprocess_wait():
    with mark("g_subprocess_wait"):
        Gio.Subprocess.new(["sleep", "0.5"], Gio.SubprocessFlags.NONE).wait(None)


def private_context():
    context = GLib.MainContext.new()
    context.push_thread_default()
    loop = GLib.MainLoop.new(context, False)
    source = GLib.timeout_source_new(500)
    source.set_callback(lambda *_: loop.quit())
    source.attach(context)
    with mark("private-context"):
        loop.run()
    context.pop_thread_default()


def nested_loop():
    loop = GLib.MainLoop()
    GLib.timeout_add(500, loop.quit)
    with mark("nested-loop", "idle"):
        loop.run()


def iterations():
    GLib.timeout_add(150, lambda: True if iterations.left else False)
    with mark("main_iteration_do", "idle"):
        for iterations.left in range(4, -1, -1):
            Gtk.main_iteration_do(True)


def dialog():
    box = Gtk.MessageDialog(text="Nested", buttons=Gtk.ButtonsType.OK)
    GLib.timeout_add(600, lambda: box.response(Gtk.ResponseType.OK))
    with mark("gtk_dialog_run", "idle"):
        box.run()
    box.destroy()


def blocked_in_dialog():
    box = Gtk.MessageDialog(text="Nested", buttons=Gtk.ButtonsType.OK)
    GLib.timeout_add(200, lambda: gsocket())
    GLib.timeout_add(1100, lambda: box.response(Gtk.ResponseType.OK))
    with mark("gtk_dialog_run", "idle"):
        box.run()
    box.destroy()


def libpq(state="busy"):
    with mark("libpq", state):  # its file may not be in memory yet
        pq = ctypes.CDLL("libpq.so.5")
        pq.PQconnectdb.restype = ctypes.c_void_p
        c = pq.PQconnectdb(f"host=127.0.0.1 port={PORT} connect_timeout=2 sslmode=disable gssencmode=disable".encode())
    pq.PQfinish(ctypes.c_void_p(c))


def libcurl():
    with mark("libcurl"):
        curl = ctypes.CDLL("libcurl.so.4")
        curl.curl_easy_init.restype = ctypes.c_void_p
        handle = ctypes.c_void_p(curl.curl_easy_init())
        curl.curl_easy_setopt(handle, 10002, ctypes.c_char_p(f"http://127.0.0.1:{PORT}/".encode()))
        curl.curl_easy_setopt(handle, 155, ctypes.c_long(900))
        curl.curl_easy_perform(handle)


def download(state="busy"):
    """From a server that takes its time: many short polls."""
    with mark("download", state):
        curl = ctypes.CDLL("libcurl.so.4")
        curl.curl_easy_init.restype = ctypes.c_void_p
        handle = ctypes.c_void_p(curl.curl_easy_init())
        curl.curl_easy_setopt(handle, 10002, ctypes.c_char_p(f"http://127.0.0.1:{os.environ['SLOW_PORT']}/40".encode()))
        sink = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)
        keep = sink(lambda data, size, n, user: size * n)
        curl.curl_easy_setopt(handle, 20011, keep)
        curl.curl_easy_perform(handle)


def clipboard():
    with mark("clipboard", "idle"):
        Gtk.Clipboard.get(Gdk.SELECTION_CLIPBOARD).wait_for_text()


ALL = [computing, dialog, dbus_call, gsocket, nested_loop, private_context, nested_loop, round_trip, spawn_sync,
       iterations, libcurl, command, dialog, libpq, subprocess_wait, blocked_in_dialog, python_socket, clipboard,
       private_context, nested_loop, dbus_call]
if ARGUMENT == "dialog-first":
    ALL = [dialog, gsocket, dialog, private_context, dbus_call, nested_loop, spawn_sync]
if ARGUMENT == "libpq-start":
    ALL = [command, dialog, libpq, gsocket, private_context]
if ARGUMENT == "download-start":
    ALL = [command, dialog, gsocket, computing, download, nested_loop]
if ARGUMENT == "download":
    ALL = [dialog, download, command, download, gsocket, nested_loop, command]


def step(index):
    if index == len(ALL):
        since("over")
        Gtk.main_quit()
        return False
    try:
        ALL[index]()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    GLib.timeout_add(250, step, index + 1)
    return False


if ARGUMENT == "libpq-start":
    libpq("start")
if ARGUMENT == "download-start":
    download("start")
window = Gtk.Window(title="recognition")
spinner = Gtk.Label(label="a window")
window.add(spinner)
window.show_all()
GLib.timeout_add(400 if ARGUMENT != "dialog-first" else 30, step, 0)
since("idle")
Gtk.main()
