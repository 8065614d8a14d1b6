# SPDX-License-Identifier: MIT
"""The stacks of Chromium's processes beside eu-stack's, at random moments: hardly a function of its program has an unwind table.

Each process is stopped for both tools, so that both see the same moment. By hand: test_chromium_stacks.py, some two minutes.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support_peers import dumped_threads, eu_stack
from support_run import main

STOPS = 20
SEED = 32
# Of all frames; and of all stacks that do not say that they may lack frames.
FRAMES_MIN = 0.98
STACKS_MIN = 0.99
PAGE = ("data:text/html,<canvas></canvas><script>setInterval(() => { let s = 0; for (let i = 0; i < 2e6; i++) s += Math.sqrt(i);"
        "document.title = s; fetch('data:,x'); }, 30)</script>")


def processes_of(session):
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            if os.getsid(int(name)) == session:
                found.append(int(name))
    return sorted(found)


class Chromium(unittest.TestCase):
    def setUp(self):
        for tool in ("chromium", "eu-stack"):
            if shutil.which(tool) is None:
                self.skipTest("%s is missing: scripts/install-dependencies test" % tool)
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        browser = subprocess.Popen(  # pylint: disable=consider-using-with
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + folder, "--remote-debugging-port=0", PAGE],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.session = browser.pid
        self.addCleanup(browser.wait)
        self.addCleanup(self.signal, signal.SIGKILL)
        time.sleep(6)
        self.assertIsNone(browser.poll())

    def signal(self, number):
        for pid in processes_of(self.session):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def look(self, totals):
        """Every thread of every process, at one moment."""
        for pid in processes_of(self.session):
            theirs = eu_stack(pid)
            for thread in dumped_threads(pid):
                frames = thread["stack"]["frames"]
                own = [int(frame["pc"], 16) for frame in frames if "language" not in frame]
                other = theirs.get(thread["tid"], [])
                equal = own == other
                trusts = [frame.get("trust") for frame in frames]
                gap = "gap" in trusts
                if "signal" in trusts and not equal:  # eu-stack loses the frames behind a handler whose code has no table
                    totals["in a handler"] += 1
                    continue
                totals["stacks"] += 1
                totals["equal"] += equal
                totals["said"] += gap
                totals["wrong and said"] += gap and not equal
                totals["frames"] += max(len(own), len(other))
                totals["frames equal"] += len(set(own) & set(other)) if not equal else len(own)
                if not equal and not gap:
                    print("thread %d of %d, stop %s\n  ours %s\n  eu   %s" % (thread["tid"], pid, thread["stack"].get("stop"), *(
                        " ".join("%x" % pc for pc in stack) for stack in (own, other))), file=sys.stderr)

    def test_stacks_at_random_moments(self):
        moments = random.Random(SEED)
        totals = dict.fromkeys(("in a handler", "stacks", "equal", "said", "wrong and said", "frames", "frames equal"), 0)
        for _ in range(STOPS):
            time.sleep(moments.uniform(0.05, 0.6))
            self.signal(signal.SIGSTOP)
            time.sleep(0.05)
            self.look(totals)
            self.signal(signal.SIGCONT)
        print("%d stops: %s" % (STOPS, ", ".join("%s %d" % item for item in totals.items())), file=sys.stderr)
        self.assertGreaterEqual(totals["frames equal"] / totals["frames"], FRAMES_MIN)
        self.assertGreaterEqual(totals["equal"] / (totals["stacks"] - totals["wrong and said"]), STACKS_MIN)


if __name__ == "__main__":
    main()
