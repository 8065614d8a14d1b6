# SPDX-License-Identifier: MIT
#
# Builds the Mach-O loader and programs for macOS, and runs them: x86-64 natively, arm64 under qemu-aarch64.
# What is built lies in build/tests/apple/CPU. Two tests at a time build behind a lock.

import contextlib
import fcntl
import functools
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("HANGDOG_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("HANGDOG_BUILD") or os.path.join(SOURCE, "build")
HERE = os.path.join(SOURCE, "tests/apple")
SDK = os.path.join(SOURCE, "build/apple/sdk")
OUT = os.path.join(BUILD, "tests/apple")
NOT_HERE = 77

COMPILERS = {"x86_64": "gcc", "arm64": "aarch64-linux-gnu-gcc"}
ASSEMBLY = {"x86_64": "gate_x86_64.S", "arm64": "gate_aarch64.S"}
RUNNERS = {"x86_64": [], "arm64": ["qemu-aarch64"]}
CPUS = tuple(os.environ.get("HANGDOG_APPLE_CPUS", "x86_64 arm64").split())
SLOWER = {"x86_64": 1, "arm64": 4}
NEEDED = ["clang-14", "ld64.lld-14", "dsymutil-14", "llvm-nm-14", "aarch64-linux-gnu-gcc", "qemu-aarch64"]


def not_here():
    """Why these tests cannot run on this machine; empty: they can."""
    if not os.path.isdir(os.path.join(SDK, "usr/include")):
        return "there is no build/apple/sdk: scripts/install-apple-sdk fetches it"
    lacking = [name for name in NEEDED if not shutil.which(name)]
    return f"not installed: {' '.join(lacking)} (scripts/install-dependencies lint)" if lacking else ""


@contextlib.contextmanager
def locked():
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def older(made, *sources):
    return not os.path.exists(made) or any(os.path.getmtime(made) <= os.path.getmtime(s) for s in sources)


def compile_objects(cpu, folder, sources, headers):
    objects = []
    for source in sources:
        made = os.path.join(folder, os.path.basename(source) + ".o")
        if older(made, source, *headers):
            run(*os.environ.get("CMAKE_C_COMPILER_LAUNCHER", "").split(), COMPILERS[cpu], "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g",
                "-Wall", "-Wextra", "-Werror", "-c", source, "-o", made)
        objects.append(made)
    return objects


def build_stubs(cpu, folder, loader):
    for which, name, place in (("kernel", "libsystem_kernel", "system/"), ("system", "libSystem.B", "")):
        made = os.path.join(folder, name)
        if not older(made + ".dylib", loader):
            continue
        with open(made + ".s", "w", encoding="utf-8") as file:
            file.write(run(*RUNNERS[cpu], loader, "--stubs", which))
        run("clang-14", "-target", f"{cpu}-apple-macos12", "-c", made + ".s", "-o", made + ".o")
        run("ld64.lld-14", "-dylib", "-arch", cpu, "-platform_version", "macos", "12.0", "14.0",
            "-install_name", f"/usr/lib/{place}{name}.dylib", made + ".o", "-o", made + ".dylib")


@functools.lru_cache(maxsize=None)
def folder_of(cpu):
    """The folder with the loader and the stubs of Apple's libraries, built."""
    folder = os.path.join(OUT, cpu)
    objects = os.path.join(folder, "objects")
    os.makedirs(objects, exist_ok=True)
    sources = sorted(glob.glob(os.path.join(HERE, "loader/*.c"))) + [os.path.join(HERE, "loader", ASSEMBLY[cpu])]
    loader = os.path.join(folder, "apple-loader")
    with locked():
        made = compile_objects(cpu, objects, sources, glob.glob(os.path.join(HERE, "loader/*.h")))
        if older(loader, *made):
            run(COMPILERS[cpu], "-static", *made, "-o", loader, "-lpthread")
        build_stubs(cpu, folder, loader)
    return folder


@functools.lru_cache(maxsize=None)
def library(cpu, name):
    """A file of scripts/build-apple's macOS folder; it is built first."""
    ready = os.environ.get("HANGDOG_APPLE_LIBRARIES")  # a folder with those of another build
    if ready:
        return os.path.join(ready, cpu, name)
    path = os.path.join(SOURCE, "build/apple", f"macos-{cpu}", name)
    with locked():
        run(os.path.join(SOURCE, "scripts/build-apple"), f"macos-{cpu}", cwd=SOURCE)
    return path


def compiled(cpu, name, *flags):
    """The object of subjects/NAME.c."""
    source = os.path.join(HERE, f"subjects/{name}.c")
    made = os.path.join(folder_of(cpu), f"{name}.o")
    run("clang-14", "-target", f"{cpu}-apple-macos12", "-isysroot", SDK, "-std=gnu11", "-O1", "-g", "-fno-omit-frame-pointer",
        "-Wall", "-Wextra", "-Werror", f"-I{SOURCE}/include", f"-I{SOURCE}/src", *flags, "-c", source, "-o", made)
    return made


def linked(cpu, name, *libraries, dylib=False, flags=()):
    """The program, or dylib, of subjects/NAME.c with these libraries."""
    made = os.path.join(folder_of(cpu), f"lib{name}.dylib" if dylib else name)
    kind = ["-dylib", "-install_name", f"@rpath/lib{name}.dylib"] if dylib else []
    run("ld64.lld-14", "-arch", cpu, "-platform_version", "macos", "12.0", "14.0", "-syslibroot", SDK, *kind,
        compiled(cpu, name, *flags), *libraries, "-lSystem", "-rpath", "@executable_path", "-o", made)
    return made


def execute(cpu, program, *arguments, folders=(), timeout=60, environment=None):
    """Runs a program in the loader; the result has status, standard output and error."""
    folder = folder_of(cpu)
    searched = [word for f in (folder, *folders) for word in ("-L", f)]
    return subprocess.run([*RUNNERS[cpu], os.path.join(folder, "apple-loader"), *searched, program, *arguments],
                          capture_output=True, text=True, timeout=timeout * SLOWER[cpu], check=False,
                          env={**os.environ, **(environment or {})})


def reports(spool):
    """The complete and other reports of a spool, oldest first; `file` is each one's path."""
    found = []
    for path in sorted(glob.glob(os.path.join(spool, "*.json"))):
        with open(path, encoding="utf-8") as file:
            found.append({**json.load(file), "file": path})
    return found


def shown(report):
    """What `hangdog show` prints of a report."""
    return subprocess.run([os.path.join(BUILD, "bin/hangdog"), "show", report["file"]], capture_output=True, text=True, timeout=60,
                          check=True, env={**os.environ, "TERM": "dumb"}).stdout


class AppleTest(unittest.TestCase):
    """A test with a subTest for each CPU."""

    def passes(self, cpu, program, *arguments, **options):
        done = execute(cpu, program, *arguments, **options)
        self.assertEqual((0, ""), (done.returncode, done.stderr), f"{cpu}: {program}\n{done.stdout}{done.stderr}")
        for line in done.stdout.splitlines():
            print(f"{cpu}: {line}", file=sys.stderr)
        return done.stdout

    def reports_of(self, cpu, name, *arguments, kind="hang", status=0, built=None, timeout=60):
        """Runs subjects/NAME.c with the dylib that ships and a spool of its own. Returns its reports of the kind."""
        shipped = library(cpu, "libhangdog.1.dylib")
        program = built or linked(cpu, name, shipped)
        folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")
        self.addCleanup(folder.cleanup)
        done = execute(cpu, program, folder.name, *arguments, folders=[os.path.dirname(shipped)], timeout=timeout)
        self.assertEqual(status, done.returncode, f"{cpu}: {name}\n{done.stdout}{done.stderr}")
        for line in done.stdout.splitlines():
            print(f"{cpu}: {line}", file=sys.stderr)
        return [r for r in reports(folder.name) if r["kind"] in (kind, "too-many-threads" if kind == "hang" else kind)]


def main():
    why = not_here()
    if why:
        print(f"skipped: {why}")
        sys.exit(NOT_HERE)
    unittest.main()
