#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Unwind tables of Apple's programs, as the unwinder reads them: the number of functions and of entries by mode, each
# entry's encoding as llvm-objdump prints it, each row of call frame information as llvm-dwarfdump prints it.
# The files are those of scripts/install-macho-files.

import os
import re
import struct
import subprocess
import sys
import tempfile

# name, CPU: functions, null, frame, frameless, DWARF
FILES = {
    ("watcher-arm64", "arm64"): (788, 0, 521, 98, 0),
    ("watcher-x86_64", "x86_64"): (787, 0, 629, 0, 0),
    ("libvips-arm64", "arm64"): (46973, 7, 17921, 5508, 471),
    ("libvips-x86_64", "x86_64"): (44745, 10, 24953, 5, 118),
    ("swc-arm64", "arm64"): (893, 35, 99, 109, 391),
    ("swc-x86_64", "x86_64"): (1046, 61, 423, 0, 149),
    ("get-windows", "arm64"): (123, 0, 41, 19, 4),
    ("get-windows", "x86_64"): (154, 0, 69, 0, 4),
}
CPUS = {"arm64": 0x0100000c, "x86_64": 0x01000007}
ENTRY = re.compile(r"^ +\[\d+\]: function offset=0x([0-9a-f]+), encoding(?:\[\d+\])?=0x([0-9a-f]+)$")
RECORD = re.compile(r"^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (?:(CIE)|FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.\.([0-9a-f]+))$")
STEP = re.compile(r"^  DW_CFA_(\w+):(?: (.*))?$")
FLOAT = re.compile(r"^[BQ]\d+$|^XMM")


def lines_of(*command, check=True):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=check).stdout.splitlines()


def encodings(path):
    """{offset of a function: encoding}, by llvm-objdump."""
    return {int(m[1], 16): int(m[2], 16) for m in map(ENTRY.match, lines_of("llvm-objdump", "--macho", "--unwind-info", path)) if m}


def apply(row, saved, start, name, operands):
    """Runs an instruction on a row: the CFA's register and offset, then places of registers."""
    if name.startswith("def_cfa"):
        if name in ("def_cfa", "def_cfa_register"):
            row["register"] = operands[0]
        if name in ("def_cfa", "def_cfa_offset"):
            row["offset"] = int(operands[-1])
    elif name.startswith("offset"):
        row[operands[0]] = int(operands[1])
    elif name == "same_value":
        row[operands[0]] = "same"
    elif name.startswith("restore") and operands:
        row.pop(operands[0], None)
        row.update({k: v for k, v in start.items() if k == operands[0]})
    elif name == "remember_state":
        saved.append(dict(row))
    elif name == "restore_state":
        row.clear()
        row.update(saved.pop())
    elif name != "nop":
        raise ValueError("DW_CFA_" + name)


def as_text(row):
    places = sorted("%s=same" % k if v == "same" else "%s=[CFA%+d]" % (k, v) for k, v in row.items()
                    if k not in ("register", "offset") and not FLOAT.match(k))
    return "CFA=%s%+d" % (row["register"], row["offset"]), places


def rows(path, base):
    """{start of an FDE: (end, its rows)}, of the instructions that llvm-dwarfdump prints: the rows of version 14 have a wrong
    CFA behind DW_CFA_restore_state. Float registers are left out: the unwinder ignores them."""
    out, cies, mine = {}, {}, None
    for line in lines_of("llvm-dwarfdump", "--eh-frame", path):
        head, step = RECORD.match(line), STEP.match(line)
        if head and head[2] == "CIE":
            row, saved, start, mine = {}, [], {}, None
            cies[int(head[1], 16)] = row
        elif head:
            start, saved, at, mine = cies[int(head[3], 16)], [], int(head[4], 16) - base, []
            row = dict(start)
            out[at] = (int(head[5], 16) - base, mine)
            mine.append((at, *as_text(row)))
        elif step and step[1].startswith("advance_loc"):
            at += int(step[2])
        elif step:
            apply(row, saved, start, step[1], (step[2] or "").split())
            if mine is not None:
                if mine[-1][0] == at:
                    mine.pop()
                mine.append((at, *as_text(row)))
    return out


def distinct(fde):
    """Without rows that say the same as the row before."""
    return fde and (fde[0], [r for i, r in enumerate(fde[1]) if i == 0 or r[1:] != fde[1][i - 1][1:]])


def ours(program, path, cpu):
    """The same two, and the totals, as the unwinder reads them."""
    entries, fdes, totals = {}, {}, None
    for line in lines_of(program, path, cpu, check=False):
        kind, *fields = line.split()
        if kind == "entry":
            entries[int(fields[0], 16)] = int(fields[2], 16)
        elif kind == "fde":
            mine = []
            fdes[int(fields[0], 16)] = (int(fields[1], 16), mine)
        elif kind == "row":
            mine.append((int(fields[0], 16), fields[1], sorted(fields[2:])))
        elif kind == "total":
            totals = tuple(int(f) for f in fields[::2])
    return entries, fdes, totals


def thin(folder, path, cpu):
    """The slice of a fat file for one CPU."""
    with open(path, "rb") as file:
        magic, count = struct.unpack(">II", file.read(8))
        if magic != 0xcafebabe:
            return path
        slices = [struct.unpack(">5I", file.read(20)) for _ in range(count)]
        offset, size = next(s[2:4] for s in slices if s[0] == CPUS[cpu])
        file.seek(offset)
        out = os.path.join(folder, os.path.basename(path) + "-" + cpu)
        with open(out, "wb") as copy:
            copy.write(file.read(size))
    return out


def text_address(path):
    """The address of __TEXT in the file's own numbering."""
    is_text = False
    for line in lines_of("llvm-objdump", "--macho", "--private-headers", path):
        fields = line.split()
        is_text = fields[1:] == ["__TEXT"] if fields[:1] == ["segname"] else is_text
        if is_text and fields[:1] == ["vmaddr"]:
            return int(fields[1], 16)
    raise ValueError(path + " has no __TEXT")


def compare(program, path, cpu, expected, folder):
    wrong = []
    path = thin(folder, path, cpu)
    entries, fdes, totals = ours(program, path, cpu)
    if totals is None:
        return [path + ": the unwinder cannot read it"]
    if totals[:5] != expected or totals[5] != 0:
        wrong.append("totals are %s, not %s and 0" % (totals, expected))
    theirs, rows_there = encodings(path), rows(path, text_address(path))
    for offset in sorted(set(theirs) | set(entries)):
        if theirs.get(offset) != entries.get(offset):
            wrong.append("entry %x is %x, not %x" % (offset, entries.get(offset, -1), theirs.get(offset, -1)))
    for offset in sorted(set(rows_there) | set(fdes)):
        if distinct(rows_there.get(offset)) != distinct(fdes.get(offset)):
            wrong.append("rows at %x: %s, not %s" % (offset, fdes.get(offset), rows_there.get(offset)))
    print("%-16s %-7s %6d functions, %6d entries, %4d FDEs with %5d rows%s" %
          (os.path.basename(path), cpu, totals[0], len(entries), len(fdes), sum(len(r) for _, r in fdes.values()),
           ", differs" if wrong else ""), flush=True)
    return wrong


def main():
    program = os.path.join(os.environ.get("HANGDOG_BUILD", "build"), "tests/tables")
    source = os.environ.get("HANGDOG_SOURCE", ".")
    install = os.path.join(source, "scripts/install-macho-files")
    if os.path.exists(install):
        subprocess.run([install], check=True)
    folder = os.path.join(source, "build/macho")
    found = {k: v for k, v in FILES.items() if os.path.exists(os.path.join(folder, k[0]))}
    if not found:
        print("the files of scripts/install-macho-files are not here")
        return 77
    wrong = []
    with tempfile.TemporaryDirectory() as work:
        for (name, cpu), expected in found.items():
            wrong += compare(program, os.path.join(folder, name), cpu, expected, work)
    for line in wrong[:40]:
        print("  " + line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
