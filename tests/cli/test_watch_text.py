# SPDX-License-Identifier: MIT
"""What show and list say of a report that a watch from outside has written."""

import json
import os
import subprocess
import tempfile
import unittest

from support_run import HANGDOG, environment, main

ID = "0198f0a0-0000-7000-8000-00000000000%d"


def report(number, seconds, **more):
    return {"format": "hangdog-report/1", "id": ID % number, "kind": "hang", "started_at": "2026-11-23T22:54:5%d.0Z" % number,
            "duration_ns": int(seconds * 1e9), "excluded_ns": 0, "threshold_ns": 250000000, "complete": True,
            "app": {"name": "redis", "pid": 4, "session": ID % 9}, "host": {"os": "linux", "arch": "x86_64"},
            "watch": {"from": "outside", "hook": "switches", "turns": "exact-if-blocked"},
            "process": {}, "fingerprint": "0123456789abcdef", "hot_stack": {"frames": [], "stop": "no-answer"}, **more}


class Text(unittest.TestCase):
    def setUp(self):
        self.spool = tempfile.mkdtemp(prefix="hangdog-test-")

    def put(self, number, seconds, **more):
        with open(os.path.join(self.spool, ID % number + ".json"), "w", encoding="ascii") as out:
            json.dump(report(number, seconds, **more), out)

    def seen(self, *argv):
        return subprocess.run([HANGDOG, *argv, "--spool", self.spool], env=environment(), text=True,
                              stdout=subprocess.PIPE, check=True).stdout

    def test_a_hang_that_had_begun_before_the_watch(self):
        self.put(1, 2, at_least=True)
        text = self.seen("show", ID % 1)
        self.assertIn("hang of at least 2.0 s, redis[4]", text)
        self.assertIn("  note it had begun already when the watch began\n", text)
        self.assertIn("  watch   from outside, by switches; turns are exact if the thread blocked before", text)
        self.assertIn("> 2.0 s", self.seen("list"))
        self.put(2, 3)  # the longest is exact now
        self.assertNotIn(">", self.seen("list"))
        self.put(3, 1, at_least=True)
        self.assertNotIn(">", self.seen("list"))
        rows = json.loads(self.seen("list", "--each", "--json"))
        self.assertEqual([row.get("at_least") for row in rows], [True, None, True])

    def test_a_start_that_is_not_exact(self):
        self.put(1, 2, start_uncertain_ns=100000000)
        text = self.seen("show", ID % 1)
        self.assertIn("hang of 2.0 s, redis[4]", text)
        self.assertIn("  note up to 100 ms longer: its start was not seen\n", text)


if __name__ == "__main__":
    main()
