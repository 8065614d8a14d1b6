#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a traced call costs, beside gprof's (-pg) on the same program, in turn in one run: nanoseconds a call, less the plain
build's. usage: bench/trace.py [BUILD]"""

import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS, TURNS = 15, 1000000
HERE = os.path.dirname(os.path.abspath(__file__))


def build(folder, name, *flags):
    program = os.path.join(folder, name)
    subprocess.run(["cc", "-O2", "-o", program, os.path.join(HERE, "programs/calls.c"), *flags], check=True)
    return program


def main():
    library = os.path.join(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build"), "lib")
    with tempfile.TemporaryDirectory() as folder:
        variants = {
            "plain": build(folder, "plain"),
            "gprof (-pg)": build(folder, "gprof", "-pg"),
            "hangdog-trace": build(folder, "trace", "-finstrument-functions", "-L" + library, "-lhangdog-trace",
                                   "-Wl,-rpath," + library),
        }
        times = {name: [] for name in variants}
        order = list(variants)
        for turn in range(ROUNDS):
            for name in order if turn % 2 == 0 else reversed(order):
                text = subprocess.run([variants[name], str(TURNS)], cwd=folder, check=True, capture_output=True, text=True).stdout
                times[name].append(float(text))
    plain = statistics.median(times["plain"])
    print("%-16s %12s %12s" % ("", "ns a call", "best"))
    for name, values in times.items():
        less = 0 if name == "plain" else plain
        print("%-16s %12.1f %12.1f" % (name, statistics.median(values) - less, min(values) - less))


if __name__ == "__main__":
    main()
