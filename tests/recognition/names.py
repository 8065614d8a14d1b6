#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes what the tables of src/recognise/known_functions.c say into recordings: ASKS becomes 2 below a loop function, 3 below a request.

It reads the exported names of the libraries on this machine, and only where their versions are the recording's.
"""
import bisect
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = (HERE.parents[1] / "src/recognise/known_functions.c").read_text(encoding="ascii")


def table(name):
    return set(re.findall(r'"(\w+)"', re.search(name + r"\[\] = \{(.*?)\};", SOURCE, re.S)[1]))


REQUESTS, LOOPS = table("requests"), table("whole_loops") | table("loop_turns")
CACHE = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
PATHS = {m[1]: m[2] for m in re.finditer(r"^\s+(\S+) \(.*x86-64.*\) => (\S+)$", CACHE, re.M)}
SYMBOLS = {}


def symbols(module):
    if module not in SYMBOLS:
        path = PATHS.get(module) or shutil.which(module) or "/dev/null"
        text = subprocess.run(["nm", "-DS", "--defined-only", path], capture_output=True, text=True, check=False).stdout
        found = re.findall(r"^(\w+) (\w+) [TtWi] ([^@\s]+)", text, re.M)
        SYMBOLS[module] = sorted((int(at, 16), int(size, 16), name) for at, size, name in found)
    return SYMBOLS[module]


def names(frame):
    module, _, address = frame.rpartition("+")
    at, all_names = int(address, 16), symbols(module)
    i = bisect.bisect_right(all_names, (at, float("inf"), ""))
    return {name for begin, size, name in all_names[max(0, i - 8):i] if begin <= at < begin + size}


def evidence(frames):
    """As hd_known_function, on the innermost frames that a recording has."""
    modules = [f.rpartition("+")[0] for f in frames]
    if any(names(f) & REQUESTS for f in frames):
        return 3
    for i, frame in enumerate(frames):
        above = modules[0].startswith("libxcb.so") and modules[i].startswith("libX11.so")
        if modules[i] != modules[0] and not above:
            return 0
        if names(frame) & LOOPS:
            outside = [f for f in frames[i:] if not f.startswith(modules[i] + "+")]
            of_gio = bool(outside) and outside[0].startswith("libgio-2.0")
            return 3 if of_gio and not any("g_application_run" in names(f) for f in outside) else 2
    return 0


def same_versions(text):
    for package in re.search(r"^# versions: (.*)$", text, re.M)[1].split(", "):
        name, _, version = package.partition(" ")
        out = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", name], capture_output=True, text=True, check=False).stdout
        if version and version not in out.split("\n"):
            return f"{name} is not {version}"
    return ""


def main():
    for path in sorted((HERE / "recordings").glob("*.waits")):
        text, of = path.read_text(encoding="utf-8"), {}
        if other := same_versions(text):
            print(f"{path.name}: left as it is, {other}")
            continue
        lines = text.splitlines()
        for line in lines:
            if line.startswith("p "):
                f = line.split(" ")
                of[f[1]] = evidence(f[5].split(";")) if len(f) > 5 and "+" in f[5] else 0
        for i, line in enumerate(lines):
            f = line.split(" ")
            if f[0] == "w" and f[7] != "1":
                f[7] = str(of.get(f[8], 0))
                lines[i] = " ".join(f)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
