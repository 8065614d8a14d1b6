# SPDX-License-Identifier: MIT
"""What is installed finds what belongs to it, in whatever folders the build was configured for; and programs outside of the
tree find the library, by pkg-config and by CMake."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from support_run import BUILD, SANITIZER, cached, environment, main

PROGRAM = """
#include <hangdog/hangdog.h>
#include <poll.h>
#include <unistd.h>

int main(int argc, char **argv) {
    hangdog_options options = {.size = sizeof options, .spool = argv[argc - 1]};
    for (int i = 0; i < HANGDOG_STATES; i++) {
        options.threshold_ns[i] = 500000000;
    }
    hangdog_start(&options);
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    for (int i = 0; i < 3; i++) {
        hangdog_before_wait(loop);
        poll(0, 0, 50);
        hangdog_after_wait(loop);
    }
    usleep(1500000); /* a hang */
    hangdog_before_wait(loop);
    poll(0, 0, 500);
    hangdog_after_wait(loop);
    return hangdog_stop();
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(outside LANGUAGES C)
find_package(hangdog %s REQUIRED)
foreach(kind hangdog static)
  add_executable(with-${kind} program.c)
  target_link_libraries(with-${kind} PRIVATE hangdog::${kind})
endforeach()
"""


@unittest.skipIf(any(os.path.isabs(cached("CMAKE_INSTALL_" + name)) for name in ("BINDIR", "LIBDIR", "DATAROOTDIR")),
                 "configured for folders that are not below a prefix")
class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="hangdog-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.prefix = os.path.join(cls.folder, "a prefix")
        subprocess.run([cached("CMAKE_COMMAND"), "--install", BUILD, "--prefix", cls.prefix], check=True, timeout=60,
                       stdout=subprocess.DEVNULL)
        with open(os.path.join(cls.folder, "program.c"), "w", encoding="ascii") as file:
            file.write(PROGRAM)
        with open(os.path.join(cls.folder, "plain.c"), "w", encoding="ascii") as file:
            file.write("int main(void) { return 0; }\n")

    def path(self, place, *names):
        return os.path.join(self.prefix, cached("CMAKE_INSTALL_" + place), *names)

    def run_it(self, *words, **options):
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False, **options)
        self.assertEqual(0, done.returncode, "%s\n%s" % (words, done.stdout + done.stderr))
        return done.stdout

    def test_the_command_finds_its_library(self):
        self.assertTrue(os.path.exists(self.path("LIBDIR", "libhangdog-preload.so")))
        done = subprocess.run([self.path("BINDIR", "hangdog"), "run", "--spool", "spool", "--", "true"], cwd=self.folder,
                              env=environment(), capture_output=True, text=True, timeout=60, check=True)
        self.assertRegex(done.stderr, r"\Ahangdog: true ran for .*no event loop")

    def test_pages_and_completions_are_where_their_programs_look(self):
        for name in ("man/man1/hangdog.1", "man/man1/hangdog-run.1", "man/man5/hangdog-report.5",
                     "bash-completion/completions/hangdog", "zsh/site-functions/_hangdog",
                     "fish/vendor_completions.d/hangdog.fish"):
            self.assertTrue(os.path.exists(self.path("DATAROOTDIR", name)), name)
        if shutil.which("man"):
            env = environment({"MANPATH": self.path("DATAROOTDIR", "man"), "PATH": os.environ["PATH"]})
            self.assertIn("hangdog-list - ", self.run_it("man", "hangdog-list", env=env))

    def assert_watches(self, program, shared):
        """It links the library as it should, and reports its hang."""
        env = environment({"LD_LIBRARY_PATH": self.path("LIBDIR")})
        self.assertEqual(shared, "libhangdog.so" in self.run_it("ldd", program, env=env))
        spool = tempfile.mkdtemp(dir=self.folder)
        self.run_it(program, spool, env=env)
        kinds = []
        for name in os.listdir(spool):
            if name.endswith(".json"):
                with open(os.path.join(spool, name), encoding="utf-8") as file:
                    kinds.append(json.load(file)["kind"])
        self.assertIn("hang", kinds)

    @unittest.skipIf(SANITIZER, "the library needs the sanitizer's runtime")
    def test_a_program_with_pkg_config(self):
        env = environment({"PKG_CONFIG_PATH": self.path("LIBDIR", "pkgconfig"), "PATH": os.environ["PATH"]})
        script = 'eval "cc program.c -o $1 $2 $(pkg-config --cflags --libs hangdog $3)"' # it quotes the space
        self.run_it("sh", "-c", script, "sh", "by-pkg-config", "", "", env=env)
        self.assert_watches("./by-pkg-config", True)
        self.run_it("sh", "-c", script, "sh", "by-pkg-config-static", "-static", "--static", env=env)

    @unittest.skipIf(SANITIZER, "the library needs the sanitizer's runtime")
    def test_a_traced_program_with_pkg_config(self):
        env = environment({"PKG_CONFIG_PATH": self.path("LIBDIR", "pkgconfig"), "PATH": os.environ["PATH"]})
        self.run_it("sh", "-c", 'eval "cc plain.c -o traced $(pkg-config --cflags --libs hangdog-trace)"', env=env)
        self.run_it("./traced", env=environment({"LD_LIBRARY_PATH": self.path("LIBDIR"), "HANGDOG_TRACE": "trace.json"}))
        self.assertIn("Trace of traced", self.run_it(self.path("BINDIR", "hangdog"), "show", "./trace.json"))

    @unittest.skipIf(SANITIZER, "the library needs the sanitizer's runtime")
    def test_a_program_with_cmake(self):
        cmake = cached("CMAKE_COMMAND")
        version = self.run_it(self.path("BINDIR", "hangdog"), "--version").split()[1]
        with open(os.path.join(self.folder, "CMakeLists.txt"), "w", encoding="ascii") as file:
            file.write(PROJECT % version)
        self.run_it(cmake, "-B", "outside", "-DCMAKE_PREFIX_PATH=" + self.prefix)
        self.run_it(cmake, "--build", "outside")
        self.assert_watches("outside/with-hangdog", True)
        self.assert_watches("outside/with-static", False)
        with open(os.path.join(self.folder, "CMakeLists.txt"), "w", encoding="ascii") as file:
            file.write(PROJECT % "99.0")
        done = subprocess.run([cmake, "-B", "other", "-DCMAKE_PREFIX_PATH=" + self.prefix], cwd=self.folder, capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertNotEqual(0, done.returncode, "a version that is not installed was found")


if __name__ == "__main__":
    main()
