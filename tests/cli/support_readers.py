# SPDX-License-Identifier: MIT
"""Readers of the npm registry that read what `hangdog export` writes. `scripts/install-readers` installs them."""

import json
import os
import subprocess
import unittest

from support_run import PATIENCE, SOURCE

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
