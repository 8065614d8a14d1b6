#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Programs that nobody here wrote, run instruction by instruction; at each one a step of the unwinder is held to a
# shadow stack of the program's own calls and returns. By hand over another: test_unwind_steps.py LIMIT PROGRAM ARGUMENT...

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ENOUGH = 99.999  # percent of steps that must be right

# instructions, program: prologues and epilogues, the loader at work, lazy and eager stubs, signal handlers
PROGRAMS = [
    (80000, ["ls", "-l", "/usr/bin"]),
    (80000, ["bash", "-c", "trap : USR1; for i in 1 2 3 4 5 6 7 8; do kill -USR1 $$; done"]),
    (120000, ["/usr/bin/python3", "-S", "-c", "import json; print(json.dumps([1, {'a': 2.5}]))"]),
]


def run(program, limit, command):
    """(tests, right, misses), or None when it could not be traced."""
    done = subprocess.run([program, "1", str(limit)] + command, stdout=subprocess.PIPE, text=True, errors="replace",
                          check=False)
    if done.returncode == 77:
        return None
    lines = done.stdout.split("\n")
    totals = next(line.split() for line in lines if line.startswith("tests "))
    return int(totals[1]), int(totals[3]), [line for line in lines if line.startswith("miss ")]


def main():
    program = os.path.join(os.environ.get("HANGDOG_BUILD", "build"), "tests/programs/unwind-steps")
    programs = [(int(sys.argv[1]), sys.argv[2:])] if len(sys.argv) > 2 else PROGRAMS
    here = [each for each in programs if shutil.which(each[1][0])]
    for _, command in programs:
        if not shutil.which(command[0]):
            print("no %s on this machine" % command[0])
    tests = right = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda each: run(program, *each), here))
    for (_, command), result in zip(here, results):
        if result is None:
            print("programs cannot be traced here")
            return 77
        tests += result[0]
        right += result[1]
        print("%-20s %8d steps, %8.4f %% right" % (command[0], result[0], 100 * result[1] / max(1, result[0])))
        for line in result[2]:
            print("  " + line)
    if tests == 0:
        return 77
    print("all: %d steps, %.5f %% right" % (tests, 100 * right / tests))
    return 0 if 100 * right / tests >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
