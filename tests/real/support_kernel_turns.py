# SPDX-License-Identifier: MIT
#
# Events of the kernel, and the turns of a program's threads by them: from the end of one wait to the start of the next. Root only.
# While it runs, each call of the host costs more: for proofs by hand.

import bisect
import collections
import contextlib
import os
import re
import subprocess
import tempfile

WAITS = {"x86_64": {7, 23, 232, 270, 271, 281, 426, 441}, "aarch64": {22, 72, 73, 426, 441}}
LINE = re.compile(r"-(\d+)\s+(?:\([^)]*\) )?\[\d+\]\s+\S+\s+(\d+)\.(\d{6}): sys_(enter|exit): NR (-?\d+) ")


class Trace:
    """Events of the kernel, each with a filter ("0": none), in an instance of tracefs that ends by close()."""

    def __init__(self, events, pid_text=""):
        self.events = events
        self.stack = contextlib.ExitStack()
        base = "/sys/kernel/tracing"
        if not os.path.isdir(base + "/instances"):
            base = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="hangdog-test-"))
            subprocess.run(["mount", "-t", "tracefs", "nodev", base], check=True)
            self.stack.callback(subprocess.run, ["umount", base], check=True)
        self.folder = tempfile.mkdtemp(prefix="hangdog-", dir=base + "/instances")
        self.stack.callback(os.rmdir, self.folder)
        self.write("tracing_on", "0")
        self.write("trace_clock", "mono")
        self.write("buffer_size_kb", "16384")
        self.write("set_event_pid", pid_text)
        for event, condition in events.items():
            self.write("events/%s/filter" % event, condition)
            self.write("events/%s/enable" % event, "1")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(text)

    def start(self):
        self.write("trace", "")
        self.write("tracing_on", "1")

    def text(self):
        self.write("tracing_on", "0")
        with open(self.folder + "/trace", encoding="utf-8", errors="replace") as file:
            return file.read()

    def close(self):
        for event in self.events:
            self.write("events/%s/enable" % event, "0")
        self.stack.close()


class KernelTurns(Trace):
    def __init__(self, pid):
        self.waits = WAITS[os.uname().machine]
        super().__init__({"raw_syscalls/sys_enter": "0", "raw_syscalls/sys_exit": "0"}, " ".join(os.listdir("/proc/%d/task" % pid)))

    def turn_ns(self, start_ns=None, end_ns=None):
        """The length of the turn from the last wait before start_ns to the first after end_ns, of any thread, the shortest of
        them; without times the longest turn. None: the kernel lost it."""
        found = LINE.findall(self.text())
        ends, starts = collections.defaultdict(list), collections.defaultdict(list)
        for tid, seconds, micros, which, number in found:
            if int(number) in self.waits:
                (ends if which == "exit" else starts)[tid].append(int(seconds) * 10 ** 9 + int(micros) * 1000)
        turns = []
        for tid, times in ends.items():
            if start_ns is None:
                times_after = ((t, bisect.bisect_left(starts[tid], t)) for t in times)
                turns += [starts[tid][at] - t for t, at in times_after if at < len(starts[tid])]
                continue
            first, last = bisect.bisect_right(times, start_ns) - 1, bisect.bisect_left(starts[tid], end_ns)
            if first >= 0 and last < len(starts[tid]):
                turns.append(starts[tid][last] - times[first])
        return (max if start_ns is None else min)(turns, default=None)
