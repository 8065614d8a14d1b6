# SPDX-License-Identifier: MIT
#
# A program writes all that it shares with a runner that has root's rights. The attack runs under a small root of its own,
# where each folder but those of the attack is mounted read-only. All files are compared, and what the spool holds is not.

import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from support_figures import IMPOSSIBLE
from support_run import BUILD, HANGDOG, environment, main

HOSTILE = os.path.join(BUILD, "tests/programs/hostile-record")
RUNS = 12
TAKEN_AT_MOST = 100  # reports of one run that the program asks the runner to write
OTHER = 65534  # the user that the program becomes
UUID = "01a20b5e-71af-75c2-97ac-9c09f4c20e2f"
VICTIM, SPOOLS = "/victim", "/spools"
PLACES = ("/usr", "/bin", "/sbin", "/lib", "/lib64", sys.base_prefix, BUILD, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REPORT = {"format": "hangdog-report/1", "id": UUID, "kind": "hang", "complete": False, "duration_ns": 1, "app": {}}


def writable_mounts():
    """Where a mount can be written, but those of the kernel's own files."""
    mounts = (line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines())
    return [mount[4] for mount in mounts if "ro" not in mount[5].split(",") and not mount[4].startswith(("/proc", "/dev"))]


def files():
    """Of all that can be written outside of the spools: what is there, whose it is, and a sum of what it holds."""
    seen, here = {}, os.lstat("/").st_dev
    for folder, below, names in os.walk("/"):
        below[:] = [name for name in below if os.lstat(os.path.join(folder, name)).st_dev == here
                    and os.path.join(folder, name) not in (SPOOLS, "/proc")]
        for path in (os.path.join(folder, name) for name in [*names, "."]):
            st = os.lstat(path)
            regular = os.path.isfile(path) and not os.path.islink(path)
            held = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest() if regular and st.st_dev == here else ""
            seen[path] = (st.st_mode, st.st_uid, st.st_gid, st.st_mtime_ns if regular else 0, held)
    return seen


def prepare():
    for folder in (VICTIM, "/etc", "/root/.ssh", "/var/lib", "/home/anna", SPOOLS):
        os.makedirs(folder, exist_ok=True)
    for path in ("/etc/passwd", "/etc/shadow", "/root/.ssh/authorized_keys", "/home/anna/notes"):
        pathlib.Path(path).write_text("root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n", encoding="utf-8")
    for name in (UUID + ".json", "." + UUID + ".held", "." + UUID + ".open"):
        pathlib.Path(VICTIM, name).write_text(json.dumps(REPORT), encoding="utf-8")


def plant(spool, seed):
    """What is in the way of the runner's temporary file, in a spool of the program's user. What keeps it."""
    temp = "%s/.%s.tmp" % (spool, UUID)
    if seed % 4 < 2:  # as where fs.protected_hardlinks is 0
        os.link("/etc/shadow", temp)
        return None
    held = open(temp, "w", encoding="ascii")  # pylint: disable=consider-using-with
    os.chown(temp, OTHER, OTHER)
    fcntl.flock(held, fcntl.LOCK_EX)
    return held


def attack():
    """Prints what is wrong, and what was looked at."""
    prepare()
    before, wrong, told = files(), [], []
    for seed in range(RUNS):
        drops = seed % 2 == 1
        spool = "%s/%d" % (SPOOLS, seed)
        os.mkdir(spool, 0o700)
        held = others = None
        if drops:
            os.chown(spool, OTHER, OTHER)
            held = plant(spool, seed)
        else:
            others = pathlib.Path(spool, UUID + ".json")
            others.write_text(json.dumps({**REPORT, "complete": True, "app": {"name": "other", "session": UUID}}), encoding="utf-8")
        other = others and others.read_bytes()
        done = subprocess.run([HANGDOG, "run", "--spool", spool, "--", HOSTILE, VICTIM, UUID, str(seed), *([spool] if drops else [])],
                              cwd="/", env=environment(), capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != -9:
            wrong.append("run %d: the runner ended by %s: %s" % (seed, done.returncode, done.stderr[-500:]))
        wrong += ["run %d: printed %r" % (seed, line) for line in done.stderr.splitlines() if IMPOSSIBLE.search(line)]
        shown = subprocess.run([HANGDOG, "show", "latest", "--spool", spool], cwd="/", env=environment(), capture_output=True, text=True,
                               timeout=60, check=False)
        wrong += ["run %d: shown %r" % (seed, line) for line in shown.stdout.splitlines() if IMPOSSIBLE.search(line)]
        after = files()
        wrong += ["run %d: %s was touched" % (seed, path) for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
        if others and others.read_bytes() != other:
            wrong.append("run %d: the runner replaced another run's report" % seed)
        taken = [name for name in os.listdir(spool) if name.startswith(UUID[:24])]
        if seed == 0 and (len(taken) != 1 + TAKEN_AT_MOST or any(name[24:26] != "00" for name in taken if name != others.name)):
            wrong.append("the runner took %s" % taken)
        if drops:
            told.append(os.stat("%s/%s.json" % (spool, UUID)).st_uid)
        if held:
            held.close()
    print(json.dumps({"wrong": wrong, "files": len(before), "mounts": writable_mounts(), "told": told}))


class Hostile(unittest.TestCase):
    @unittest.skipIf(os.getuid() != 0, "only root makes a mount namespace, and has rights to lose")
    def test_all_that_is_shared_is_written_by_the_program(self):
        root = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, root)
        places = [place for place in dict.fromkeys(map(os.path.realpath, PLACES)) if os.path.isdir(place)]
        script = ["mount --make-rprivate /", "mount -t tmpfs none '%s'" % root, "mkdir '%s'/proc '%s'/dev '%s'/tmp" % (root, root, root)]
        for place in places:
            script += ["mkdir -p '%s%s'" % (root, place), "mount --rbind '%s' '%s%s'" % (place, root, place),
                       "mount -o remount,bind,ro '%s%s'" % (root, place)]
        script += ["ln -s %s '%s%s'" % (os.readlink(link), root, link) for link in PLACES if os.path.islink(link)]
        script += ["mount --rbind /proc '%s/proc'" % root, "mount --rbind /dev '%s/dev'" % root,
                   "exec chroot '%s' '%s' -B '%s' attack" % (root, sys.executable, os.path.abspath(__file__))]
        done = subprocess.run(["unshare", "--mount", "sh", "-ec", "\n".join(script)], capture_output=True, text=True, timeout=300,
                              env=environment({"PYTHONPATH": os.path.dirname(os.path.abspath(sys.modules["support_run"].__file__))}),
                              check=False)
        if "mount:" in done.stderr or "unshare:" in done.stderr:
            self.skipTest("no mount namespace here: " + done.stderr.strip())
        self.assertEqual(0, done.returncode, done.stderr)
        seen = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual([], seen["wrong"], done.stderr)
        self.assertEqual(["/"], seen["mounts"])  # all that can be written was compared
        self.assertGreater(seen["files"], 10)
        # a link in its way is removed, and the report replaced; who keeps the file is not waited for
        self.assertEqual([0, OTHER] * (RUNS // 4), seen["told"])


if __name__ == "__main__":
    if sys.argv[1:] == ["attack"]:
        attack()
    else:
        main()
