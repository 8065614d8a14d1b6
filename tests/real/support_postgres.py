# SPDX-License-Identifier: MIT
"""A PostgreSQL server on loopback, from Debian's package, in a folder of the test."""

import contextlib
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from support_run import free_port, wait_until

NOBODY = 65534  # root may not run the server


class Postgres:
    """Skips the tests where PostgreSQL is not installed."""

    def __init__(self, before=()):
        """`before`: words of a command that starts the server."""
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not programs:
            raise unittest.SkipTest("postgresql is not installed")
        self.programs, self.before = programs[-1], before
        self.folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        if self.user:
            os.chown(self.folder, NOBODY, NOBODY)
        self.port = free_port()
        self.url = "postgresql://hangdog@127.0.0.1:%d/postgres" % self.port
        self.run("initdb", "-D", self.data(), "-U", "hangdog", "--auth=trust", "--no-sync", "--no-locale", "-E", "UTF8")
        self.start()

    def data(self):
        return os.path.join(self.folder, "data")

    def run(self, program, *options):
        return subprocess.run([os.path.join(self.programs, program), *options], check=True, capture_output=True,
                              text=True, cwd=self.folder, **self.user).stdout

    def start(self):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [*self.before, os.path.join(self.programs, "postgres"), "-D", self.data(), "-p", str(self.port), "-h", "127.0.0.1",
             "-k", self.folder, "-F"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=self.folder, **self.user)
        wait_until(self.answers, "the start of PostgreSQL")

    def answers(self):
        try:
            return self.ask("SELECT 1") == "1"
        except subprocess.CalledProcessError:
            return False

    def ask(self, sql):
        return self.run("psql", "-X", "-A", "-t", "-d", self.url, "-c", sql).strip()

    @contextlib.contextmanager
    def stopped(self):
        """Neither an answer nor an end of a connection comes from it."""
        pids = [self.process.pid, *map(int, self.ask("SELECT pid FROM pg_stat_activity").split())]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def kill(self):
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
