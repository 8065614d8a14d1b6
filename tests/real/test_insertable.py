#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Which programs macOS inserts a library into: files of the npm registry, and files that clang and LLVM's linker make here.
# The linker's own signature gets the flags of a hardened runtime, and a slice the CPU type of signed pointers.

import os
import shutil
import struct
import subprocess
import sys
import tempfile

NOT_HERE = 77
BUILD = os.environ.get("HANGDOG_BUILD", "build")
CODE_DIRECTORY = b"\xfa\xde\x0c\x02"
RUNTIME, LIBRARY_VALIDATION = 0x10000, 0x2000
# Of scripts/install-macho-files: the answer on arm64 and on x86-64.
FILES = {
    "esbuild-arm64": ("fine signed", "other-cpu unsigned"),
    "get-windows": ("fine signed", "fine unsigned"),
    "libvips-x86_64": ("fine unsigned", "fine unsigned"),
    "swc-x86_64": ("fine signed", "fine signed"),
    "watcher-arm64": ("fine signed", "other-cpu unsigned"),
}


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def judged(cpu, path):
    return run(os.path.join(BUILD, "tests/programs/insertable"), cpu, path).strip()


def changed(path, name, change):
    """A copy of a file with other bytes."""
    with open(path, "rb") as file:
        content = bytearray(file.read())
    change(content)
    made = os.path.join(os.path.dirname(path), name)
    with open(made, "wb") as file:
        file.write(content)
    return made


def flagged(flag):
    def change(content):
        at = content.index(CODE_DIRECTORY) + 12
        content[at:at + 4] = struct.pack(">I", struct.unpack(">I", content[at:at + 4])[0] | flag)
    return change


def signed_pointers(content):
    content[8:12] = struct.pack("<I", 0x80000002)


def cases(folder):
    """(what, CPU of the machine, file, the answer)"""
    files = {}
    for cpu in ("arm64", "x86_64"):
        source, compiled = os.path.join(folder, "main.c"), os.path.join(folder, cpu + ".o")
        with open(source, "w", encoding="utf-8") as file:
            file.write("int main(void) { return 0; }\n")
        run("clang-14", "-target", f"{cpu}-apple-macos12", "-c", source, "-o", compiled)
        for name, words in (("plain", []), ("restrict", ["-sectcreate", "__RESTRICT", "__restrict", os.devnull])):
            files[cpu, name] = os.path.join(folder, f"{name}-{cpu}")
            run("ld64.lld-14", "-arch", cpu, "-platform_version", "macos", "12.0", "14.0", "-undefined", "dynamic_lookup", *words,
                compiled, "-o", files[cpu, name])
        yield "a plain program", cpu, files[cpu, "plain"], "fine signed" if cpu == "arm64" else "fine unsigned"
        yield "a section __restrict", cpu, files[cpu, "restrict"], "restricted signed" if cpu == "arm64" else "restricted unsigned"
    plain = files["arm64", "plain"]
    yield "hardened runtime", "arm64", changed(plain, "hardened", flagged(RUNTIME)), "hardened signed"
    yield "library validation", "arm64", changed(plain, "validated", flagged(LIBRARY_VALIDATION)), "validated signed"
    arm64e = changed(plain, "arm64e", signed_pointers)
    yield "signed pointers", "arm64", arm64e, "arm64e unsigned"
    fat = os.path.join(folder, "fat")
    run("llvm-lipo-14", "-create", arm64e, plain, files["x86_64", "plain"], "-output", fat)
    yield "signed pointers beside others", "arm64", fat, "arm64e unsigned"
    yield "the same on x86-64", "x86_64", fat, "fine unsigned"
    yield "a program of x86-64 by Rosetta", "arm64", files["x86_64", "plain"], "fine unsigned"
    for name, answers in FILES.items():
        path = os.path.join(os.environ.get("HANGDOG_SOURCE", "."), "build/macho", name)
        for cpu, answer in zip(("arm64", "x86_64"), answers) if os.path.exists(path) else ():
            yield f"the program {name}", cpu, path, answer


def main():
    lacking = [name for name in ("clang-14", "ld64.lld-14", "llvm-lipo-14") if not shutil.which(name)]
    if lacking:
        print(f"skipped: not installed: {' '.join(lacking)}")
        return NOT_HERE
    wrong = count = 0
    with tempfile.TemporaryDirectory(prefix="hangdog-test-") as folder:
        for what, cpu, path, answer in cases(folder):
            found, count = judged(cpu, path), count + 1
            if found != answer:
                print(f"{what}, on {cpu}: {found}, must be {answer}")
                wrong += 1
    print(f"{count} programs, {wrong} wrong answers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
