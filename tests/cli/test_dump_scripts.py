# SPDX-License-Identifier: MIT
"""hangdog dump of Python programs: the library's function behind libffi, files by their folder, the vDSO's names."""

import os
import re

from support_dump import Programs, dump, report_of, thread_of
from support_run import main, wait_until

PYTHON = "/usr/bin/python3"
GIO = """
import gi
gi.require_version("Gio", "2.0")
from gi.repository import Gio
def load(name):
    Gio.File.new_for_path(name).load_contents(None)
load("no-writer")
"""
CTYPES = """
import ctypes
def wait_for_card():
    ctypes.CDLL("libpthread.so.0").sem_wait(ctypes.create_string_buffer(64))
wait_for_card()
"""
CLOCK = """
import time
def spin():
    while True:
        time.monotonic_ns()
spin()
"""


class Python(Programs):
    def start_python(self, text, name="app.py"):
        folder = self.make_folder()
        os.mkfifo(os.path.join(folder, "no-writer"))
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return self.start(PYTHON, path, cwd=folder)

    def assert_dump(self, program, pattern, *args):
        """The program comes to where the text has this."""
        wait_until(lambda: re.search(pattern, dump(program.pid, *args)), pattern)

    def test_the_librarys_function_is_named_for_libffi(self):
        self.assert_dump(self.start_python(GIO), r"(?m)^  > load +app.py:6 +in g_file_load_contents$")
        self.assert_dump(self.start_python(CTYPES), r"(?m)^  > wait_for_card +app.py:4 +in sem_wait$")

    def test_a_packages_file_has_its_folder(self):
        self.assert_dump(self.start_python("import time; time.sleep(99)", "shop/__main__.py"),
                         r"(?m)^  > <module> +shop/__main__.py:1 +in clock_nanosleep$")

    def test_the_kernels_own_module_has_names(self):
        program = self.start_python(CLOCK)

        def in_clock():
            report = report_of(program.pid, "--running")
            frames = thread_of(report, program.pid).get("stack", {"frames": [{}]})["frames"]
            at = frames[0].get("module")
            return at is not None and "vdso" in report["modules"][at]["path"] and frames[0].get("function") == "clock_gettime"
        wait_until(in_clock, "clock_gettime")


if __name__ == "__main__":
    main()
