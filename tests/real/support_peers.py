# SPDX-License-Identifier: MIT
"""The frames of a process's threads, by hangdog dump and by eu-stack."""

import json
import re
import subprocess

from support_run import HANGDOG, PATIENCE


def dumped_threads(pid):
    """Of each thread that does not run, as the JSON of `dump` has it."""
    shown = subprocess.run([HANGDOG, "dump", "--json", "--no-symbols", str(pid)], text=True, capture_output=True, check=True,
                           timeout=PATIENCE).stdout
    return [thread for thread in json.loads(shown)["threads"] if thread["state"] != "running" and "stack" in thread]


def ours(pid):
    """{thread: addresses of its frames, innermost first}; of a script's function the interpreter's frames."""
    return {thread["tid"]: [int(frame["pc"], 16) for frame in thread["stack"]["frames"] if "language" not in frame]
            for thread in dumped_threads(pid)}


def eu_stack(pid):
    found = {}
    shown = subprocess.run(["eu-stack", "-n", "0", "-p", str(pid)], text=True, capture_output=True, check=False,
                           timeout=PATIENCE).stdout
    for line in shown.splitlines():
        thread, frame = re.match(r"TID (\d+):", line), re.match(r"#\d+ +(0x[0-9a-f]+)", line)
        if thread:
            frames = found.setdefault(int(thread[1]), [])
        elif frame:
            frames.append(int(frame[1], 16))
    return found
