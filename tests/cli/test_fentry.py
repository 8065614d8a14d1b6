# SPDX-License-Identifier: MIT
"""The programs at the kernel's functions of wait calls, on Debian's stock kernel in a virtual machine.

This host's own kernel may be locked down, and then refuses them. The machine runs unit-bpf_hook with the way fentry.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support_run import main

BUILD = pathlib.Path(os.environ["HANGDOG_BUILD"])
TEST = BUILD / "tests/unit-bpf_hook"
KERNEL = pathlib.Path(os.environ["HANGDOG_SOURCE"], "build/kernel/vmlinuz")
NEEDED = {"qemu-system-x86_64": "apt-get install qemu-system-x86", "busybox": "apt-get install busybox-static"}
INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
HANGDOG_HOOK=fentry /test
echo "status $?"
/bin/busybox poweroff -f
"""


def missing():
    if os.uname().machine != "x86_64":
        return "the kernel of this test is for x86-64"
    for program, install in NEEDED.items():
        if not shutil.which(program):
            return f"there is no {program}: {install}"
    if not (BUILD / "bpf/waits.skel.h").exists():
        return "this build has no hooks by BPF: scripts/install-dependencies build"
    if not KERNEL.exists():
        return "there is no build/kernel/vmlinuz: scripts/install-kernel"
    return None


def make_root(root):
    for folder in ("bin", "proc", "sys", "dev", "tmp"):
        (root / folder).mkdir()
    shutil.copy(shutil.which("busybox"), root / "bin/busybox")
    (root / "bin/true").symlink_to("busybox")
    shutil.copy(TEST, root / "test")
    for library in re.findall(r"(/\S+) \(0x", subprocess.check_output(["ldd", TEST], text=True)):
        place = root / library[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(library), place)
    (root / "init").write_text(INIT, encoding="utf-8")
    (root / "init").chmod(0o755)


class Fentry(unittest.TestCase):
    def test_turns_are_exact_on_a_stock_kernel(self):
        with tempfile.TemporaryDirectory() as folder:
            root, image = pathlib.Path(folder, "root"), pathlib.Path(folder, "image")
            root.mkdir()
            make_root(root)
            with open(image, "wb") as out:
                subprocess.run("find . | busybox cpio -o -H newc", shell=True, cwd=root, stdout=out, stderr=subprocess.DEVNULL,
                               check=True)
            ran = subprocess.run(
                ["qemu-system-x86_64", "-m", "512", "-nographic", "-no-reboot", "-net", "none", "-kernel", KERNEL, "-initrd", image,
                 "-append", "console=ttyS0 quiet panic=-1 mitigations=off"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=400, check=False)
        self.assertIn("status 0", ran.stdout, ran.stdout[-4000:] + ran.stderr)
        self.assertRegex(ran.stdout, r"on a CPU: start [-+]\d+ us")


if __name__ == "__main__":
    why = missing()
    if why:
        print(why)
        sys.exit(77)
    main()
