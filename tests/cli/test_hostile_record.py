# SPDX-License-Identifier: MIT
#
# A program that dropped root writes all that it shares with a runner that has root's rights. The attack runs in a mount
# namespace where all but a folder of its own is read-only.

import json
import os
import pathlib
import subprocess
import sys
import unittest

from support_run import BUILD, HANGDOG, environment, main

HOSTILE = os.path.join(BUILD, "tests/programs/hostile-record")
RUNS = 12
UUID = "01a20b5e-71af-75c2-97ac-9c09f4c20e2f"
FOLDER = "/tmp/hangdog-hostile"


def files(folder):
    return {str(path): (path.read_bytes() if path.is_file() else None) for path in pathlib.Path(folder).rglob("*")}


def attack():
    """In the namespace. Prints what is wrong."""
    victim, spool = FOLDER + "/victim", FOLDER + "/spool"
    os.makedirs(victim + "/below")
    report = {"format": "hangdog-report/1", "id": UUID, "kind": "hang", "complete": False, "duration_ns": 1, "app": {}}
    for name in (UUID + ".json", "." + UUID + ".held", "." + UUID + ".open"):
        pathlib.Path(victim, name).write_text(json.dumps(report))
    before, wrong = files(victim), []
    for seed in range(RUNS):
        done = subprocess.run([HANGDOG, "run", "--spool", spool, "--", HOSTILE, victim, UUID, str(seed)], cwd=FOLDER,
                              env=environment(), capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != -9:
            wrong.append("the runner ended by %s: %s" % (done.returncode, done.stderr[-500:]))
        if files(victim) != before:
            wrong.append("the runner wrote into the victim's folder: %s" % sorted(files(victim)))
            break
    wrong += ["%s was made" % name for name in os.listdir(FOLDER) if name not in ("victim", "spool")]
    print(json.dumps(wrong))


class Hostile(unittest.TestCase):
    @unittest.skipIf(os.getuid() != 0, "only root makes a mount namespace, and has rights to lose")
    def test_all_that_is_shared_is_written_by_the_program(self):
        script = ("mount -o remount,bind,ro / && mount -t tmpfs tmpfs /tmp && mkdir %s && exec %s -B %s attack"
                  % (FOLDER, sys.executable, os.path.abspath(__file__)))
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=300,
                              env=environment({"PYTHONPATH": os.path.dirname(os.path.abspath(sys.modules["support_run"].__file__))}),
                              check=False)
        if "mount:" in done.stderr or "unshare:" in done.stderr:
            self.skipTest("no mount namespace here: " + done.stderr.strip())
        self.assertEqual([], json.loads(done.stdout.splitlines()[-1]), done.stderr)


if __name__ == "__main__":
    if sys.argv[1:] == ["attack"]:
        attack()
    else:
        main()
