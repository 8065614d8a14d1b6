# SPDX-License-Identifier: MIT
"""A disk that is full, a small one in a mount namespace: what was acknowledged stays, and with room it goes on."""

import contextlib
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

from support_fleet import Collector, need_fleet, small_report
from support_load import Load
from support_run import PATIENCE, main, wait_until

INSIDE = "HANGDOG_TEST_DISK"
UNSHARE = ["/usr/bin/unshare", "--user", "--map-root-user", "--mount"]
MIB = 6


class OnDisk(Collector):
    """Its store and debug files are on the small disk; its log is not."""

    def start(self, *options):
        self.store = os.path.join(os.environ[INSIDE], "store.db")
        super().start(*options)


def large_report():
    """4 KB that do not compress."""
    return small_report("full", started_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                        host={"os": "linux", "arch": "x86_64", "kernel": os.urandom(4000).hex()})


def set_room(mib):
    subprocess.run(["/usr/bin/mount", "-o", "remount,size=%dm" % mib, os.environ[INSIDE]], check=True)


class FullDisk(unittest.TestCase):
    def setUp(self):
        need_fleet()
        folder = os.environ[INSIDE]
        subprocess.run(["/usr/bin/mount", "-t", "tmpfs", "-o", "size=%dm" % MIB, "hangdog-test", folder], check=True)
        self.addCleanup(subprocess.run, ["/usr/bin/umount", "-l", folder], check=False)
        self.collector = OnDisk()
        self.addCleanup(self.collector.close)
        self.stored, self.refused = [], []

    def send(self, count=8):
        """Its status; what it acknowledged is in self.stored."""
        batch = [large_report() for _ in range(count)]
        status, answer = self.collector.send(batch)
        (self.stored if status == 200 else self.refused).extend(report["id"] for report in batch)
        self.assertIn(status, (200, 507), answer)
        if status == 507:
            self.assertEqual("the store is full", answer["error"])
        return status

    def fill(self):
        for count in 8, 1:  # single ones into the last room
            self.assertIn(507, (self.send(count) for _ in range(MIB * 1024 // count)))
        self.assertGreater(len(self.stored), 100)

    def assert_kept(self):
        """Each acknowledged report is there once, and no refused one."""
        counts = self.collector.get("overview?days=30")["groups"]
        self.assertEqual([len(self.stored)], [group["count"] for group in counts])
        for place in {0, 1, len(self.stored) // 2, len(self.stored) - 2, len(self.stored) - 1}:
            self.assertEqual(self.stored[place], self.collector.get("reports/" + self.stored[place])["id"])
        for one in self.refused:
            self.assertIsNone(self.collector.get("reports/" + one))

    def test_it_refuses_and_goes_on_with_room(self):
        self.fill()
        self.assertEqual(503, self.collector.request("GET", "/healthz")[0])
        self.assert_kept()
        self.assertEqual(507, self.send())
        set_room(3 * MIB)
        self.assertEqual(200, self.send())
        wait_until(lambda: self.collector.request("GET", "/healthz")[0] == 200, "its health")
        self.assert_kept()
        self.assertEqual(0, self.collector.stop())

    def test_a_kill_on_the_full_disk(self):
        self.fill()
        self.collector.kill()
        set_room(3 * MIB)
        self.collector.start()
        self.assert_kept()
        self.assertEqual(200, self.send())
        self.assert_kept()

    def test_a_kill_at_full_load(self):
        """Reports come faster than they get into their tables."""
        with Load(self.collector) as load:
            wait_until(lambda: 507 in load.statuses(), "the end of the room")
            for _ in range(3):
                self.collector.kill()
                self.collector.start()
                load.statuses()
                wait_until(lambda: 507 in load.statuses(), "an answer after the kill")
            self.collector.kill()
            set_room(3 * MIB)
            self.collector.start()
            before = load.count()
            wait_until(lambda: load.count() > before + 1000, "reports to be stored again")
        self.assertEqual(0, self.collector.stop())
        with sqlite3.connect(self.collector.store) as store:
            stored = [one for (one,) in store.execute("SELECT id FROM report")]
            (integrity,) = store.execute("PRAGMA integrity_check").fetchone()
        store.close()
        print("%d acknowledged, %d stored" % (load.count(), len(stored)))
        self.assertEqual("ok", integrity)
        self.assertEqual(set(), load.acknowledged() - set(stored), "acknowledged and lost")
        self.assertEqual(len(stored), len(set(stored)))

    def test_a_start_on_the_full_disk(self):
        """There is not always room for SQLite's own files: then it says so, and starts when there is."""
        self.fill()
        self.assertEqual(0, self.collector.stop())
        with open(os.path.join(os.environ[INSIDE], "others"), "wb", buffering=0) as others, contextlib.suppress(OSError):
            while others.write(bytes(4096)):
                pass
        try:
            self.collector.start()
        except AssertionError as error:
            self.assertIn("the collector ended with 1: hangdog: cannot use the store", str(error))
            self.assertIn("database or disk is full", str(error))
        else:
            self.assert_kept()
            self.assertEqual(507, self.send())
            self.assertEqual(0, self.collector.stop())
        os.unlink(os.path.join(os.environ[INSIDE], "others"))
        set_room(3 * MIB)
        self.collector.start()
        self.assertEqual(200, self.send())
        self.assert_kept()

    def test_a_debug_file(self):
        self.fill()
        status, _, body = self.collector.request("POST", "/api/v1/symbols/%s?offset=0&size=%d" % ("ab" * 20, 1 << 20), bytes(1 << 20),
                                                 {"Content-Type": "application/octet-stream"}, self.collector.admin_key)
        self.assertEqual(507, status, body)
        state = self.collector.get("symbols/" + "ab" * 20)
        self.assertTrue(state is None or not state["complete"], state)
        self.assert_kept()


def start_inside():
    """The tests again, in namespaces of their own; 77 where these are not permitted."""
    if not os.path.exists(UNSHARE[0]) or subprocess.run([*UNSHARE, "/usr/bin/true"], check=False, capture_output=True).returncode != 0:
        print("needs user namespaces: %s does not run here" % " ".join(UNSHARE))
        return 77
    with tempfile.TemporaryDirectory(prefix="hangdog-test-") as folder:
        started = time.monotonic()
        status = subprocess.run([*UNSHARE, sys.executable, *sys.argv], check=False, timeout=5 * PATIENCE,
                                env={**os.environ, INSIDE: folder}).returncode
        print("in a namespace of its own: %.1f s" % (time.monotonic() - started))
        return status


if __name__ == "__main__":
    if INSIDE not in os.environ:
        sys.exit(start_inside())
    main()
