# SPDX-License-Identifier: MIT
"""A report of `hangdog run` says where its program ran: host, systemd unit and container, with name and image. The
cgroups are made by hand, as systemd and docker make them."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from support_run import HANGDOG, environment, main

STALL = "import asyncio, time\nasync def f():\n await asyncio.sleep(0.1)\n time.sleep(0.6)\n await asyncio.sleep(0.1)\nasyncio.run(f())"
TREES = ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified")


def cgroup_tree():
    """The folder of a tree that names units, if this process may make folders in it."""
    for tree in TREES:
        if os.path.isfile(tree + "/cgroup.procs") and os.access(tree, os.W_OK):
            return tree
    return None


class Origin(unittest.TestCase):
    def setUp(self):
        self.spool = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, self.spool, ignore_errors=True)

    def hosts(self, *options, enter=None):
        subprocess.run([HANGDOG, "run", "--spool", self.spool, *options, "--", "/usr/bin/python3", "-c", STALL],
                       check=True, capture_output=True, env=environment(), timeout=60, preexec_fn=enter)
        found = {}
        for name in os.listdir(self.spool):
            if name.endswith(".json"):
                with open(os.path.join(self.spool, name), encoding="utf-8") as file:
                    report = json.load(file)
                found[report["kind"]] = report["host"]
        self.assertEqual({"hang", "session"}, set(found))
        return found

    def test_host(self):
        for host in self.hosts().values():
            self.assertEqual(socket.gethostname(), host["name"])

    def test_no_host_without_paths(self):
        for host in self.hosts("--without-paths").values():
            self.assertNotIn("name", host)

    def test_unit_and_container(self):
        tree = cgroup_tree()
        if tree is None:
            self.skipTest("needs a cgroup tree that it may write; run it as root")
        container = secrets.token_hex(32)
        unit, scope = tree + "/hangdog-test-%d.service" % os.getpid(), "/docker-%s.scope" % container
        files = "/var/lib/docker/containers/" + container
        for folder in (unit, unit + scope):
            os.mkdir(folder)
            self.addCleanup(os.rmdir, folder)
        os.makedirs(files)
        self.addCleanup(shutil.rmtree, files)
        with open(files + "/config.v2.json", "w", encoding="utf-8") as file:
            json.dump({"Name": "/shop-web-1", "Config": {"Image": "nginx:\x1b[31m1.25"}}, file)

        def enter():
            with open(unit + scope + "/cgroup.procs", "w", encoding="utf-8") as procs:
                procs.write("0")
        for host in self.hosts(enter=enter).values():
            self.assertEqual(os.path.basename(unit), host["unit"])
            self.assertEqual({"id": container, "name": "shop-web-1", "image": "nginx:?[31m1.25"}, host["container"])
        shown = subprocess.run([HANGDOG, "show", "--spool", self.spool], check=True, capture_output=True, text=True, env=environment()).stdout
        self.assertIn("%s on %s, container shop-web-1 (nginx:?[31m1.25)" % (os.path.basename(unit), socket.gethostname()),
                      " ".join(shown.split()))


if __name__ == "__main__":
    main()
