# SPDX-License-Identifier: MIT
#
# A machine with a real systemd as its first process: systemd-nspawn, on a copy-on-write view of this machine's own root. Hangdog is
# installed there below /usr/local. One bash script runs in it as a service, and what it prints is the result.

import functools
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from support_run import BUILD, cached

SECONDS = 120
UNIT = """
[Unit]
DefaultDependencies=no
Requires=basic.target
After=basic.target
[Service]
Type=oneshot
Environment=HOME=/root
ExecStart=/bin/bash /test/script
StandardOutput=file:/test/out
StandardError=inherit
ExecStopPost=/bin/systemctl --no-block exit
"""
# What it writes is in memory. The namespace of mounts ends with the script, and the machine with the test.
BOOT = """
mount -t tmpfs tmpfs "$1/machine"
mkdir "$1/machine/work" "$1/machine/root"
cp -a "$1/upper" "$1/machine/upper"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/machine/upper,workdir=$1/machine/work" "$1/machine/root"
SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 exec setpriv --pdeathsig KILL systemd-nspawn --quiet --directory="$1/machine/root" --machine="hangdog-$$" --private-network \\
    --capability=CAP_BPF,CAP_PERFMON --system-call-filter="bpf perf_event_open" --register=no --keep-unit --link-journal=no --bind="$1/test:/test" --boot -- --unit=hangdog-test.service
"""


def run_machine(script, files=None):
    """What the script printed; `files` are put there before, by their paths. Skips the test where no machine can start."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hangdog-test-"))
    try:
        for name in ("upper", "machine", "test"):
            (folder / name).mkdir()
        subprocess.run([cached("CMAKE_COMMAND"), "--install", BUILD, "--prefix", "/usr/local"], check=True, timeout=60,
                       env={**os.environ, "DESTDIR": str(folder / "upper")}, stdout=subprocess.DEVNULL)
        for path, text in {"/etc/systemd/system/hangdog-test.service": UNIT, **(files or {})}.items():
            path = folder / "upper" / path.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (folder / "test/script").write_text(script)
        done = subprocess.run(["unshare", "--mount", "sh", "-ec", BOOT, "sh", folder], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=SECONDS, check=False)
        out = folder / "test/out"
        if not out.exists():
            raise unittest.SkipTest("no systemd starts here: " + (done.stdout + done.stderr).decode(errors="replace")[-500:])
        return out.read_text(errors="replace")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@functools.lru_cache
def why_no_machine():
    """Empty where a machine may start."""
    return ("only root starts a machine" if os.geteuid() != 0 else
            "" if shutil.which("systemd-nspawn") else "systemd-nspawn is not installed: scripts/install-dependencies test")
