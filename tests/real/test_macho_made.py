#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Mach-O files that clang and LLVM's linker make here: thin, fat, with chained fixups, without a UUID, an executable, a
# bundle, a dSYM. Our reader finds what LLVM's tools find in them.

import os
import shutil
import subprocess
import sys
import tempfile

from support_macho import ARCHITECTURES, check, ours, print_rows

SOURCE = """
static __attribute__((noinline)) int hidden(int n) { volatile int k = n; return k * 3; }
int exported(int n) { return hidden(n) + 1; }
int another(int n) { return exported(n) - hidden(n + 1); }
extern int taken_from_elsewhere(int n);
int calls(int n) { return taken_from_elsewhere(n) + 2; }
int variable = 5;
int *pointer = &variable;
int main(void) { return calls(another(3)); }
"""
# What the linker makes of it, and with which words.
FORMS = {
    "dylib": ["-dylib", "-install_name", "@rpath/libmade.dylib"],
    "program": [],
    "bundle": ["-bundle"],
    "chained-fixups": ["-dylib", "-fixup_chains"],
    "without-debug": ["-dylib", "-S"],
    "dead-strip": ["-dylib", "-dead_strip"],
}
LINKER_19 = "ld64.lld-19"  # 14 takes the option and ignores it
TARGETS = {"arm64": "arm64-apple-macos12", "x86_64": "x86_64-apple-macos11"}


def tool(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def must(*command):
    done = tool(*command)
    if done.returncode != 0:
        raise SystemExit("%s: %s" % (" ".join(command), done.stdout))


def link(folder, form, words, arch):
    """The path of the file; None: this linker cannot make it."""
    path = os.path.join(folder, "%s-%s" % (form, arch))
    linker = LINKER_19 if form == "chained-fixups" else "ld64.lld-14"
    if not shutil.which(linker):
        print("there is no %s: no file with chained fixups" % linker)
        return None
    done = tool(linker, "-arch", arch, "-platform_version", "macos", "12.0", "13.1", "-undefined", "dynamic_lookup",
                *words, os.path.join(folder, arch + ".o"), "-o", path)
    if done.returncode != 0 or "unknown argument" in done.stdout or "not yet implemented" in done.stdout:
        print("the linker makes no %s file: %s" % (form, done.stdout.splitlines()[:1]))
        return None
    return path


def without_uuid(path):
    """A copy whose LC_UUID is a load command that no reader knows: this linker always makes one."""
    with open(path, "rb") as f:
        content = f.read()
    command = (0x1B).to_bytes(4, "little") + (24).to_bytes(4, "little")
    with open(path + "-no-uuid", "wb") as f:
        f.write(content.replace(command, b"\x7f" + command[1:], 1))
    return path + "-no-uuid"


def make(folder):
    """[(label, path)] of all files."""
    source = os.path.join(folder, "made.c")
    with open(source, "w", encoding="utf-8") as f:
        f.write(SOURCE)
    for arch, target in TARGETS.items():
        must("clang-14", "-target", target, "-g", "-O1", "-c", source, "-o", os.path.join(folder, arch + ".o"))
    files = {}
    for form, words in FORMS.items():
        for arch in TARGETS:
            path = link(folder, form, words, arch)
            if path:
                files["%s-%s" % (form, arch)] = path
    for arch in TARGETS:
        files["no-uuid-" + arch] = without_uuid(files["dylib-" + arch])
        stripped = files["dylib-" + arch] + "-stripped"
        must("llvm-strip-14", "-x", files["dylib-" + arch], "-o", stripped)
        files["stripped-" + arch] = stripped
    for form in ("dylib", "program"):
        path = os.path.join(folder, "fat-" + form)
        parts = [files["%s-%s" % (form, arch)] for arch in TARGETS]
        must("llvm-lipo-14", "-create", *parts, "-output", path)
        files["fat-" + form] = path
        wide = path + "-64"
        if tool("llvm-lipo-14", "-create", "-fat64", *parts, "-output", wide).returncode == 0:
            files["fat-%s-64" % form] = wide
    return files


def check_dsym(folder, files):
    """The dSYM of a file has its UUID and its symbols, and none of its code."""
    path = files["dylib-arm64"]
    must("dsymutil-14", path, "-o", path + ".dSYM")
    inside = os.path.join(path + ".dSYM", "Contents/Resources/DWARF", os.path.basename(path))
    mine, dylib = ours(inside)["arm64"], ours(path)["arm64"]
    wrong = []
    if mine["uuid"] != dylib["uuid"]:
        wrong.append("the dSYM has another UUID")
    names = ours(inside, ["_hidden", "_exported"])["arm64"]["named"]
    if [words[1] for words in names] != [words[1] for words in ours(path, ["_hidden", "_exported"])["arm64"]["named"]]:
        wrong.append("the dSYM has other addresses: %s" % names)
    return wrong


def check_details(files):
    """What the forms are made for."""
    wrong = []
    for arch in TARGETS:
        if ours(files["no-uuid-" + arch])[arch]["uuid"] != [["none"]]:
            wrong.append("no-uuid-%s has a UUID" % arch)
        if ours(files["dylib-" + arch])[arch]["name"] != [["@rpath/libmade.dylib"]]:
            wrong.append("dylib-%s has another name" % arch)
        if int(ours(files["program-" + arch])[arch]["text"][0][0], 16) != 0x100000000:
            wrong.append("program-%s does not begin after __PAGEZERO" % arch)
        if "chained-fixups-" + arch in files and "LC_DYLD_CHAINED_FIXUPS" not in tool(
                "llvm-objdump-14", "--macho", "--private-headers", files["chained-fixups-" + arch]).stdout:
            wrong.append("chained-fixups-%s has none" % arch)
        if "chained-fixups-" + arch in files:  # llvm-objdump-14 does not know this command's trie
            for exported, named, name in ours(files["chained-fixups-" + arch], ["_exported", "_variable"])[arch]["named"]:
                if exported == "0" or exported != named:
                    wrong.append("chained-fixups-%s exports %s at %s, not %s" % (arch, name, exported, named))
        starts = ours(files["dylib-" + arch])[arch]["start"]
        if len(starts) != 5:
            wrong.append("dylib-%s has %d functions, not 5" % (arch, len(starts)))
    for label, path in files.items():
        if label.startswith("fat-") and set(ours(path)) != set(ARCHITECTURES.values()):
            wrong.append("%s has other slices" % label)
    return wrong


def main():
    for name in ("clang-14", "ld64.lld-14", "llvm-objdump-14", "llvm-lipo-14", "dsymutil-14"):
        if not shutil.which(name):
            print("there is no %s" % name)
            return 77
    with tempfile.TemporaryDirectory() as folder:
        files = make(folder)
        rows, wrong = [], []
        for label, path in files.items():
            more, bad = check(path, label)
            rows += more
            wrong += bad
        wrong += check_details(files) + check_dsym(folder, files)
    print_rows(rows)
    for line in wrong[:50]:
        print("WRONG " + line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
