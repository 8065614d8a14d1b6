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
TAKEN_AT_MOST = 100  # reports of one run that the program asks the runner to write
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
    os.mkdir(spool, 0o700)
    others = pathlib.Path(spool, UUID + ".json")
    others.write_text(json.dumps({**report, "complete": True, "app": {"name": "other", "session": UUID}}))
    before, other, wrong = files(victim), others.read_bytes(), []
    for seed in range(RUNS):
        done = subprocess.run([HANGDOG, "run", "--spool", spool, "--", HOSTILE, victim, UUID, str(seed)], cwd=FOLDER,
                              env=environment(), capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != -9:
            wrong.append("the runner ended by %s: %s" % (done.returncode, done.stderr[-500:]))
        if files(victim) != before:
            wrong.append("the runner wrote into the victim's folder: %s" % sorted(files(victim)))
            break
        if seed < 2 and others.read_bytes() != other:  # later the spool's limits take it, for all that are written
            wrong.append("the runner replaced another run's report")
        taken = [name for name in os.listdir(spool) if name.startswith(UUID[:24])]
        if seed == 0 and (len(taken) != 1 + TAKEN_AT_MOST or any(name[24:26] != "00" for name in taken if name != others.name)):
            wrong.append("the runner took %s" % taken)
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
