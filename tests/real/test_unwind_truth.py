#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# The unwinder of Mach-O images against the truth: functions of Apple's programs run in an emulator, instruction by
# instruction, and at each address the unwinder must find the caller. For both CPUs. By hand: --all, every function of
# every file, some ten minutes. The files are those of scripts/install-macho-files.

import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

# name, CPU; first function, number, step: of the short run
FILES = [
    ("watcher-x86_64", "x86_64", "0 800 1"),
    ("watcher-arm64", "arm64", "0 800 1"),
    ("libvips-x86_64", "x86_64", "0 400 107"),
    ("libvips-arm64", "arm64", "0 400 107"),
    ("swc-x86_64", "x86_64", ""),
    ("swc-arm64", "arm64", ""),
    ("get-windows", "x86_64", ""),
    ("get-windows", "arm64", ""),
]
LEAST = {"arm64": ("99.8", "100"), "x86_64": ("99.5", "100")}  # of innermost frames, of callers
SOURCES = ("tests/emulation/judge.c tests/support/macho_file.c src/unwind/arch/*_aarch64.c src/unwind/*.c "
           "src/unwind/macho/*.c src/image/macho/*.c src/image/modules.c src/image/read_string.c src/base/*.c")


def arm_judge(source, folder):
    """The judge for arm64, and its emulator; None where there is no compiler or emulator."""
    if not shutil.which("aarch64-linux-gnu-gcc") or not shutil.which("qemu-aarch64"):
        return None
    out = os.path.join(folder, "judge-arm64")
    subprocess.run("aarch64-linux-gnu-gcc -static -O2 -std=gnu11 -ffunction-sections -Wl,--gc-sections -Isrc -Iinclude -Itests "
                   "-Itests/support " + SOURCES + " -o " + out, shell=True, cwd=source, check=True)
    return ["qemu-aarch64", out]


def run(emulate, judge, path, cpu, part, show):
    """Runs functions and judges them. Returns success and what was printed."""
    with subprocess.Popen([emulate, path, cpu] + part.split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as samples:
        # what the emulator prints is little: its pipe does not fill up
        result = subprocess.run(judge + [path, "--show", show, "--least", *LEAST[cpu]], stdin=samples.stdout, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        told = samples.stderr.read().decode().splitlines()
    text = "== %s %s\n%s%s\n" % (os.path.basename(path), cpu, result.stdout, told[-1] if told else "no functions ran")
    return result.returncode == 0 and samples.returncode == 0, text


def main():
    source = os.path.abspath(os.environ.get("HANGDOG_SOURCE", "."))
    tests = os.path.join(os.path.abspath(os.environ.get("HANGDOG_BUILD", "build")), "tests")
    everything = sys.argv[1:] == ["--all"]
    if not os.path.exists(os.path.join(tests, "emulate")):
        print("built without libunicorn-dev")
        return 77
    install = os.path.join(source, "scripts/install-macho-files")
    if os.path.exists(install):
        subprocess.run([install], check=True)
    found = [f for f in FILES if os.path.exists(os.path.join(source, "build/macho", f[0])) and (f[2] or everything)]
    if not found:
        print("the files of scripts/install-macho-files are not here")
        return 77
    fine = True
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        judges = {"x86_64": [os.path.join(tests, "judge")], "arm64": arm_judge(source, folder)}
        jobs = [pool.submit(run, os.path.join(tests, "emulate"), judges[cpu], os.path.join(source, "build/macho", name), cpu,
                            "" if everything else part, "20" if everything else "5") for name, cpu, part in found if judges[cpu]]
        for job in jobs:
            passed, text = job.result()
            fine &= passed
            print(text, flush=True)
        if judges["arm64"] is None:
            print("arm64 is left out: it needs gcc-aarch64-linux-gnu and qemu-user")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
