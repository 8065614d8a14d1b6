# SPDX-License-Identifier: MIT
"""What is recorded: each plan starts its program, drives it, and knows the truth."""
import os
import subprocess

SLOWER = 3 if os.environ.get("HANGDOG_SANITIZER") else 1


class Plan:
    def __init__(self, drive, what, did, packages, truth, wrong):
        self.drive = drive
        self.what = what
        self.did = did
        self.packages = packages
        self.truth = truth
        self.wrong = wrong

    def versions(self):
        out = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}, ", *self.packages],
                             capture_output=True, text=True, check=False).stdout
        return out.rstrip(", ") or "-"


PLANS = {}


def plan(name, what, did, packages=(), truth=None, wrong=""):
    def add(drive):
        PLANS[name] = Plan(drive, what, did, list(packages) + ["libc6"], truth, wrong)
        return drive
    return add


# pylint: disable=wrong-import-position,unused-import
import plans_made  # noqa: E402,F401
import plans_scripts  # noqa: E402,F401
import plans_batch  # noqa: E402,F401
import plans_servers  # noqa: E402,F401
