# SPDX-License-Identifier: MIT
"""Which system calls a unit file allows, as systemd-analyze names them."""

import os
import re
import subprocess

ANALYZE = "/usr/bin/systemd-analyze"


def _sets():
    text = subprocess.run([ANALYZE, "syscall-filter"], capture_output=True, text=True, check=True, timeout=60).stdout
    sets, members = {}, []
    for line in text.splitlines():
        if line.startswith("@"):
            members = sets.setdefault(line.strip(), [])
        elif re.match(r" +[@a-z]", line):
            members.append(line.strip())
    return sets


def _expand(sets, word):
    if not word.startswith("@"):
        return {word}
    return set().union(*(_expand(sets, member) for member in sets[word]))


def allowed(unit):
    """The names of the calls; None: systemd-analyze is not here."""
    if not os.access(ANALYZE, os.X_OK):
        return None
    sets, calls = _sets(), _expand(_sets(), "@default")
    with open(unit, encoding="utf-8") as file:
        for value in re.findall(r"(?m)^SystemCallFilter=(.*)$", file.read()):
            words = set().union(*(_expand(sets, word) for word in value.lstrip("~").split()))
            calls = calls - words if value.startswith("~") else calls | words
    return calls


def exposure(unit):
    """From 0 to 10, as systemd-analyze security counts."""
    done = subprocess.run([ANALYZE, "security", "--offline=yes", "--no-pager", unit], capture_output=True, text=True, check=False,
                          timeout=60)
    return float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)[1])
