#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Every row of call frame information of every function, ours against readelf's, over the libraries that nearly
# every program runs on. By hand over others: test_unwind_rows.py FILE..., or --all for all in /usr/lib.

import glob
import os
import re
import subprocess
import sys

COLUMNS = ("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 ra").split()
PLACES = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"]
WANTED = ["libc.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6", "libcrypto.so.3", "libgcc_s.so.1", "libm.so.6"]
NEEDED = WANTED[:2]

RECORD = re.compile(r"^[0-9a-f]{8,16} [0-9a-f]{8,16} [0-9a-f]{8,16} (?:CIE|FDE (?:cie=([0-9a-f]+) )?pc=([0-9a-f]+)\.\.([0-9a-f]+))")


NAME = re.compile(r"(?<=\d) \(\w+\)")  # "r5 (rdi)": a register that is in another


def canonical(rows, stop):
    """One row an address, neighbours that say the same joined; what begins at or after the end is dropped."""
    out = []
    for loc, values in rows:
        if out and out[-1][0] == loc:
            out.pop()
        if loc < stop and not (out and out[-1][1] == values):
            out.append((loc, values))
    return out


def readelf_rows(path):
    """{start of function: (stop, rows)} by readelf."""
    text = subprocess.run(["readelf", "--debug-dump=frames-interp", "-wN", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, errors="replace", check=False).stdout
    functions, cies, rows, columns, in_section, cie_row = {}, {}, None, None, False, None
    name = start = stop = None

    def finish():
        if start is None:
            return
        mine = rows or [(start, cies.get(name, ()))]
        if mine[0][0] != start:
            mine.insert(0, (start, cies.get(name, ())))
        functions[start] = (stop, canonical(mine, stop))

    for line in text.split("\n"):
        if line.startswith("Contents of the "):
            finish()
            start = None
            in_section = ".eh_frame section" in line
            continue
        if not in_section or not line:
            continue
        fields = NAME.sub("", line).split()
        match = RECORD.match(line)
        if match or line.startswith(tuple("0123456789abcdef")) and ("CIE" in line or "ZERO" in line):
            finish()
            rows, columns, start = [], None, None
            if match and match.group(2):
                name, start, stop = match.group(1), int(match.group(2), 16), int(match.group(3), 16)
                name = fields[4].split("=")[1] if fields[3] == "FDE" else name
            else:
                name = fields[0]
                cie_row = name
        elif fields[0] == "LOC":
            columns = fields[2:]
        elif columns is not None and re.match(r"^[0-9a-f]{16}$", fields[0]):
            values = dict(zip(columns, fields[2:]))
            row = (fields[1],) + tuple(values.get(c, "u") for c in COLUMNS)
            if start is None:
                cies[cie_row] = row
            else:
                rows.append((int(fields[0], 16), row))
    finish()
    return functions


def our_rows(program, path):
    """The same by the unwinder, what it complains of, and its totals."""
    text = subprocess.run([program, path], stdout=subprocess.PIPE, text=True, check=False).stdout
    functions, complaints, totals, rows = {}, [], (0, 0, 0), None
    for line in text.split("\n"):
        fields = line.split()
        if not fields:
            continue
        if fields[0] == "function":
            rows = []
            functions[int(fields[1], 16)] = (int(fields[2], 16), rows)
        elif fields[0] == "#":
            complaints.append(line)
        elif fields[0] == "total":
            totals = tuple(int(f) for f in fields[1:])
        else:
            rows.append((int(fields[0], 16), tuple(fields[1:])))
    return {k: (stop, canonical(r, stop)) for k, (stop, r) in functions.items()}, complaints, totals


def compare(program, path):
    """Functions, rows, and a list of differences."""
    theirs = readelf_rows(path)
    ours, differences, totals = our_rows(program, path)
    for start in sorted(set(theirs) | set(ours)):
        if theirs.get(start) == ours.get(start):
            continue
        differences.append("function at %x:" % start)
        a, b = theirs.get(start, (0, [])), ours.get(start, (0, []))
        if a[0] != b[0]:
            differences.append("  readelf ends it at %x, we at %x" % (a[0], b[0]))
        for loc, row in [r for r in a[1] if r not in b[1]][:3]:
            differences.append("  readelf %x %s" % (loc, " ".join(row)))
        for loc, row in [r for r in b[1] if r not in a[1]][:3]:
            differences.append("  ours    %x %s" % (loc, " ".join(row)))
    return len(theirs), totals, differences


def find(name):
    return next((os.path.join(p, name) for p in PLACES if os.path.exists(os.path.join(p, name))), None)


def all_libraries():
    files = set()
    for path in glob.glob("/usr/lib/**/*.so*", recursive=True):
        real = os.path.realpath(path)
        with open(real, "rb") as f:
            head = f.read(20)
        if head[:5] == b"\x7fELF\x02" and head[18:20] == b"\x3e\x00" and "/debug/" not in real:
            files.add(real)
    return sorted(files)


def main():
    program = os.path.join(os.environ.get("HANGDOG_BUILD", "build"), "tests/programs/unwind-rows")
    arguments = sys.argv[1:]
    paths = all_libraries() if arguments == ["--all"] else arguments
    if not paths:
        paths = [p for p in map(find, WANTED) if p]
        for name in NEEDED:
            if not find(name):
                print("no %s on this machine" % name)
                return 77
    bad = all_functions = all_rows = all_whole = 0
    for path in paths:
        functions, totals, differences = compare(program, path)
        all_functions += functions
        all_rows += totals[1]
        all_whole += totals[2]
        print("%-60s %7d functions %8d rows, %d not compact%s" %
              (path, functions, totals[1], totals[2], ", %d lines differ" % len(differences) if differences else ""))
        for line in differences[:40]:
            print("  " + line)
        bad += len(differences) != 0
    print("%d files, %d functions, %d rows, %d not compact; %d files differ" %
          (len(paths), all_functions, all_rows, all_whole, bad))
    return 1 if bad or all_rows == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
