#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Programs run instruction by instruction; at each one the unwinder's first step, and its whole walk, is held to a shadow
# stack of the program's own calls and returns. Most are of the system. One is built here, with frame pointers and without
# unwind tables, and with a static C library whose tables have no header.
#
# By hand over another: test_unwind_steps.py LIMIT PROGRAM ARGUMENT...

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ENOUGH = 99.999  # percent of steps that must be right
ENOUGH_WHOLE = 99.9  # percent of walks of a program, all of whose frames must be right
ENOUGH_WITHOUT = 99.0  # the same, for a program without tables
NO_TABLES = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-omit-frame-pointer"]

# instructions, program: prologues and epilogues, the loader at work, lazy and eager stubs, signal handlers
PROGRAMS = [
    (80000, ["ls", "-l", "/usr/bin"]),
    (80000, ["bash", "-c", "trap : USR1; for i in 1 2 3 4 5 6 7 8; do kill -USR1 $$; done"]),
    (120000, ["/usr/bin/python3", "-S", "-c", "import json; print(json.dumps([1, {'a': 2.5}]))"]),
]


def run(program, limit, command):
    """(tests, right, whole, misses), or None when it could not be traced."""
    done = subprocess.run([program, "1", str(limit)] + command, stdout=subprocess.PIPE, text=True, errors="replace",
                          check=False)
    if done.returncode == 77:
        return None
    lines = done.stdout.split("\n")
    totals = next(line.split() for line in lines if line.startswith("tests "))
    return int(totals[1]), int(totals[3]), int(totals[5]), [line for line in lines if line.startswith(("miss ", "part "))]


def built(folder):
    """A program of calls of all kinds: (instructions, command)."""
    source = os.path.join(os.environ.get("HANGDOG_SOURCE", "."), "tests/real/programs/calls_of_all_kinds.c")
    if not shutil.which("gcc"):
        print("no gcc on this machine")
        return []
    path = os.path.join(folder, "without-tables")
    subprocess.run(["gcc", "-O2", "-w", "-static", *NO_TABLES, "-o", path, source], check=True)
    return [(60000, [path])]


def judge(programs):
    """The exit status. Prints a line for each program, and for each address that is wrong."""
    program = os.path.join(os.environ.get("HANGDOG_BUILD", "build"), "tests/programs/unwind-steps")
    here = [each for each in programs if shutil.which(each[1][0])]
    for _, command in programs:
        if not shutil.which(command[0]):
            print("no %s on this machine" % command[0])
    tests = right = 0
    enough = True
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda each: run(program, *each), here))
    for (_, command), result in zip(here, results):
        if result is None:
            print("programs cannot be traced here")
            return 77
        has_tables = not command[0].endswith("/without-tables")
        tests += result[0] if has_tables else 0
        right += result[1] if has_tables else 0
        whole = 100 * result[2] / max(1, result[0])
        enough &= whole >= (ENOUGH_WHOLE if has_tables else ENOUGH_WITHOUT)
        print("%-20s %8d steps, %8.4f %% right, %8.4f %% whole walks" %
              (os.path.basename(command[0]), result[0], 100 * result[1] / max(1, result[0]), whole))
        for line in result[3][:20]:
            print("  " + line)
    if tests == 0:
        return 77
    print("with tables: %d steps, %.5f %% right" % (tests, 100 * right / tests))
    return 0 if enough and 100 * right / tests >= ENOUGH else 1


def main():
    if len(sys.argv) > 2:
        return judge([(int(sys.argv[1]), sys.argv[2:])])
    with tempfile.TemporaryDirectory() as folder:
        return judge(PROGRAMS + built(folder))


if __name__ == "__main__":
    sys.exit(main())
