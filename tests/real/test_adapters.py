# SPDX-License-Identifier: MIT
"""The examples of the loops in C: built as people build them, each reports its slow request."""

import subprocess

from support_examples import ExampleCase
from support_run import main


class Adapters(ExampleCase):
    def check(self, name, *modules, package="", more=()):
        for module in modules:
            self.need(module, package)
        program = self.build(name + ".c", "hangdog", *modules, more=more)
        for _ in range(5):  # on a busy machine, the end of the program leaves a worker behind
            reports = self.run_it(program)
            if reports and all(report["complete"] for report in reports):
                break
        hang = self.assert_hang(reports, "handle")
        self.assertEqual("main", hang["loop"]["name"])

    def test_glib(self):
        self.check("glib", "glib-2.0", package="libglib2.0-dev")

    def test_libuv(self):
        self.check("uv", "libuv", package="libuv1-dev")

    def test_libevent(self):
        self.check("libevent", "libevent_core", package="libevent-dev")

    def test_libev(self):
        if subprocess.run(["cc", "-E", "-include", "ev.h", "-x", "c", "/dev/null"], capture_output=True, check=False).returncode != 0:
            self.skipTest("libev is not installed; try: apt-get install libev-dev")
        self.check("ev", more=["-lev"])

    def test_sd_event(self):
        self.check("sd_event", "libsystemd", package="libsystemd-dev")

    def test_epoll(self):
        self.check("epoll")


if __name__ == "__main__":
    main()
