# SPDX-License-Identifier: MIT
#
# The turns of a program's threads as the kernel saw them: from the end of one wait to the start of the next. Root only. While it
# runs, each call of the host costs more: for proofs by hand.

import bisect
import collections
import contextlib
import os
import re
import subprocess
import tempfile

WAITS = {"x86_64": {7, 23, 232, 270, 271, 281, 426, 441}, "aarch64": {22, 72, 73, 426, 441}}
LINE = re.compile(r"-(\d+)\s+(?:\([^)]*\) )?\[\d+\]\s+\S+\s+(\d+)\.(\d{6}): sys_(enter|exit): NR (-?\d+) ")


class KernelTurns:
    def __init__(self, pid):
        self.waits = WAITS[os.uname().machine]
        self.stack = contextlib.ExitStack()
        base = "/sys/kernel/tracing"
        if not os.path.isdir(base + "/instances"):
            base = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="hangdog-test-"))
            subprocess.run(["mount", "-t", "tracefs", "nodev", base], check=True)
            self.stack.callback(subprocess.run, ["umount", base], check=True)
        self.folder = "%s/instances/hangdog-%d-%d" % (base, os.getpid(), pid)
        os.mkdir(self.folder)
        self.stack.callback(os.rmdir, self.folder)
        self._write("tracing_on", "0")
        self._write("trace_clock", "mono")
        self._write("buffer_size_kb", "16384")
        self._write("set_event_pid", " ".join(os.listdir("/proc/%d/task" % pid)))
        for event in ("sys_enter", "sys_exit"):
            self._write("events/raw_syscalls/%s/enable" % event, "1")

    def _write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(text)

    def close(self):
        for event in ("sys_enter", "sys_exit"):
            self._write("events/raw_syscalls/%s/enable" % event, "0")
        self.stack.close()

    def start(self):
        self._write("trace", "")
        self._write("tracing_on", "1")

    def turn_ns(self, start_ns=None, end_ns=None):
        """The length of the turn from the last wait before start_ns to the first after end_ns, of any thread, the shortest of
        them; without times the longest turn. None: the kernel lost it."""
        self._write("tracing_on", "0")
        with open(self.folder + "/trace", encoding="utf-8", errors="replace") as file:
            found = LINE.findall(file.read())
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
