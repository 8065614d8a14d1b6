# SPDX-License-Identifier: MIT
"""hangdog dump: the stacks of running programs that nobody prepared."""

import json
import os
import subprocess
import tempfile
import unittest

from support_run import HANGDOG, main, wait_until


def is_blocked(pid):
    """All of its threads sleep."""
    tasks = os.listdir("/proc/%d/task" % pid)
    return all(state_of_thread(pid, tid) in "SD" for tid in tasks)


def state_of_thread(pid, tid):
    with open("/proc/%d/task/%s/stat" % (pid, tid), encoding="utf-8", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def dump(*args, status=0, **kwargs):
    run = subprocess.run([HANGDOG, "dump", *map(str, args)], text=True, capture_output=True, timeout=120, check=False,
                         **kwargs)
    if run.returncode != status:
        raise AssertionError("status %d: %s%s" % (run.returncode, run.stdout, run.stderr))
    return run.stdout if status == 0 else run.stderr


def report_of(pid, *args):
    return json.loads(dump(pid, "--json", *args))


def functions(thread):
    return [frame.get("function") for frame in thread["stack"]["frames"]]


class Dump(unittest.TestCase):
    def make_folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def start(self, *command, **kwargs):
        kwargs.setdefault("stdout", subprocess.DEVNULL)
        kwargs.setdefault("stderr", subprocess.DEVNULL)
        program = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, **kwargs)

        def end():
            program.kill()
            program.communicate()
        self.addCleanup(end)
        return program

    def start_blocked(self, *command, **kwargs):
        """A program that has gone to sleep with all its threads, twice in a row."""
        program = self.start(*command, **kwargs)
        wait_until(lambda: os.readlink("/proc/%d/exe" % program.pid) != os.readlink("/proc/self/exe") or
                   "python" in command[0], "its program")
        for _ in range(3):
            wait_until(lambda: is_blocked(program.pid), "the program to block")
            subprocess.run(["sleep", "0.2"], check=True)
        return program

    def test_main_of_redis(self):
        redis = self.start_blocked("/usr/bin/redis-server", "--port", "0", "--save", "", "--unixsocket",
                                   os.path.join(self.make_folder(), "socket"))
        (thread,) = [thread for thread in report_of(redis.pid)["threads"] if thread["tid"] == redis.pid]
        names = functions(thread)
        self.assertEqual("epoll_wait", names[0])
        self.assertEqual(["aeMain", "main"], [name for name in names if name in ("aeMain", "main")])
        self.assertEqual("root", thread["stack"]["stop"])
        text = dump(redis.pid)
        self.assertRegex(text, r'thread %d "redis-server" \(main\)  waits for .* in epoll_wait\n' % redis.pid)
        self.assertRegex(text, r"(?m)^    aeMain$")


if __name__ == "__main__":
    main()
