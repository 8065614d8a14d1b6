#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# The other party of a wait: the service of a D-Bus call by each library, the clipboard's owner, the name server of a look-up, the
# file system that a process answers for.

import os
import shutil
import signal
import socket
import subprocess
import time

from support_run import SOURCE, SANITIZER, RealCase, environment, ignore, main_side_by_side, wait_until
from support_x_server import x_server

PYTHON = "/usr/bin/python3"
MUTE = os.path.join(SOURCE, "tests/recognition/programs/mute_peer.py")
LOOP = """
import asyncio, os, socket, sys, threading
async def main():
    for _ in range(20):
        await asyncio.sleep(0.05)
    try:
        %s
    except Exception as error:
        print(error)
    await asyncio.sleep(0.2)
%s
asyncio.run(main())
"""
GLIB = """import gi
from gi.repository import Gio, GLib
bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
other = lambda: bus.call_sync("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId", None, None, 0, 1500, None)
other()"""
CALL = '"org.hangdog.Mute", "/org/hangdog", "org.hangdog.Files"'
CALLS = {
    "GLib": ('bus.call_sync(%s, "Open", None, None, 0, 1500, None)' % CALL, GLIB,
             "org.hangdog.Mute in g_dbus_connection_call_sync"),
    "a GLib proxy": ('proxy.call_sync("Open", None, 0, 1500, None)', GLIB +
                     "\nproxy = Gio.DBusProxy.new_sync(bus, Gio.DBusProxyFlags(3), None, %s, None)" % CALL,
                     ":1.0 (org.hangdog.Files) in g_dbus_proxy_call_sync"),
    "libdbus": ('bus.call_blocking(%s, "Open", "", (), timeout=1.5)' % CALL, """import dbus
bus = dbus.SessionBus()
bus.call_blocking("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId", "", ())""",
                "org.hangdog.Mute in dbus_connection_send_with_reply_and_block"),
    "Qt": ('bus.call(message, QDBus.Block, 1500)', """from PyQt5.QtCore import QCoreApplication
from PyQt5.QtDBus import QDBus, QDBusConnection, QDBusMessage
app, bus = QCoreApplication([]), QDBusConnection.sessionBus()
message = QDBusMessage.createMethodCall(%s, "Open")""" % CALL, "org.hangdog.Mute in QDBusConnection::call"),
    "sd-bus": ('systemd.sd_bus_call_method(bus, b"org.hangdog.Mute", b"/org/hangdog", b"org.hangdog.Files", b"Open", None, None, b"")',
               """import ctypes
systemd, bus = ctypes.CDLL("libsystemd.so.0"), ctypes.c_void_p()
systemd.sd_bus_open_user(ctypes.byref(bus))
systemd.sd_bus_set_method_call_timeout(bus, ctypes.c_uint64(1500000))""", "org.hangdog.Mute in sd_bus_call_method"),
}
PASTE = """
import sys
from PyQt5.QtCore import QTimer
from PyQt5.QtWidgets import QApplication
app = QApplication(sys.argv)
def paste_text():
    print("pastes", flush=True)
    print(QApplication.clipboard().text(), flush=True)
    QTimer.singleShot(300, app.quit)
QTimer.singleShot(1000, paste_text)
app.exec_()
"""


def needs(test, code, package):
    if subprocess.run([PYTHON, "-c", code], check=False, stderr=subprocess.DEVNULL, env=environment()).returncode != 0:
        test.skipTest("not here: %s; scripts/install-dependencies test" % package)


class Parties(RealCase):
    def party_of(self, program, role):
        program.wait()
        hangs = [report for report in program.reports() if report["kind"] == "hang"]
        self.assertEqual(1, len(hangs), program.errors + program.output)
        self.assert_valid(hangs[0])
        if hangs[0]["cause"]["kind"] == "starved":
            ignore(role, "cause starved")
            self.skipTest("no CPU was free")
        self.assertEqual(role, hangs[0]["cause"].get("party", {}).get("role"), hangs[0]["cause"])
        return hangs[0]["cause"]

    def bus(self):
        """A session bus with a service that never answers."""
        def start(argv):
            # pylint: disable=consider-using-with
            process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(env), text=True)
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            return process, process.stdout.readline().strip()
        env = {}
        env["DBUS_SESSION_BUS_ADDRESS"] = start(["dbus-daemon", "--session", "--nofork", "--print-address"])[1]
        start([PYTHON, MUTE])[0].send_signal(signal.SIGSTOP)
        return env

    def test_a_call_names_its_service(self):
        needs(self, "import gi, dbus, PyQt5.QtDBus", "python3-gi, python3-dbus, python3-pyqt5")
        env = self.bus()
        programs = {name: self.program([PYTHON, "-c", LOOP % (call, setup)], env=env) for name, (call, setup, _) in CALLS.items()}
        for name, program in programs.items():
            with self.subTest(name):
                cause = self.party_of(program, "service")
                self.assertTrue(cause["detail"].startswith("waited for the D-Bus service " + CALLS[name][2]), cause)
                self.assertEqual("network", cause["kind"])

    def test_the_clipboard_waits_for_its_owner(self):
        needs(self, "import PyQt5.QtWidgets", "python3-pyqt5")
        if not shutil.which("xclip") or not shutil.which("Xvfb"):
            self.skipTest("not here: xclip, xvfb; scripts/install-dependencies test")
        with x_server() as env:
            with subprocess.Popen(["xclip", "-quiet", "-selection", "clipboard"], stdin=subprocess.PIPE, env=environment(env),
                                  stderr=subprocess.DEVNULL) as owner:
                owner.stdin.write(b"text")
                owner.stdin.close()
                time.sleep(0.5)
                owner.send_signal(signal.SIGSTOP)
                program = self.program([PYTHON, "-c", PASTE], env=env)
                wait_until(lambda: "pastes" in program.output, "the paste")
                time.sleep(1)
                owner.send_signal(signal.SIGCONT)
                program.wait()
                owner.kill()
        hangs = [report for report in program.reports() if report["kind"] == "hang"]
        self.assertEqual(1, len(hangs), program.errors + program.output)
        self.assertRegex(hangs[0]["cause"]["detail"], "^waited for the clipboard's owner in QClipboard::text")
        self.assertIn("text", program.output.split())

    def test_a_look_up_names_its_server(self):
        if os.getuid() != 0:
            self.skipTest("only root has a resolv.conf of its own")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind(("127.0.0.99", 53))
            settings = os.path.join(self.folder(), "resolv.conf")
            with open(settings, "w", encoding="ascii") as file:
                file.write("nameserver 127.0.0.99\noptions timeout:1 attempts:1\n")
            mounts = "mount --bind %s /etc/resolv.conf && exec %s -c \"$0\"" % (settings, PYTHON)
            code = LOOP % ('socket.getaddrinfo("slow.example", 80)', "")
            argv = ["unshare", "-m", "sh", "-c", mounts, code]
            with_names, without = self.program(argv), self.program(argv, ("--without-paths",))
            cause = self.party_of(with_names, "server")
            self.assertEqual("127.0.0.99", cause["party"]["name"])
            self.assertEqual("waited for the name server 127.0.0.99 in getaddrinfo", cause["detail"].split(" (")[0])
            self.assertNotIn("127.0.0", str(self.party_of(without, "server")))

    def test_a_path_names_its_file_system(self):
        folder = self.folder()
        behind, _ = self.stalling_disk(folder)
        call = "threading.Timer(1.5, os.unlink, [stall]).start(), open(stall, 'w').close(), open('./mounted/../mounted/%d.txt' % os.getpid(), 'w')"
        code = LOOP.replace("%s", "{}").format(call, "os.chdir(%r)\nstall = %r" % (folder, behind + "/stall"))
        cause = self.party_of(self.program([PYTHON, "-c", code]), "mount")
        self.assertTrue(cause["detail"].startswith("waited for the FUSE file system stallfs at mounted"), cause)
        without = self.party_of(self.program([PYTHON, "-c", code], ("--without-paths",)), "mount")
        self.assertTrue(without["detail"].startswith("waited for the disk"), without)
        self.assertNotIn("stallfs", str(without))


if __name__ == "__main__":
    if SANITIZER:
        print("the programs do not run with a sanitizer's runtime")
        raise SystemExit(77)
    main_side_by_side()
