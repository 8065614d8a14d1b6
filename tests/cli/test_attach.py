# SPDX-License-Identifier: MIT
"""hangdog attach as a command: which processes it watches, what it prints and where, and how it ends."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support_run import HANGDOG, PATIENCE, children_of, environment, main, wait_until

PYTHON = "/usr/bin/python3"
# An event loop. It sleeps in a turn when a line of its input says for how long, and answers then.
SERVER = """
import select, socket, sys, time
listening = socket.create_server(("127.0.0.1", 0))
def stall(seconds):
    time.sleep(seconds)
while True:
    ready, _, _ = select.select([listening, sys.stdin], [], [], 0.1)
    if sys.stdin in ready:
        line = sys.stdin.readline()
        if not line:
            break
        stall(float(line))
        print("served", flush=True)
"""
# A loop that waited at another depth of the stack before the watch, as Python's own does before it has specialised the call.
FRESH = """
import select, socket, sys, time
listening = socket.create_server(("127.0.0.1", 0))
poll = select.epoll()
poll.register(listening)
poll.register(sys.stdin)
list(map(poll.poll, [-1]))
while True:
    time.sleep(float(sys.stdin.readline()))
    print("served", flush=True)
    poll.poll(-1)
"""
EXECS = """
import os, select, socket, sys
listening = socket.create_server(("127.0.0.1", 0))
poll = select.epoll()
poll.register(listening)
poll.poll(0.15)
os.execv(sys.executable, [sys.executable, *sys.argv])
"""


class Attach(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hangdog-attach-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.started = []
        self.addCleanup(self.end)

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for file in (process.stdin, process.stdout, process.stderr):
                file.close()

    def start(self, argv, **more):
        process = subprocess.Popen(argv, cwd=self.folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment({"HOME": self.folder}), **more)
        self.started.append(process)
        return process

    def server(self, name="hangs.py"):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            pathlib.Path(path).write_text(SERVER, encoding="ascii")
        return self.start([PYTHON, path])

    def stall(self, server, seconds=0.8):
        server.stdin.write("%f\n" % seconds)
        server.stdin.flush()
        self.assertEqual("served\n", server.stdout.readline())

    def attach(self, *arguments):
        return self.start([HANGDOG, "attach", "--spool", os.path.join(self.folder, "spool"), *map(str, arguments)])

    def reports(self):
        files = pathlib.Path(self.folder, "spool").rglob("*.json")
        found = []
        for file in sorted(files):
            with contextlib.suppress(OSError, ValueError):
                found.append(json.loads(file.read_text(encoding="utf-8")))
        return found

    def hang_of(self, pid):
        """Waits until the hang of this process has a whole report."""
        def is_there():
            return any(r["app"]["pid"] == pid and r["kind"] == "hang" and r["complete"] for r in self.reports())
        wait_until(is_there, "the report of %d" % pid)

    def until_hang(self, *servers):
        """A loop is known after some waits: stalls until a report comes."""
        for server in servers:
            deadline = time.monotonic() + PATIENCE
            while not any(r["app"]["pid"] == server.pid and r["kind"] == "hang" for r in self.reports()):
                self.assertLess(time.monotonic(), deadline, "no report of %d" % server.pid)
                time.sleep(0.5)
                self.stall(server)
            self.hang_of(server.pid)

    def finish(self, attached, how=signal.SIGINT):
        if how is not None:
            attached.send_signal(how)
        out, err = attached.communicate(timeout=PATIENCE)
        return out, err, attached.returncode

    def run_attach(self, *arguments):
        return subprocess.run([HANGDOG, "attach", *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              env=environment({"HOME": self.folder}), timeout=PATIENCE, check=False)

    def test_a_hang_and_the_end_by_ctrl_c(self):
        server = self.server()
        self.stall(server, 0)
        files = os.listdir("/proc/%d/fd" % server.pid)
        maps = pathlib.Path("/proc/%d/maps" % server.pid).read_bytes()
        attached = self.attach(server.pid)
        self.until_hang(server)
        out, err, status = self.finish(attached)
        self.assertEqual(("", 0), (err, status))
        self.assertRegex(out, r"(?m)^hangdog: hang of (at least )?[0-9.]+ m?s in stall \(hangs\.py:5\), hangs\.py\[%d\]" % server.pid)
        self.assertRegex(out, r"(?m)^  why  slept in ")
        self.assertRegex(out, r"(?m)^hangdog: watched hangs\.py\[%d\] for .* m?s: \d+ hangs?, .* lost\s+\(\d+%%\)$" % server.pid)
        self.stall(server, 0)
        self.assertEqual((files, maps), (os.listdir("/proc/%d/fd" % server.pid),
                                         pathlib.Path("/proc/%d/maps" % server.pid).read_bytes()))
        report = next(r for r in self.reports() if r["kind"] == "hang")
        self.assertEqual("outside", report["watch"]["from"])
        self.assertEqual("hangs.py", report["app"]["name"])

    @unittest.skipIf(os.geteuid() != 0, "only root watches the programs of others")
    def test_another_users_program_has_a_plain_name(self):
        """Its name becomes that of a folder, and --on-hang gets the path."""
        os.chmod(self.folder, 0o755)
        program = os.path.join(self.folder, ".$(id)`\n'")
        shutil.copy(PYTHON, program)
        server = self.start([program, "-c", SERVER], user=65534, group=65534, extra_groups=[])
        self.stall(server, 0)
        attached = self.attach("--user", "65534")
        self.until_hang(server)
        self.finish(attached)
        self.assertEqual("___id____", next(r["app"]["name"] for r in self.reports() if r["app"]["pid"] == server.pid))
        self.assertIn("___id____", os.listdir(os.path.join(self.folder, "spool")))

    @unittest.skipIf(os.geteuid() != 0, "only root starts programs of another user")
    def test_a_group_has_no_processes_that_end_soon(self):
        """A build starts many of them. The shell is watched, and so is its last child."""
        shell = self.start(["/bin/sh", "-c", "read go; for i in 0 1 2 3 4 5 6 7 8 9; do sleep 0.2; done; sleep 60; :"], user=61234,
                           group=61234, extra_groups=[])
        attached = self.attach("--user", "61234")
        wait_until(lambda: os.path.exists(os.path.join(self.folder, "spool")), "the spool", PATIENCE)
        time.sleep(0.3)
        shell.stdin.write("go\n")
        shell.stdin.flush()
        time.sleep(5)
        out, err, _ = self.finish(attached)
        found = re.search(r"watched (\d+) processes", out + err)
        self.assertIsNotNone(found, out + err)
        self.assertLessEqual(int(found[1]), 6)

    def test_a_name_means_all_that_have_it_now_and_later(self):
        first = self.server()
        other = self.server("other.py")
        time.sleep(0.5)
        attached = self.attach("hangs.py")
        self.until_hang(first)
        second = self.server()
        self.until_hang(second)
        self.stall(other)
        for server in (first, second):
            server.stdin.close()
            server.wait(PATIENCE)
        out, _, status = self.finish(attached, None)  # it ends with its processes
        self.assertEqual(0, status)
        self.assertRegex(out, r"(?m)^hangdog: watched 2 processes for .*: \d+ hangs, .* lost in 2 processes$")
        self.assertNotIn("[%d]" % other.pid, out)

    def test_wait_lasts_over_a_restart(self):
        self.assertIn("--wait: want a NAME", self.run_attach("--wait", 1).stderr)
        attached, pids = self.attach("--wait", "again.py"), []
        self.assertEqual("hangdog: waiting for again.py, Ctrl-C ends\n", attached.stderr.readline())
        for _ in range(2):
            server = self.server("again.py")
            pids.append(server.pid)
            self.until_hang(server)
            server.stdin.close()
            server.wait(PATIENCE)
            self.assertRegex(attached.stderr.readline(), r"attached to \S+\[%d\]$" % server.pid)
            self.assertRegex(attached.stderr.readline(), r"\S+\[%d\] ended; waiting for again\.py, Ctrl-C ends$" % server.pid)
        out, _, status = self.finish(attached)
        self.assertEqual(0, status)
        self.assertRegex(out, r"(?m)^hangdog: watched 2 processes for .*: \d+ hangs, .* lost in 2 processes$")

    def test_json_is_all_of_stdout(self):
        server = self.server()
        time.sleep(0.5)
        command = 'cp "$1" "%s/given.json"' % self.folder
        attached = self.attach("--json", "--on-hang", command, server.pid)
        self.until_hang(server)
        wait_until(lambda: os.path.exists(os.path.join(self.folder, "given.json")), "the command's copy")
        out, err, status = self.finish(attached, signal.SIGTERM)
        self.assertEqual(("", 0), (err, status))
        reports = [json.loads(line) for line in out.splitlines()]
        self.assertIn("hang", [r["kind"] for r in reports])
        self.assertEqual(["outside"] * len(reports), [r["watch"]["from"] for r in reports])
        given = json.loads(pathlib.Path(self.folder, "given.json").read_text(encoding="utf-8"))
        self.assertIn(given["id"], [r["id"] for r in reports])

    def test_a_reader_that_goes_ends_it(self):
        server = self.server()
        attached = self.attach(server.pid)
        attached.stdout.close()
        self.assertEqual(0, attached.wait(PATIENCE))

    def test_a_process_without_a_loop_says_what_it_does(self):
        sleeper = self.start(["sleep", "1000"])
        time.sleep(0.3)
        attached = self.attach(sleeper.pid)
        wait_until(lambda: children_of(attached.pid), "the reporter")
        time.sleep(1)
        out, _, status = self.finish(attached)
        self.assertEqual(0, status)
        self.assertRegex(out, r"^hangdog: watched sleep\[\d+\] for .* s: no event loop, so hangs could not be seen; no thread "
                              r"waited as a loop does; the main thread spent .* sleeping in \w+; all stacks now: .* dump \d+$")

    def test_the_first_hang_of_a_fresh_loop_ends(self):
        path = os.path.join(self.folder, "fresh.py")
        pathlib.Path(path).write_text(FRESH, encoding="ascii")
        server = self.start([PYTHON, path])
        syscall = pathlib.Path("/proc/%d/syscall" % server.pid)
        wait_until(lambda: re.match(r"(232|22) ", syscall.read_text("ascii")), "the wait")
        attached = self.attach(server.pid)
        wait_until(lambda: children_of(attached.pid), "the reporter")
        time.sleep(2)
        self.stall(server)
        self.hang_of(server.pid)
        self.finish(attached)
        hangs = [r for r in self.reports() if r["kind"] == "hang"]
        self.assertEqual([("sleep", True)], [(r["cause"]["kind"], r["complete"]) for r in hangs])

    def test_a_hang_is_not_older_than_the_watch(self):
        path = os.path.join(self.folder, "execs.py")
        pathlib.Path(path).write_text(EXECS, encoding="ascii")
        process = self.start([PYTHON, path])
        attached = self.attach("-t", "100ms", process.pid)
        time.sleep(4)
        self.finish(attached)
        longest = max(r["duration_ns"] for r in self.reports())
        self.assertLess(longest, 60 * 10 ** 9)

    def test_refusals_have_remedies(self):
        kernel = next((int(p) for p in os.listdir("/proc") if p.isdigit()
                       and pathlib.Path("/proc", p, "stat").read_text("utf-8").split(") ")[-1].split()[6] == "2129984"), None)
        for arguments, status, words in (
                ([], 2, "which process? A PID, a NAME, --unit UNIT, --user USER, or --all"),
                ([2 ** 31 - 2], 1, "cannot attach to process 2147483646: there is no such process"),
                ([0], 1, "cannot attach to process 0: there is no such process"),
                ([""], 1, "cannot attach to '': no process has that name"),
                (["--json", "no such", "1"], 1, "attach --json='no such' ..."),
                (["no-such-program"], 1, "cannot attach to 'no-such-program': no process has that name"),
                (["--user", "rooot"], 1, "there is no user 'rooot'; did you mean 'root'?"),
                (["--unit", "no-such"], 1, "no process of this host is in it; try: systemctl status no-such.service"),
                (["--hook", "none", 1], 2, "want one of"),
                *([([kernel], 1, "it is a thread of the kernel")] if kernel else [])):
            done = self.run_attach(*arguments)
            self.assertEqual((status, ""), (done.returncode, done.stdout), done.stderr)
            self.assertIn(words, done.stderr)
            self.assertTrue(done.stderr.startswith("hangdog: "), done.stderr)

    def test_itself_is_refused(self):
        done = subprocess.run(["/bin/sh", "-c", 'exec "$0" attach $$', HANGDOG], capture_output=True, text=True, cwd=self.folder,
                              env=environment({"HOME": self.folder}), timeout=PATIENCE, check=False)
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertRegex(done.stderr, r"^hangdog: cannot attach to process \d+: it is this command itself; name another process\n$")

    @unittest.skipIf(os.geteuid() != 0, "only root becomes another user")
    def test_a_group_without_rights_names_the_command_for_the_group(self):
        os.chmod(self.folder, 0o777)
        for words in (["--all"], ["--user", "root"]):
            done = subprocess.run([HANGDOG, "attach", *words], user=4242, group=4242, extra_groups=[], capture_output=True, text=True,
                                  cwd=self.folder, env=environment({"HOME": self.folder}), timeout=PATIENCE, check=False)
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertRegex(done.stderr, r"^hangdog: cannot attach to any of \d+ processes; the first: cannot attach to process \d+: it needs root "
                             r"or the same user; try: sudo \S*hangdog attach %s\n$" % " ".join(words))

    def test_top_has_the_same_name(self):
        server = self.server("own-name.py")
        attached = self.attach(server.pid)
        self.until_hang(server)
        top = subprocess.run([HANGDOG, "top", "--once", "--interval", "100ms", str(server.pid)], capture_output=True, text=True,
                             env=environment({"HOME": self.folder}), timeout=PATIENCE, check=True).stdout
        self.assertTrue(top.startswith("own-name.py[%d]  up " % server.pid), top)
        self.assertIn("own-name.py[%d]" % server.pid, "".join(self.finish(attached)[:2]))

    @unittest.skipIf(shutil.which("objcopy") is None, "no objcopy: scripts/install-dependencies build")
    def test_a_program_of_go_is_refused(self):
        program = os.path.join(self.folder, "server")
        subprocess.run(["objcopy", "--add-section", ".go.buildinfo=" + HANGDOG, "/bin/sleep", program], check=True)
        server = self.start([program, "60"])
        wait_until(lambda: os.readlink("/proc/%d/exe" % server.pid) == os.path.realpath(program), "the program")
        done = self.run_attach(server.pid)
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertIn("it is a program of Go, and none of its threads has an event loop; try: ", " ".join(done.stderr.split()))

    def test_a_process_of_run_is_refused(self):
        path = os.path.join(self.folder, "hangs.py")
        pathlib.Path(path).write_text(SERVER, encoding="ascii")
        runner = self.start([HANGDOG, "run", "-q", "--", PYTHON, path])
        self.stall(runner, 0)
        children = pathlib.Path("/proc/%d/task/%d/children" % (runner.pid, runner.pid)).read_text("ascii").split()
        child = next(p for p in children if b"hangs.py" in pathlib.Path("/proc", p, "cmdline").read_bytes()
                     and b"run" not in pathlib.Path("/proc", p, "cmdline").read_bytes())
        done = self.run_attach(child)
        self.assertEqual(1, done.returncode)
        self.assertIn("cannot attach to process %s: hangdog run watches it already; try: " % child, done.stderr)

    def test_a_unit_is_a_control_group(self):
        version1 = "/cpu" if os.path.ismount("/sys/fs/cgroup/cpu") else ""
        group = "/sys/fs/cgroup%s/hangdog-test-%d.service" % (version1, os.getpid())
        try:
            os.mkdir(group)
        except OSError as error:
            self.skipTest("a control group cannot be made here: %s" % error)
        self.addCleanup(os.rmdir, group)
        self.addCleanup(self.end)
        server = self.server()
        try:
            pathlib.Path(group, "cgroup.procs").write_text(str(server.pid), encoding="ascii")
        except OSError as error:
            self.skipTest("a process cannot enter a control group here: %s" % error)
        time.sleep(0.5)
        attached = self.attach("-u", os.path.basename(group)[:-8])
        self.until_hang(server)
        out, _, status = self.finish(attached)
        self.assertEqual(0, status)
        self.assertIn("hangdog: watched hangs.py[%d] for " % server.pid, out)
        self.assertEqual(["hangs.py"], os.listdir(os.path.join(self.folder, "spool")))  # a folder for each app


if __name__ == "__main__":
    main()
