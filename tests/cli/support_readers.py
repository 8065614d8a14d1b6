# SPDX-License-Identifier: MIT
"""Readers of the npm registry that read what `hangdog export` writes. `scripts/install-readers` installs them."""

import json
import os
import subprocess
import tempfile
import unittest

from support_run import PATIENCE, SOURCE, wait_until

READERS = os.path.join(SOURCE, "build/readers")
NODE = os.path.join(SOURCE, "build/node/24/bin/node")


def need_readers():
    """Skips a test where the readers are not installed."""
    for path, script in ((os.path.join(READERS, "installed"), "install-readers"), (NODE, "install-nodes")):
        if not os.path.exists(path):
            raise unittest.SkipTest("the readers are not installed: scripts/" + script)


def package(path):
    """A file of the installed packages."""
    need_readers()
    return os.path.join(READERS, "node_modules", path)


def node(code, *arguments, **more):
    """What a program prints as JSON. It finds the packages."""
    need_readers()
    done = subprocess.run([NODE, "-e", code, *map(str, arguments)], cwd=READERS, capture_output=True, timeout=2 * PATIENCE,
                          check=False, env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **more})
    if done.returncode != 0:
        raise AssertionError("%s%s" % (done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")))
    return json.loads(done.stdout)


class FirefoxProfiler:
    """The Firefox Profiler's own code with a profile; its command asks it."""

    def __init__(self, path):
        self.cli = [NODE, package("@firefox-devtools/profiler-cli/dist/profiler-cli.js")]
        self.folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")  # pylint: disable=consider-using-with
        self.env = {"PATH": "/usr/bin:/bin", "HOME": self.folder.name, "PROFILER_CLI_SESSION_DIR": self.folder.name,
                    "PROFILER_CLI_NO_SYMBOLICATE": "1"}
        self.process = subprocess.Popen([*self.cli, "--daemon", path, "--session", "test"],  # pylint: disable=consider-using-with
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env)
        try:
            wait_until(lambda: self.process.poll() is not None or self._run("status").returncode == 0, "the Firefox Profiler")
        except AssertionError:
            self.close()
            raise

    def _run(self, *arguments):
        return subprocess.run([*self.cli, *arguments, "--session", "test"], capture_output=True, text=True, env=self.env,
                              timeout=2 * PATIENCE, check=False)

    def ask(self, *arguments):
        """The answer to one of its commands."""
        done = self._run(*arguments, "--json")
        if done.returncode != 0:
            raise AssertionError("%s%s" % (done.stdout, done.stderr))
        return json.loads(done.stdout)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()
