# SPDX-License-Identifier: MIT
#
# Tests that mostly wait for a program are run side by side.

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from support_run import Program, Together, environment

PYTHON = "/usr/bin/python3"
# Steps: a number waits for so long, in a loop of select on a pair of sockets, or after "serves" on a listening socket,
# which is evidence of a loop; "hangN" sleeps; "exec CODE" does.
LOOP = """
import os, select, shutil, socket, sys, time
r = socket.socketpair()
for step in sys.argv[1:]:
    if step == "serves": r = [socket.create_server(("127.0.0.1", 0))]
    elif step.startswith("hang"): time.sleep(float(step[4:]))
    elif step.startswith("exec"): exec(step[4:])
    else: [select.select(r, [], [], 0.1) for _ in range(int(float(step) * 10))]
"""


# For LD_PRELOAD, where debug information is read: as long as there is a file of this name, none comes.
STUCK = """
#include <unistd.h>
const char *dwfl_module_addrinfo(void) {
    while (access("stuck", F_OK) == 0) usleep(1000);
    return 0;
}
"""


def stuck(folder):
    """A file for LD_PRELOAD."""
    path = os.path.join(folder, "stuck.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=STUCK, text=True, check=True)
    return path


def loop(*steps):
    return [PYTHON, "-I", "-c", LOOP, *map(str, steps)]


def write(folder, file, value):
    with open(os.path.join(folder, file), "w", encoding="ascii") as out:
        out.write(str(value))


def group_of_memory():
    """A control group of version 1 in the one that we are in, or None."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        own = re.search("^[0-9]+:memory:(.*)$", file.read(), re.MULTILINE)
    for path in (own.group(1), "/") if own else ():
        try:
            return tempfile.mkdtemp(prefix="hangdog-test-", dir="/sys/fs/cgroup/memory" + path)
        except OSError:
            pass
    return None


def run_in_group(group, argv, **env):
    """A command whose processes are all in that group."""
    return subprocess.run(["/bin/sh", "-c", 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"', "sh", group, *argv],
                          env=environment(env), capture_output=True, text=True, timeout=120, check=False)


class SideBySide(unittest.TestCase):
    """Every method beside_* is a test; those of one class run at the same time, on an object of its own each."""

    maxDiff = None

    def __init_subclass__(cls, **more):
        super().__init_subclass__(**more)
        for name in [name for name in dir(cls) if name.startswith("beside_")]:
            setattr(cls, "test_" + name[7:], lambda self, name=name: self.together[name])

    @classmethod
    def setUpClass(cls):
        cls.together, cls.objects = Together(), []
        for name in [name for name in dir(cls) if name.startswith("beside_")]:
            one = cls("test_" + name[7:])
            cls.objects.append(one)
            cls.together.start(name, getattr(one, name))
        cls.together.join()

    @classmethod
    def tearDownClass(cls):
        for one in cls.objects:
            one.doCleanups()

    def start(self, argv, options=(), **more):
        program = Program(argv, options=options, **more)
        self.addCleanup(program.close)
        return program

    def make_folder(self):
        folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, folder, True)
        return folder
