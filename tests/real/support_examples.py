# SPDX-License-Identifier: MIT
#
# The programs of examples/, as people build them: against what is installed, by pkg-config. Each reads requests from
# standard input; the request "slow" takes a second.

import atexit
import functools
import glob
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
import unittest

from support_run import BUILD, HANGDOG, PATIENCE, S, SANITIZER, SOURCE, cached, environment, schema_errors

COMPILERS = {".c": ["cc", "-std=gnu11"], ".cc": ["c++", "-std=c++17"]}
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-g"]


@functools.lru_cache(maxsize=None)
def installed():
    """A folder for all tests of this process, with the installation in `prefix`."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="hangdog-test-"))
    atexit.register(shutil.rmtree, folder, True)
    subprocess.run([cached("CMAKE_COMMAND"), "--install", BUILD, "--prefix", folder + "/prefix"], check=True, timeout=PATIENCE,
                   stdout=subprocess.DEVNULL)
    return folder


_installing = threading.Lock()


@unittest.skipIf(SANITIZER, "the library needs the sanitizer's runtime")
class ExampleCase(unittest.TestCase):
    def setUp(self):
        with _installing:
            self.folder = tempfile.mkdtemp(dir=installed())
        self.prefix = installed() + "/prefix"
        self.libraries = os.path.join(self.prefix, cached("CMAKE_INSTALL_LIBDIR"))

    def flags(self, *words):
        env = environment({"PKG_CONFIG_PATH": self.libraries + "/pkgconfig"})
        return shlex.split(subprocess.run(["pkg-config", *words], env=env, check=True, capture_output=True, text=True).stdout)

    def need(self, module, package):
        """Skips a test whose library is not installed."""
        if subprocess.run(["pkg-config", "--exists", module], check=False).returncode != 0:
            self.skipTest("%s is not installed; try: apt-get install %s" % (module, package))

    def build(self, source, *modules, more=()):
        """Compiles a file of examples/, or a path; the program's path."""
        stem, kind = os.path.splitext(os.path.basename(source))
        program = os.path.join(tempfile.mkdtemp(dir=self.folder), stem)
        path = os.path.join(SOURCE, "examples", source)
        done = subprocess.run([*COMPILERS[kind], *STRICT, path, "-o", program, *more, *self.flags("--cflags", "--libs", *modules),
                               "-Wl,-rpath," + self.libraries], capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        return program

    def run_it(self, *argv, requests="fast\nslow\n", env=None, name=None, expected_error=""):
        """Runs a program to its end with these requests; its reports, with functions."""
        state = tempfile.mkdtemp(dir=self.folder)
        name = name or os.path.basename(argv[0])
        env = environment({"XDG_STATE_HOME": state, "LD_LIBRARY_PATH": self.libraries, **(env or {})})
        done = subprocess.run(argv, input=requests, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn(expected_error, done.stderr)
        self.assertTrue(expected_error or not done.stderr, done.stderr)
        reports = []
        for path in sorted(glob.glob(os.path.join(state, "hangdog", name, "*.json"))):
            shown = subprocess.run([HANGDOG, "show", "--json", path], env=env, check=True, capture_output=True, text=True, timeout=PATIENCE)
            reports.append(json.loads(shown.stdout))
            self.assertEqual([], schema_errors(reports[-1]))
        return reports

    def assert_hang(self, reports, function, seconds=1.0):
        """One hang, in this function, as long as the request."""
        hangs = [report for report in reports if report["kind"] == "hang"]
        self.assertEqual(1, len(hangs), reports)
        names = [frame.get("function") or "" for frame in hangs[0]["hot_stack"]["frames"]]
        self.assertTrue([name for name in names if function in name], names)
        self.assertAlmostEqual(seconds, hangs[0]["duration_ns"] / S, delta=0.3)
        return hangs[0]
