# SPDX-License-Identifier: MIT
"""Tests of the arm64 build on Debian's arm64 kernel, in a virtual machine.

Under qemu-aarch64 the kernel sees the emulator's threads, so tests of the kernel's side need a kernel. cmake/Tests.cmake
lists those that run here. For all: HANGDOG_MACHINE=all ctest --test-dir build/aarch64 -R machine. By names, by hand:
HANGDOG_BUILD=$PWD/build/aarch64 HANGDOG_SOURCE=$PWD python3 tests/machine/test_arm64.py NAME...
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["HANGDOG_BUILD"])
KERNEL = BUILD / "sysroot/kernel"
BUSYBOX = BUILD / "sysroot/bin/busybox"
QEMU = "qemu-system-aarch64"
LIBRARIES = [pathlib.Path("/usr/aarch64-linux-gnu/lib"), BUILD / "sysroot/usr/lib/aarch64-linux-gnu",
             BUILD / "sysroot/lib/aarch64-linux-gnu"]
SECONDS = 90 # for one test
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HANGDOG_BUILD=@BUILD@ HANGDOG_SOURCE=@SOURCE@
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir /dev/shm && mount -t tmpfs shm /dev/shm
ip link set lo up
cd @BUILD@/tests
for test in @TESTS@; do
    read before rest </proc/uptime
    for try in 1 2 3; do # an emulated CPU is late now and then
        timeout -s ABRT @SECONDS@ ./$test >/tmp/out 2>&1 </dev/null
        status=$?
        case $status in 0 | 77) break ;; esac
    done
    read after rest </proc/uptime
    echo "== $test $status $before $after $try"
    [ $status = 0 ] || cat /tmp/out
    echo "== end"
done
poweroff -f
"""


def missing():
    if not shutil.which(QEMU):
        return f"there is no {QEMU}: apt-get install qemu-system-arm"
    if not KERNEL.exists():
        return "there is no kernel for arm64: scripts/install-sysroot"
    return None


def put(root, file):
    place = root / str(file.absolute())[1:]
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, place)


def make_root(root, tests):
    for folder in ("bin", "proc", "sys", "dev", "tmp", "root", "etc", "var/tmp"):
        (root / folder).mkdir(parents=True)
    shutil.copy(BUSYBOX, root / "bin/busybox")
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n", encoding="utf-8")
    for folder in LIBRARIES:
        for library in folder.glob("*.so.*"):
            if "san" not in library.name:
                put(root, library)
    for folder in ("lib", "bin", "libexec"):
        for file in (BUILD / folder).rglob("*"):
            if file.is_file() and not file.suffix == ".a":
                put(root, file)
    for file in [*(BUILD / "tests" / name for name in tests), *(BUILD / "tests/programs").iterdir()]:
        put(root, file)
    values = {"BUILD": BUILD, "SOURCE": os.environ["HANGDOG_SOURCE"], "TESTS": " ".join(tests), "SECONDS": SECONDS}
    init = re.sub("@([A-Z]+)@", lambda name: str(values[name[1]]), INIT)
    (root / "init").write_text(init, encoding="utf-8")
    (root / "init").chmod(0o755)


def machine(tests):
    """What the machine printed."""
    with tempfile.TemporaryDirectory() as folder:
        root, image = pathlib.Path(folder, "root"), pathlib.Path(folder, "image")
        root.mkdir()
        make_root(root, tests)
        with open(image, "wb") as out:
            subprocess.run("find . | busybox cpio -o -H newc", shell=True, cwd=root, stdout=out, stderr=subprocess.DEVNULL, check=True)
        shutil.rmtree(root)
        ran = subprocess.run(
            [QEMU, "-machine", "virt", "-cpu", "max,pauth-impdef=on", "-accel", "tcg,thread=multi", "-smp", "2", "-m", "1500", "-nographic",
             "-no-reboot", "-net", "none", "-kernel", KERNEL, "-initrd", image, "-append", "console=ttyAMA0 quiet panic=-1 mitigations=off"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace", check=False)
    return ran.stdout.replace("\r", "")


def main(wanted):
    listed = "HANGDOG_MACHINE_ALL" if os.environ.get("HANGDOG_MACHINE") == "all" else "HANGDOG_MACHINE_TESTS"
    tests = wanted or os.environ[listed].split(":")
    printed = machine(tests)
    found = dict(re.findall(r"^== (\S+) (\d+) ", printed, re.M))
    failed = [name for name in tests if found.get(name) not in ("0", "77")]
    for name, status, before, after, tries in re.findall(r"^== (\S+) (\d+) (\S+) (\S+) (\d)$", printed, re.M):
        word = {"0": "passed", "77": "skipped"}.get(status, f"FAILED with status {status}") + ("" if tries == "1" else f" in try {tries}")
        print(f"{name:36} {word} {float(after) - float(before):.1f} s")
    if failed:
        print(printed)
        print("failed:", *failed)
    return 1 if failed else 0


if __name__ == "__main__":
    why = missing()
    if why:
        print(why)
        sys.exit(77)
    sys.exit(main(sys.argv[1:]))
