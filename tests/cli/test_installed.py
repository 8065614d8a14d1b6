# SPDX-License-Identifier: MIT
"""What is installed finds what belongs to it, in whatever folders the build was configured for; and programs outside of the
tree find the library, by pkg-config and by CMake."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from support_run import BUILD, SANITIZER, SOURCE, cached, environment, main

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
ADDED = """
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES C CXX)
include(FetchContent)
FetchContent_Declare(hangdog SOURCE_DIR "%s")
FetchContent_MakeAvailable(hangdog)
foreach(kind hangdog static)
  add_executable(with-${kind} program.c)
  target_link_libraries(with-${kind} PRIVATE hangdog::${kind})
endforeach()
"""


def copy_of_the_tree(folder):
    """The sources, without a build's results but for an empty folder."""
    copy = os.path.join(folder, "copy of the tree")
    shutil.copytree(SOURCE, copy, symlinks=True,
                    ignore=lambda of, names: [name for name in names if name in (".git", "node_modules") or (name == "build" and of == SOURCE)])
    os.mkdir(copy + "/build")
    return copy


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

    def run_it(self, *words, folder=None, **options):
        done = subprocess.run(words, cwd=folder or self.folder, capture_output=True, text=True, check=False, **{"timeout": 120, **options})
        self.assertEqual(0, done.returncode, "%s\n%s" % (words, done.stdout + done.stderr))
        return done.stdout

    def test_the_command_finds_its_library(self):
        self.assertTrue(os.path.exists(self.path("LIBDIR", "hangdog/libhangdog-preload.so")))
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

    def install(self, prefix, home="/nowhere", destination="", folder=None):
        done = subprocess.run([cached("CMAKE_COMMAND"), "--install", BUILD, "--prefix", prefix], check=True, timeout=60, capture_output=True, text=True, cwd=folder,
                              env={**os.environ, "HOME": home, "DESTDIR": destination})
        return done.stdout

    def exec_start(self, path):
        with open(path, encoding="utf-8") as unit:
            return [line for line in unit.read().splitlines() if line.startswith("ExecStart=")]

    @unittest.skipUnless(cached("HANGDOG_BUILD_FLEET") == "ON", "built without the fleet")
    def test_units_name_the_installed_command(self):
        for prefix, destination in (("/opt/hangdog%", self.folder + "/d"), ("/usr", self.folder + "/usr"), (self.folder + "/own", "")):
            said = self.install(prefix, destination=destination)
            command = prefix.replace("%", "%%") + "/bin/hangdog"
            for name, words in (("lib/systemd/system/hangdog-serve.service", "serve"), ("lib/systemd/system/hangdog-upload.service", "upload"),
                                ("share/systemd/user/hangdog-upload.service", "upload")):
                (line,) = self.exec_start(os.path.join(destination + prefix, name))
                self.assertTrue(line.startswith("ExecStart=%s %s" % (command, words)), line)
            self.assertEqual(prefix != "/usr", "systemctl link %s/lib" % prefix in said)
        self.install("relative/", folder=self.folder)
        (line,) = self.exec_start(self.folder + "/relative/lib/systemd/system/hangdog-serve.service")
        self.assertTrue(line.startswith("ExecStart=%s/relative/bin/hangdog serve" % self.folder), line)
        (line,) = self.exec_start(self.path("DATAROOTDIR", "systemd/user/hangdog-upload.service"))
        self.assertTrue(line.startswith('ExecStart="%s/bin/hangdog" upload' % self.prefix), line)

    @unittest.skipUnless(cached("HANGDOG_BUILD_FLEET") == "ON", "built without the fleet")
    def test_in_a_home_the_users_unit_is_where_systemd_looks(self):
        home = os.path.join(self.folder, "home")
        said = self.install(home + "/.local", home)
        self.assertIn("Left out: the units of system services", said)
        self.assertFalse(os.path.exists(home + "/.local/lib/systemd"))
        (line,) = self.exec_start(home + "/.local/share/systemd/user/hangdog-upload.service")
        self.assertTrue(line.startswith("ExecStart=%s/.local/bin/hangdog upload" % home), line)
        if shutil.which("systemd-path"):
            folders = self.run_it("systemd-path", "systemd-search-user-unit", env={"HOME": home, "PATH": os.environ["PATH"]})
            self.assertIn(home + "/.local/share/systemd/user", folders.strip().split(":"))

    def test_the_page_is_offered_where_it_is_built_in(self):
        command = self.path("BINDIR", "hangdog")
        offered = "--html" in self.run_it(command, "show", "--help")
        with open(self.path("DATAROOTDIR", "man/man1/hangdog-show.1"), encoding="utf-8") as page:
            self.assertEqual(offered, "html" in page.read())
        done = subprocess.run([command, "show", "--html", "page.html", "nothing"], cwd=self.folder, env=environment(), capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(not offered, "try: make dashboard && sudo make install" in done.stderr, done.stderr)

    def test_make_uninstall(self):
        copy, prefix = copy_of_the_tree(self.folder), os.path.join(self.folder, "gone")
        os.makedirs(prefix + "/share/man/man1")
        for other in ("share/man/man1/other.1", "bin/hangdog-other"):
            os.makedirs(os.path.dirname(os.path.join(prefix, other)), exist_ok=True)
            with open(os.path.join(prefix, other), "w", encoding="ascii") as file:
                file.write("not ours")
        env = environment({"PATH": os.environ["PATH"]})
        done = subprocess.run(["make", "uninstall"], cwd=copy, env=env, capture_output=True, text=True, timeout=60, check=False)
        self.assertIn("nothing was installed from here", done.stderr)
        self.install(prefix)
        shutil.copy(os.path.join(BUILD, "install_manifest.txt"), copy + "/build/installed.txt")  # as make install does
        self.assertTrue(os.path.exists(prefix + "/bin/hangdog"))
        done = subprocess.run(["make", "uninstall", "DESTDIR=" + self.folder + "/wrong"], cwd=copy, env=env, capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertIn("try: make uninstall DESTDIR=", done.stderr)
        said = self.run_it("make", "-C", copy, "uninstall", env=env)
        self.assertIn("Reports stay", said)
        left = [os.path.relpath(os.path.join(folder, name), prefix) for folder, _, names in os.walk(prefix) for name in names]
        self.assertEqual(["bin/hangdog-other", "share/man/man1/other.1"], sorted(left))
        self.assertFalse([folder for folder, _, _ in os.walk(prefix) if folder.endswith("/hangdog")])

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

    @unittest.skipIf(SANITIZER, "the library needs the sanitizer's runtime")
    def test_a_project_that_adds_the_tree(self):
        """By FetchContent, as by add_subdirectory: no package of the command's is needed."""
        folder = os.path.join(self.folder, "adds")
        os.mkdir(folder)
        shutil.copy(os.path.join(self.folder, "program.c"), folder)
        with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(ADDED % SOURCE)
        env = {**os.environ, "PKG_CONFIG_LIBDIR": "/nowhere"}
        self.run_it(cached("CMAKE_COMMAND"), "-B", "build", folder=folder, env=env)
        self.run_it(cached("CMAKE_COMMAND"), "--build", "build", "-j", "2", folder=folder, timeout=600)
        self.run_it(cached("CMAKE_COMMAND"), "--install", "build", "--prefix", folder + "/prefix", folder=folder)
        self.assertFalse(os.path.exists(folder + "/prefix"), "the installation has files of Hangdog")
        self.assert_watches(folder + "/build/with-static", False)
        self.assert_watches(folder + "/build/with-hangdog", True)


if __name__ == "__main__":
    main()
