#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Every row of call frame information of every function, ours against readelf's, over the libraries that nearly
# every program runs on. By hand over others: test_unwind_rows.py FILE..., or --all for all in /usr/lib.

import itertools
import os
import re
import subprocess
import sys

COLUMNS = ("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 ra").split()
PLACES = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"]
WANTED = ["libc.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6", "libcrypto.so.3", "libgcc_s.so.1", "libm.so.6"]
NEEDED = WANTED[:2]

RECORD = re.compile(r"^[0-9a-f]{8,16} [0-9a-f]{8,16} (?:[0-9a-f]{8,16} )?"
                    r"(?:(?P<zero>ZERO)|CIE|FDE cie=(?P<cie>[0-9a-f]+) pc=(?P<start>[0-9a-f]+)\.\.(?P<stop>[0-9a-f]+))")
NAME = re.compile(r"(?<=\d) \(\w+\)")  # "r5 (rdi)": a register that is in another
ROW_START = re.compile(r"^[0-9a-f]{16} ")


def canonical(rows, stop):
    """One row an address, neighbours that say the same joined; what begins at or after the end is dropped."""
    out = []
    for loc, values in rows:
        if out and out[-1][0] == loc:
            out.pop()
        if loc < stop and not (out and out[-1][1] == values):
            out.append((loc, values))
    return out


def lines_of(*command):
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace") as p:
        yield from p.stdout


def readelf_functions(path):
    """(start, stop, rows) of each function, in the order of the section, by readelf."""
    cies = {}
    columns = name = start = None
    rows, in_section = [], False

    def function():
        mine = rows
        if not mine or mine[0][0] != start:  # what it inherits is not told again
            mine = [(start, cies[name])] + mine
        return start, stop, canonical(mine, stop)

    for line in lines_of("readelf", "--debug-dump=frames-interp", "-wN", path):
        if line.startswith("Contents of the "):
            if start is not None:
                yield function()
            in_section, start = ".eh_frame section" in line, None
            continue
        if not in_section or line == "\n":
            continue
        match = RECORD.match(line)
        if match:
            if start is not None:
                yield function()
            rows, columns, start = [], None, None
            if match["start"]:
                name, start, stop = match["cie"], int(match["start"], 16), int(match["stop"], 16)
            else:
                name = line.split(" ", 1)[0]
        elif line.startswith("   LOC"):
            columns = line.split()[2:]
        elif columns is not None and ROW_START.match(line):
            fields = NAME.sub("", line).split()
            values = dict(zip(columns, fields[2:]))
            row = (fields[1],) + tuple(values.get(c, "u") for c in COLUMNS)
            if start is None:
                cies[name] = row
            else:
                rows.append((int(fields[0], 16), row))
    if start is not None:
        yield function()


def our_functions(program, path, complaints, totals):
    """The same by the unwinder; what it complains of and its totals go into two lists."""
    start = None
    for line in lines_of(program, path):
        fields = line.split()
        if fields[0] in ("function", "total") and start is not None:
            yield start, stop, canonical(rows, stop)
        if fields[0] == "function":
            start, stop, rows = int(fields[1], 16), int(fields[2], 16), []
        elif fields[0] == "#":
            complaints.append(line.strip())
        elif fields[0] == "total":
            totals[:] = [int(f) for f in fields[1:]]
            start = None
        else:
            rows.append((int(fields[0], 16), tuple(fields[1:])))


def compare(program, path):
    """Totals (functions, rows, rows that are not compact), and a list of differences."""
    complaints, totals, differences = [], [0, 0, 0], []
    theirs, ours = readelf_functions(path), our_functions(program, path, complaints, totals)
    for a, b in itertools.zip_longest(theirs, ours, fillvalue=(0, 0, [])):
        if a == b or len(differences) > 40:
            continue
        differences.append("readelf's function %x..%x, ours %x..%x" % (a[0], a[1], b[0], b[1]))
        for loc, row in [r for r in a[2] if r not in b[2]][:3]:
            differences.append("  readelf %x %s" % (loc, " ".join(row)))
        for loc, row in [r for r in b[2] if r not in a[2]][:3]:
            differences.append("  ours    %x %s" % (loc, " ".join(row)))
    return totals, differences + complaints


def find(name):
    return next((os.path.join(p, name) for p in PLACES if os.path.exists(os.path.join(p, name))), None)


def all_libraries():
    files = set()
    for folder, _, names in os.walk("/usr/lib"):
        for name in names:
            path = os.path.join(folder, name)
            if ".so" not in name or os.path.islink(path) or "/debug/" in path:
                continue
            with open(path, "rb") as f:
                head = f.read(20)
            if head[:5] == b"\x7fELF\x02" and head[18:20] == b"\x3e\x00":
                files.add(path)
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
        totals, differences = compare(program, path)
        all_functions += totals[0]
        all_rows += totals[1]
        all_whole += totals[2]
        print("%-60s %7d functions %8d rows, %d not compact%s" %
              (path, totals[0], totals[1], totals[2], ", differs" if differences else ""), flush=True)
        for line in differences[:40]:
            print("  " + line)
        bad += len(differences) != 0
    print("%d files, %d functions, %d rows, %d not compact; %d files differ" %
          (len(paths), all_functions, all_rows, all_whole, bad))
    return 1 if bad or all_rows == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
