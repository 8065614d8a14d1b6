# SPDX-License-Identifier: MIT
"""What the checks of scripts/ share: the tree's files and rooms, C without comments or strings, lists that only shrink."""
import os
import re
import subprocess
import sys

PRODUCT = ("src", "preload", "cli", "symbolizer", "collector", "uploader", "namer", "labels")
ALLOWED_INCLUDES = "src/allowed-includes.txt"
PARTS_OF_A_ROOM = ("linux", "darwin", "arch", "elf", "macho")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def enter(tree=None):
    """Makes the root of the tree (this script's own, unless named) the working folder."""
    os.chdir(tree or os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def files(*folders, ends=(".c", ".h")):
    listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "--", *folders], text=True)
    return sorted(path for path in listed.splitlines() if path.endswith(tuple(ends)) and os.path.exists(path))


def read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def room_of(path):
    """src/os/linux/calls.c is of src/os, cli/main.c of cli."""
    parts = os.path.dirname(path).split("/")
    return "/".join(part for part in parts[:2] if part not in PARTS_OF_A_ROOM)


def allowed_includes():
    """{room: rooms that it may include}, in the order of the file: a room comes after those that it includes."""
    allowed = {}
    if os.path.exists(ALLOWED_INCLUDES):
        for line in read(ALLOWED_INCLUDES).splitlines():
            words = line.split("#")[0].split()
            if words:
                allowed[words[0].rstrip(":")] = words[1:]
    return allowed


def includes(path):
    """The files of the tree that a file includes."""
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', read(path), re.MULTILINE):
        for folder in ("src", ".", os.path.dirname(path)):
            found = os.path.normpath(os.path.join(folder, name))
            if os.path.exists(found):
                yield found
                break


def blank(match):
    """Spaces of the same shape, so that line numbers stay."""
    return re.sub(r"[^\n]", " ", match.group())


def code(text, strings=True):
    """C without its comments, and without its strings where these are not wanted."""
    return TOKEN.sub(lambda m: m.group() if strings and m.group()[0] in "\"'" else blank(m), text)


def comments(text):
    """(line, words) of each comment; neighbouring // lines are one."""
    found = []
    for match in TOKEN.finditer(text):
        if match.group()[0] in "\"'":
            continue
        line = text.count("\n", 0, match.start()) + 1
        body = re.sub(r"^\s*(?:/\*+|\*+/?|//+)|\*+/\s*$", "", match.group(), flags=re.MULTILINE)
        if found and match.group().startswith("//") and found[-1][0] + found[-1][1].count("\n") + 1 == line:
            found[-1] = (found[-1][0], found[-1][1] + "\n" + body)
        else:
            found.append((line, body))
    return found


def ctags(paths, kinds="f"):
    """(path, name, first line, last line, is static) of each function."""
    out = subprocess.run(["ctags", "--languages=C", "--langmap=C:.c.h", f"--kinds-C={kinds}", "--fields=nef", "-L", "-", "-f", "-",
                          "--excmd=number", "--sort=no"], input="\n".join(paths), text=True, capture_output=True, check=True)
    for line in out.stdout.splitlines():
        name, path, *fields = line.split("\t")
        value = dict(field.split(":", 1) for field in fields if ":" in field)
        first = int(value["line"])
        yield path, name, first, int(value.get("end", first)), "file" in value


class Allowed:
    """scripts/allowed/NAME.txt: what breaks a rule today, a line each. The list only shrinks."""

    def __init__(self, name, reasons=False):
        self.reasons = reasons
        self.path = f"scripts/allowed/{name}.txt"
        self.lines = [line for line in read(self.path).splitlines() if line and not line.startswith("#")]

    def entries(self):
        """What is before the reason, if there is one."""
        return {line.split("  ")[0].strip() for line in self.lines}

    def judge(self, found, rule):
        """Status 1, and why, where something new breaks the rule or a listed thing does no more. found: {entry: place}"""
        if "--shrink" in sys.argv:
            self.shrink(found)
        entries = self.entries()
        new = sorted(set(found) - entries)
        stale = sorted(entries - set(found))
        bare = [line for line in self.lines if self.reasons and "  " not in line]
        for line in bare:
            print(f"{self.path}: '{line}' has no reason, two spaces behind")
        for entry in new:
            print(f"{found[entry]}: {entry}: {rule}")
        for entry in stale:
            print(f"{self.path}: '{entry}' is not needed any more")
        if stale:
            print(f"put right by: {os.path.relpath(sys.argv[0])} {sys.argv[1]} --shrink")
        print(f"{len(found)} known exceptions in {self.path}" if not new and not stale else
              f"{len(new)} new, {len(stale)} not needed any more")
        return 1 if new or stale or bare else 0

    def shrink(self, found):
        kept = [line for line in read(self.path).splitlines() if not line or line.startswith("#") or line.split("  ")[0].strip() in found]
        with open(self.path, "w", encoding="utf-8") as out:
            out.write("\n".join(kept) + "\n")
        self.lines = [line for line in kept if line and not line.startswith("#")]


class Counts:
    """scripts/allowed/NAME.txt: how many of a thing are above the rule today, "THING COUNT" a line. The counts only shrink."""

    def __init__(self, name):
        self.path = f"scripts/allowed/{name}.txt"
        lines = read(self.path).splitlines()
        self.head = [line for line in lines if not line or line.startswith("#")]
        self.most = {line.split()[0]: int(line.split()[1]) for line in lines if line not in self.head}

    def judge(self, found, what, usual=0):
        """Status 1, and why, where a thing has more than it may; with --tight also where it may have more than it has."""
        if "--shrink" in sys.argv:
            self.shrink(found, usual)
        bad = False
        for name in sorted({*found, *self.most}):
            count, most = found.get(name, 0), self.most.get(name, usual)
            if count > most:
                print(f"{name}: {count} {what}, at most {most} allowed by {self.path}")
            elif "--tight" in sys.argv and count < most and name in self.most:
                print(f"{self.path}: {name} needs {max(count, usual)}, not {most}; put right by --shrink")
            else:
                continue
            bad = True
        return 1 if bad else 0

    def shrink(self, found, usual):
        rows = {name: min(most, found.get(name, 0)) for name, most in sorted(self.most.items())}
        self.most = {name: count for name, count in rows.items() if count > usual}
        with open(self.path, "w", encoding="utf-8") as out:
            out.write("".join(line + "\n" for line in [*self.head, *(f"{name} {count}" for name, count in self.most.items())]))
