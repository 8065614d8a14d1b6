#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What holds reports back: a metered network, no network, no Wi-Fi, the day's bytes. NetworkManager is a stand-in on a bus of its
own; the bus is real. And the units that systemd gets."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from support_fleet import Collector, small_report
from support_run import BUILD, HANGDOG, PATIENCE, environment, main, wait_until
from support_unit_filter import exposure

# Sets a property for each line "NAME VALUE" of its input.
MANAGER = """
import sys
from gi.repository import Gio, GLib
NAME = "org.freedesktop.NetworkManager"
values = {"State": 70, "Metered": 4, "PrimaryConnectionType": "802-3-ethernet"}
xml = "<node><interface name='%s'>%s</interface></node>" % (NAME, "".join(
    "<property name='%s' type='%s' access='read'/>" % (name, "s" if isinstance(value, str) else "u") for name, value in values.items()))
bus = Gio.DBusConnection.new_for_address_sync(
    sys.argv[1], Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, None, None)
def read(_bus, _sender, _path, _interface, name):
    return GLib.Variant("s" if isinstance(values[name], str) else "u", values[name])
bus.register_object("/org/freedesktop/NetworkManager", Gio.DBusNodeInfo.new_for_xml(xml).interfaces[0], None, read, None)
bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
              GLib.Variant("(su)", (NAME, 0)), None, 0, -1, None)
def line(_channel, _condition):
    text = sys.stdin.readline()
    if not text:
        sys.exit(0)
    name, value = text.split()
    values[name] = value if isinstance(values[name], str) else int(value)
    print("set", flush=True)
    return True
GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, line)
print("ready", flush=True)
GLib.MainLoop().run()
"""


class Network(unittest.TestCase):
    def setUp(self):
        self.collector = Collector()
        self.addCleanup(self.collector.close)
        self.folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.spool = os.path.join(self.folder, "hangdog", "shop")
        os.makedirs(self.spool)
        self.bus = "unix:path=" + os.path.join(self.folder, "no-bus")

    def start_manager(self):
        if not os.access("/usr/bin/dbus-daemon", os.X_OK) or subprocess.run(
                ["/usr/bin/python3", "-c", "import gi"], check=False, capture_output=True).returncode != 0:
            self.skipTest("dbus-daemon or python3-gi is not installed: scripts/install-dependencies test")
        self.bus = "unix:path=" + os.path.join(self.folder, "bus")
        # pylint: disable=consider-using-with
        daemon = subprocess.Popen(["/usr/bin/dbus-daemon", "--session", "--nofork", "--print-address", "--address=" + self.bus],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        self.addCleanup(daemon.stdout.close)
        self.assertTrue(daemon.stdout.readline())
        self.manager = subprocess.Popen(["/usr/bin/python3", "-c", MANAGER, self.bus], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.addCleanup(self.manager.wait)
        self.addCleanup(self.manager.kill)
        self.addCleanup(self.manager.stdout.close)
        self.addCleanup(self.manager.stdin.close)
        self.assertEqual("ready\n", self.manager.stdout.readline())

    def set(self, name, value):
        self.manager.stdin.write("%s %s\n" % (name, value))
        self.manager.stdin.flush()
        self.assertEqual("set\n", self.manager.stdout.readline())

    def write(self, *reports):
        for report in reports:
            with open(os.path.join(self.spool, report["id"] + ".json"), "w", encoding="utf-8") as file:
                file.write(json.dumps(report))

    def left(self):
        return len([name for name in os.listdir(self.spool) if name.endswith(".json")])

    def command(self, *options):
        return [HANGDOG, "upload", "--to", self.collector.url, *options]

    def environment(self):
        return environment({"HANGDOG_KEY": self.collector.send_key, "DBUS_SYSTEM_BUS_ADDRESS": self.bus,
                            "XDG_STATE_HOME": self.folder})

    def upload(self, *options, status=0):
        done = subprocess.run(self.command(*options), env=self.environment(), capture_output=True, text=True, timeout=PATIENCE,
                              check=False)
        self.assertEqual(status, done.returncode, done.stderr)
        return done.stderr

    def test_a_metered_network(self):
        self.start_manager()
        for metered in (1, 3):  # yes, and a guess
            self.write(small_report())
            self.set("Metered", metered)
            self.assertIn("cannot send: the network is metered", self.upload(status=1))
            self.assertEqual(1, self.left())
            self.upload("--metered")
            self.assertEqual(0, self.left())
        for metered in (0, 2, 4):
            self.write(small_report())
            self.set("Metered", metered)
            self.upload()
            self.assertEqual(0, self.left())

    def test_offline_and_another_network_than_wifi(self):
        self.start_manager()
        self.write(small_report())
        self.set("State", 20)
        self.assertIn("the machine is offline", self.upload("--metered", status=1))
        self.set("State", 70)
        self.set("PrimaryConnectionType", "gsm")
        self.assertIn("the network is no Wi-Fi", self.upload("--wifi-only", status=1))
        self.assertEqual(1, self.left())
        self.set("PrimaryConnectionType", "802-11-wireless")
        self.upload("--wifi-only")
        self.assertEqual(0, self.left())

    def test_without_a_bus_reports_go_out(self):
        self.write(small_report())
        self.upload("--wifi-only")
        self.assertEqual(0, self.left())

    def test_watch_sends_once_the_network_costs_nothing(self):
        self.start_manager()
        self.set("Metered", 1)
        self.write(small_report())
        with open(os.path.join(self.folder, "errors"), "w+", encoding="utf-8") as errors, \
                subprocess.Popen(self.command("--watch", "--every", "1s"), env=self.environment(), stderr=errors) as process:
            def said():
                with open(os.path.join(self.folder, "errors"), encoding="utf-8") as file:
                    return file.read()
            wait_until(lambda: "reports wait: the network is metered" in said(), "the reason")
            self.assertEqual(1, self.left())
            self.set("Metered", 2)
            wait_until(lambda: self.left() == 0, "the report to go")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(0, process.wait(PATIENCE))
        self.assertEqual(1, said().count("reports wait"))

    def test_a_days_bytes(self):
        self.write(*(small_report(note=os.urandom(1500).hex()) for _ in range(20)))
        self.assertIn("today's bytes are used up", self.upload("--daily-bytes", "9000", status=1))
        left = self.left()
        self.assertTrue(10 < left < 20, left)
        with open(os.path.join(self.folder, "hangdog", ".upload-bytes"), encoding="ascii") as file:
            day, used = map(int, file.read().split())
        self.assertTrue(4000 < used <= 9000, used)
        self.upload("--daily-bytes", "9000", status=1)
        self.assertEqual(left, self.left())
        with open(os.path.join(self.folder, "hangdog", ".upload-bytes"), "w", encoding="ascii") as file:
            file.write("%d %d\n" % (day - 1, used))  # the next day
        self.upload("--daily-bytes", "9000", status=1)
        self.assertLess(self.left(), left)
        self.upload("--daily-bytes", "1000000")
        self.assertEqual(0, self.left())


class Units(unittest.TestCase):
    def test_systemd_takes_the_units(self):
        for kind in ("system", "user"):
            path = os.path.join(BUILD, "systemd", kind, "hangdog-upload.service")
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertNotRegex(text, "@[A-Z]")
            self.assertIn("hangdog upload --watch\n", text)
            if not os.access("/usr/bin/systemd-analyze", os.X_OK):
                continue
            with tempfile.TemporaryDirectory() as folder:  # with a command that is there
                unit = os.path.join(folder, "hangdog-upload.service")
                with open(unit, "w", encoding="utf-8") as file:
                    file.write(text.replace(text.partition("ExecStart=")[2].split()[0], HANGDOG))
                done = subprocess.run(["/usr/bin/systemd-analyze", "verify", "--man=no", "--" + kind, unit], capture_output=True, text=True,
                                      check=False, timeout=PATIENCE)
                self.assertNotIn("hangdog-upload.service:", done.stderr)
                if kind == "system":
                    self.assertLess(exposure(unit), 3)


if __name__ == "__main__":
    main()
