# SPDX-License-Identifier: MIT
"""A server of debug files that accepts queries and does not answer: `show` prints its report soon, and says what is missing."""

import ctypes
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from support_run import HANGDOG, main

MODULES = ("bash", "true", "sleep")
ANSWER_S = 1
SHOW_S_MAX = 15  # on a busy machine; each further try would take ANSWER_S or more


def build_id(path):
    found = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return found.partition("Build ID: ")[2].split()[0]


class SilentServer:
    def __enter__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.kept = []
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def accept(self):
        try:
            while True:
                self.kept.append(self.socket.accept()[0])
        except OSError:
            pass

    def __exit__(self, *unused):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for connection in self.kept:
            connection.close()


class Silent(unittest.TestCase):
    def setUp(self):
        try:
            ctypes.CDLL("libdebuginfod.so.1")
        except OSError:
            self.skipTest("libdebuginfod1 is missing")
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        with subprocess.Popen(["sleep", "60"]) as sleeping:
            dumped = subprocess.run([HANGDOG, "dump", "--json", "--no-symbols", str(sleeping.pid)], capture_output=True, text=True,
                                    check=True)
            sleeping.kill()
        report = json.loads(dumped.stdout)
        frames = report["threads"][0]["stack"]["frames"]
        for name in MODULES:
            path = os.path.realpath(shutil.which(name))
            report["modules"].append({"path": path, "base": "0x10000000", "size": 1 << 20, "build_id": build_id(path)})
            frames.append({"pc": "0x10003000", "module": len(report["modules"]) - 1, "offset": "0x3000", "trust": "cfi"})
        self.report = os.path.join(self.folder, "report.json")
        with open(self.report, "w", encoding="utf-8") as out:
            json.dump(report, out)

    def test_one_wait_for_all_modules(self):
        with SilentServer() as server:
            urls = "http://127.0.0.1:%d/" % server.socket.getsockname()[1]
            begun = time.monotonic()
            shown = subprocess.run([HANGDOG, "show", self.report, "--all-frames"], capture_output=True, text=True, check=True,
                                   timeout=60, env=dict(os.environ, DEBUGINFOD_URLS=urls, DEBUGINFOD_TIMEOUT=str(ANSWER_S),
                                                        DEBUGINFOD_CACHE_PATH=os.path.join(self.folder, "cache"))).stdout
            took = time.monotonic() - begun
            tries = len(server.kept)
        print("%.1f s, %d connections" % (took, tries))
        self.assertIn("nanosleep", shown)
        said = " ".join(shown.split())
        self.assertIn("were not looked up: no server of $DEBUGINFOD_URLS answered in %d s; to wait longer, set "
                      "DEBUGINFOD_TIMEOUT=60" % ANSWER_S, said)
        self.assertIn(tries, (1, 2))  # libdebuginfod may try again in the same moment
        self.assertLess(took, SHOW_S_MAX)


if __name__ == "__main__":
    main()
