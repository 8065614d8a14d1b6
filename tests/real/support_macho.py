# SPDX-License-Identifier: MIT
"""Our reader's answers about a Mach-O file, and those of LLVM's tools, as the same kind of dictionary."""

import bisect
import os
import re
import subprocess

ARCHITECTURES = {"1000007": "x86_64", "100000c": "arm64"}
SECTIONS = {"__unwind_info": "unwind_info", "__eh_frame": "eh_frame"}
STUBS = ("__stubs", "__auth_stubs", "__objc_stubs", "__stub_helper")
NAMES_AT_ONCE = 400


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace", check=True).stdout


def objdump(path, arch, *options):
    return run("llvm-objdump-14", "--macho", "--arch=" + arch, *options, path)


def ours(path, names=()):
    """{architecture: {fact: [words of a line, ...]}} of macho-dump."""
    program = os.path.join(os.environ.get("HANGDOG_BUILD", "build"), "tests/programs/macho-dump")
    slices = {}
    facts = None
    for line in run(program, path, *names).splitlines():
        word, *rest = line.split(" ")
        if word == "slice":
            facts = slices[ARCHITECTURES[rest[0]]] = {}
        facts.setdefault(word, []).append(rest)
    return slices


def field(commands, command, name):
    """The value of a field of a load command, None: there is none."""
    found = re.search(r"cmd " + command + r"\n(?:(?!Load command).*\n)*? *" + name + r" +(\S+)", commands)
    return found[1] if found else None


def section_ranges(commands):
    """{name: (address, size)} of __TEXT."""
    ranges = {}
    for name, segment, address, size in re.findall(
            r"sectname (\S+)\n +segname (\S+)\n +addr (\S+)\n +size (\S+)", commands):
        if segment == "__TEXT":
            ranges[name] = (int(address, 16), int(size, 16))
    return ranges


def symbols(path, arch):
    """([address, ...] in order, {address: names}) of what is defined."""
    names = {}
    for line in run("llvm-nm-14", "--arch=" + arch, "--defined-only", "--no-sort", path).splitlines():
        address, kind, name = line.split(" ", 2)
        if kind not in "-Aa":
            names.setdefault(int(address, 16), set()).add(name)
    return sorted(names), names


def exports(path, arch):
    """{name: address} of the trie, without what comes from elsewhere."""
    found = {}
    for line in objdump(path, arch, "--exports-trie").splitlines():
        words = line.split()
        if len(words) >= 2 and words[0].startswith("0x") and "per-thread" not in line and "re-export" not in line:
            found[words[1]] = int(words[0], 16)
    return found


def compare(label, path, arch, facts):
    """A list of differences, in words."""
    wrong = []

    def expect(what, mine, theirs):
        if mine != theirs:
            wrong.append("%s: %s is %r, not %r" % (label, what, mine, theirs))

    commands = objdump(path, arch, "--private-headers", "--non-verbose")
    ranges = section_ranges(commands)
    uuid = field(commands, "LC_UUID", "uuid")
    expect("uuid", facts["uuid"][0][0], uuid.replace("-", "") if uuid else "none")
    for section, fact in SECTIONS.items():
        expect(section, tuple(int(word, 16) for word in facts[fact][0]), ranges.get(section, (0, 0)))
    stubs = {ranges[name] for name in STUBS if name in ranges and ranges[name][1] != 0}
    expect("stubs", {tuple(int(word, 16) for word in words) for words in facts.get("stubs", [])}, stubs)
    expect("symbols", facts["symbols"][0][0], field(commands, "LC_SYMTAB", "nsyms") or "0")
    sdk = field(commands, "LC_BUILD_VERSION", "sdk") or field(commands, "LC_VERSION_MIN_MACOSX", "sdk")
    expect("sdk", facts["platform"][0][2], sdk if sdk and sdk != "n/a" else "0.0")

    starts = [int(words[0], 16) for words in facts.get("start", [])]
    if starts or field(commands, "LC_FUNCTION_STARTS", "datasize") not in (None, "0"):
        theirs = re.findall(r"^([0-9a-f]{16})$", objdump(path, arch, "--function-starts"), re.M)
        expect("function starts", starts, [int(word, 16) for word in theirs])

    addresses, names = symbols(path, arch)
    for pc, address, name in facts.get("symbol", []):
        i = bisect.bisect_right(addresses, int(pc, 16))
        nearest = addresses[i - 1] if i else 0
        if int(address, 16) != nearest or name not in names.get(nearest, ()):
            wrong.append("%s: at %s is %s of %s, not %s of %x" % (label, pc, name, address, names.get(nearest), nearest))
    return wrong


def compare_exports(label, path, arch):
    wrong = []
    theirs = exports(path, arch)
    names = sorted(theirs)
    for i in range(0, len(names), NAMES_AT_ONCE):
        for mine, _, name in ours(path, names[i:i + NAMES_AT_ONCE])[arch]["named"]:
            if int(mine, 16) != theirs[name]:
                wrong.append("%s: %s is exported at %s, not %x" % (label, name, mine, theirs[name]))
    for mine, named, name in ours(path, [name + "%" for name in names[:50]])[arch].get("named", []):
        if mine != "0" or named != "0":
            wrong.append("%s: %s, which does not exist, is at %s" % (label, name, mine))
    return len(names), wrong


def check(path, label=None):
    """(rows for a table, differences) of all images of a file."""
    rows, wrong = [], []
    label = label or os.path.basename(path)
    for arch, facts in ours(path).items():
        there = compare("%s, %s" % (label, arch), path, arch, facts)
        count, bad = compare_exports(label, path, arch)
        wrong += there + bad
        rows.append((label, arch, len(facts.get("start", [])), int(facts["symbols"][0][0]), len(facts.get("symbol", [])), count))
    return rows, wrong


def print_rows(rows):
    print("%-22s %-7s %9s %9s %9s %9s" % ("file", "CPU", "functions", "symbols", "named", "exports"))
    for row in rows:
        print("%-22s %-7s %9d %9d %9d %9d" % row)
