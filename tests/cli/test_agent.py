# SPDX-License-Identifier: MIT
"""hangdog agent: programs of two users, watched by root's agent with few rights; what each user may learn."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from support_run import BUILD, HANGDOG, PATIENCE, SANITIZER, main

LOOP = """\
import asyncio, signal, sys, time

async def serve():
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, time.sleep, 1)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, time.sleep, 4)
    while True:
        await asyncio.sleep(0.05)

asyncio.run(serve())
"""
NOBODY = 65534
FOUR_AND_CHOWN = 1 << 39 | 1 << 38 | 1 << 19 | 1 << 2 | 1


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError("never came: " + what)
        time.sleep(0.1)


@unittest.skipIf(SANITIZER, "the release watches real programs")
@unittest.skipIf(os.geteuid() != 0, "only root watches the programs of others")
class Agent(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="hangdog-test-"))
        cls.folder.chmod(0o755)
        cls.processes = []
        for name in ("ours", "theirs", "left"):
            (cls.folder / name).write_text(LOOP)
        cls.rules = cls.folder / "agent.conf"
        # other tests run programs of the usual name
        cls.python = cls.folder / "python3.0"
        shutil.copy("/usr/bin/python3", cls.python)
        cls.write_rules("watch program=python3.0 threshold=300ms version=1.2 user=root\nwatch program=python3.0 user=nobody\nignore\n")
        cls.ours = cls.start([cls.python, cls.folder / "ours"])
        cls.theirs = cls.start([cls.python, cls.folder / "theirs"], user=NOBODY, group=NOBODY, extra_groups=[])
        cls.log = cls.folder / "log"
        cls.agent = cls.start([HANGDOG, "agent", "--rules", cls.rules, "--spool", cls.folder / "spool", "--socket", cls.folder / "socket",
                               "--metrics", "127.0.0.1:0", "--metrics-file", cls.folder / "figures.prom"], stderr=cls.log.open("w"))

    @classmethod
    def write_rules(cls, text):
        cls.rules.write_text(text)

    @classmethod
    def start(cls, words, **options):
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, **options)
        cls.processes.append(process)
        return process

    @classmethod
    def tearDownClass(cls):
        for process in reversed(cls.processes):
            process.terminate()
            process.wait()
        shutil.rmtree(cls.folder)

    def get(self, page, user=0):
        """From the agent's socket, as a user."""
        script = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
                  " s.sendall(b'GET /%s HTTP/1.1\\r\\n\\r\\n' % sys.argv[2].encode()); f = s.makefile('rb'); sys.stdout.buffer.write(f.read())")
        said = subprocess.run(["/usr/bin/python3", "-c", script, self.folder / "socket", page], user=user, group=user, extra_groups=[], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=PATIENCE).stdout.decode()
        head, body = said.split("\r\n\r\n", 1)
        return body if " 200 " in head else None

    def seen(self, user=0):
        """The rows of our programs by pid."""
        try:
            rows = json.loads(self.get("status", user))["processes"]
        except (subprocess.CalledProcessError, ConnectionError):
            return {}
        return {row["pid"]: row for row in rows}

    def stall(self, process, user):
        wait_until(lambda: self.seen().get(process.pid, {}).get("loops"), "the loop")

        def hangs():
            process.send_signal(10)
            time.sleep(1.3)
            return self.seen()[process.pid]["hangs"]

        wait_until(hangs, "the hang")
        return wait_until(lambda: [path for path in (self.folder / "spool" / str(user)).glob("*/*.json")
                                   if json.loads(path.read_text())["kind"] == "hang" and path.stat().st_uid == user], "the report")[0]

    def as_nobody(self, *words):
        return subprocess.run([str(word) for word in words], user=NOBODY, group=NOBODY, extra_groups=[], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False).stdout.decode()

    def test_each_user_sees_own_programs_only(self):
        ours, theirs = self.stall(self.ours, 0), self.stall(self.theirs, NOBODY)
        self.assertEqual("0600", oct(theirs.stat().st_mode)[2:].zfill(4)[-4:])
        report = json.loads(ours.read_text())
        self.assertEqual(("ours", "1.2"), (report["app"]["name"], report["app"]["version"]))
        self.assertEqual([300 * 10**6, 500 * 10**6], [report["threshold_ns"], json.loads(theirs.read_text())["threshold_ns"]])
        self.assertEqual({self.ours.pid, self.theirs.pid}, set(self.seen()))
        self.assertEqual({self.theirs.pid}, set(self.seen(NOBODY)))
        self.assertRegex(self.get("metrics"), r'hangs_total\{app="ours",.*uid="0"\} [1-9]')
        self.assertNotIn("ours", self.get("metrics", NOBODY))
        self.assertRegex(self.get("metrics", NOBODY), r'hangs_total\{app="theirs",.*uid="65534"\} [1-9]')
        self.assertIsNone(self.get("other"))
        self.assertIn("theirs", self.as_nobody(HANGDOG, "list", "--spool", theirs.parent.parent))
        for path in (ours, ours.parent, ours.parent.parent, self.folder / "spool"):
            self.assertIn("Permission denied", self.as_nobody("/bin/sh", "-c", 'cat "$1"/* "$1" 2>&1; ls "$1"', "sh", path), path)
        self.assertIn("Permission denied", self.as_nobody("/bin/sh", "-c", 'rm -f "$1" || touch "$2/x"', "sh", theirs, theirs.parent))
        self.assertIn("ours", subprocess.run([HANGDOG, "list", "--spool", self.folder / "spool"], stdout=subprocess.PIPE, check=True).stdout.decode())
        self.assertRegex(self.log.read_text(), r"hangdog: hang of .*, ours\[%d\]; more: hangdog show \w+" % self.ours.pid)

    def test_what_its_user_may_not_trace_is_roots(self):
        """A program that has dropped rights may have read what its new user may not."""
        program = self.folder / "dropped"
        program.write_text("import os; os.setgroups([]); os.setresgid(*3 * [%d]); os.setresuid(*3 * [%d])\n" % (NOBODY, NOBODY) + LOOP)
        self.stall(self.start([self.python, program]), 0)
        wait_until(lambda: list((self.folder / "spool" / "0" / "dropped").glob("*.json")), "the report")
        self.assertFalse((self.folder / "spool" / str(NOBODY) / "dropped").exists())

    def test_a_program_without_a_report_leaves_no_folder(self):
        program, folder = self.folder / "brief", self.folder / "spool" / "0" / "brief"
        program.write_text("import select; select.select([], [], [], 1000)\n")  # a loop has a report of its session
        process = self.start([self.python, program])
        wait_until(folder.exists, "the folder")
        process.terminate()
        wait_until(lambda: not folder.exists(), "the folder's end")

    def test_a_report_is_its_users_when_the_hang_is_over(self):
        """The agent may read it again before, so its user may not write there."""
        self.stall(self.theirs, NOBODY)
        self.theirs.send_signal(12)

        def open_report():
            reports = (self.folder / "spool" / str(NOBODY)).glob("*/*.json")
            return next((path for path in reports if not json.loads(path.read_text())["complete"] and path.stat().st_mode & 0o077 == 0o040), None)

        path = wait_until(open_report, "the open report")
        self.assertEqual(0, path.stat().st_uid)
        said = self.as_nobody("/bin/sh", "-c", 'cat "$1"; : >> "$1"', "sh", path)
        self.assertRegex(said, r'(?s)"complete".*Permission denied')
        wait_until(lambda: path.stat().st_uid == NOBODY, "the report to be the user's")
        self.assertEqual((0o600, True), (path.stat().st_mode & 0o777, json.loads(path.read_text())["complete"]))

    def test_programs_that_exec_without_end(self):
        (self.folder / "exec").mkdir()
        shell = self.folder / "exec" / "python3.0"
        shutil.copy("/bin/dash", shell)
        (self.folder / "again").write_text('[ $1 -gt 2000 ] || exec "%s" "$0" $(($1 + 1))\n' % shell)
        (self.folder / "first").write_text(
            "import os, select, sys\nwhile not os.path.exists(sys.argv[1] + '.seen'): select.select([], [], [], 0.01)\nos.execv(sys.argv[1], sys.argv[1:])\n")

        def cpu():
            return json.loads(self.get("status"))["cpu_ns"] / 1e9

        program = self.start([self.python, self.folder / "first", shell, self.folder / "again", "0"])
        wait_until(lambda: program.pid in self.seen(), "the program")
        shell.with_name("python3.0.seen").touch()
        wait_until(lambda: os.readlink("/proc/%d/exe" % program.pid) == str(shell), "exec")
        begun, before = time.monotonic(), cpu()
        program.wait()
        self.assertLess(cpu() - before, 0.1 * (time.monotonic() - begun))

    def test_names_and_connections_of_others(self):
        """A name has a line that is a word to systemd, and a byte that is no text; a user connects without end."""
        name, socket_path = os.fsencode(self.folder / "python3.0\nM=1") + b"\xff", str(self.folder / "notify")
        shutil.copy("/usr/bin/python3", name)
        rules = self.folder / "names.conf"
        rules.write_text("watch program=python3.0?M*\nignore\n")
        self.processes.append(subprocess.Popen([name, self.folder / "theirs"], user=NOBODY, group=NOBODY, extra_groups=[]))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.bind(socket_path)
            systemd.settimeout(PATIENCE)
            agent = self.start([HANGDOG, "agent", "--rules", rules, "--spool", self.folder / "spool4", "--socket", self.folder / "socket4",
                                "--cpu", "0.001"], stderr=subprocess.DEVNULL, env=dict(os.environ, NOTIFY_SOCKET=socket_path))
            said = wait_until(lambda: (lambda text: b"leaves out" in text and text)(systemd.recv(4096)), "the name")
        self.assertIn(b"leaves out python3.0[", said)
        self.assertNotIn(b"\nM", said)
        answered, end = 0, time.monotonic() + 2
        while time.monotonic() < end:
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(0.2)
                try:
                    s.connect(str(self.folder / "socket4"))
                    s.sendall(b"GET /status HTTP/1.1\r\n\r\n")
                    answered += b" 200 " in s.recv(64)
                except OSError:
                    pass
        self.assertGreater(answered, 9)
        self.assertLess(answered, 90)
        agent.terminate()
        self.assertEqual(0, agent.wait())

    def test_top_shows_the_host(self):
        wait_until(lambda: len(self.seen()) >= 2, "both programs")
        top = [HANGDOG, "top", "--once", "--interval", "200ms", "--socket", str(self.folder / "socket")]
        row = r"(?m)^ours +%d +root .*\d+%%" % self.ours.pid
        said = wait_until(lambda: (lambda text: re.search(row, text) and text)(
            subprocess.run(top, stdout=subprocess.PIPE, check=True, timeout=PATIENCE).stdout.decode()), "the share of busy time")
        self.assertRegex(said, r"^2 programs, \d loops?, seen by \w+  agent: \d+\.\d\d% of a CPU, \d+\.\d MiB\n")
        said = self.as_nobody(*top)
        self.assertRegex(said, "^1 program of yours")
        self.assertNotIn(str(self.ours.pid), said)

    def test_few_rights(self):
        status = pathlib.Path("/proc/%d/status" % self.agent.pid).read_text()
        for name in ("CapPrm", "CapEff", "CapBnd"):
            self.assertEqual(0, int(re.search(name + r":\s+(\w+)", status).group(1), 16) & ~FOUR_AND_CHOWN)
        self.assertIn("NoNewPrivs:\t1", status)

    def test_figures_in_a_file(self):
        figures = wait_until(lambda: (self.folder / "figures.prom").exists() and (self.folder / "figures.prom").read_text(), "the file")
        self.assertRegex(figures, r"(?m)^hangdog_agent_cpu_seconds_total \d+")
        (port,) = set(re.findall(r"hangdog: watches this host by \w+, figures at port (\d+); see: hangdog top\n", self.log.read_text()))
        with urllib.request.urlopen("http://127.0.0.1:%s/metrics" % port, timeout=PATIENCE) as page:
            self.assertIn(b"hangdog_agent_cpu_seconds_total", page.read())
        self.assertEqual(0o640, (self.folder / "figures.prom").stat().st_mode & 0o777)

    def test_the_rules_are_read_again(self):
        left = self.start([self.python, self.folder / "left"])
        wait_until(lambda: left.pid in self.seen(), "the program")
        before = self.rules.read_text()
        self.write_rules("ignore program=[oops\nnonsense\n")
        self.agent.send_signal(1)
        wait_until(lambda: "line 2: want 'watch' or 'ignore'" in self.log.read_text(), "the error")
        self.assertIn(left.pid, self.seen())
        self.write_rules("ignore user=root\n" + before)
        self.agent.send_signal(1)
        wait_until(lambda: self.seen() and set(self.seen()) == {self.theirs.pid}, "root's programs to be left")
        self.assertIn("line 2 of the rules has no effect: line 1 matches", self.log.read_text())
        self.write_rules(before)
        self.agent.send_signal(1)
        wait_until(lambda: self.ours.pid in self.seen(), "root's programs again")
        left.terminate()
        left.wait()
        wait_until(lambda: left.pid not in self.seen(), "the end")

    def test_the_budget(self):
        """Of 36 ms of CPU time an hour: it watches less, and says what."""
        log = self.folder / "log-budget"
        agent = self.start([HANGDOG, "agent", "--rules", self.rules, "--spool", self.folder / "spool2", "--socket", self.folder / "socket2",
                            "--cpu", "0.001"], stderr=log.open("w"))
        said = wait_until(lambda: re.search(r"hangdog: leaves out (?:ours|theirs|left)\[\d+\] and \d+ more: over 0.001% of a CPU\n", log.read_text()), "the budget's line")
        self.assertTrue(said)
        agent.terminate()
        self.assertEqual(0, agent.wait())

    def test_a_disk_that_does_not_answer(self):
        """A program lies on it. The agent leaves it out, and watches the others."""
        behind, disk = self.folder / "behind", self.folder / "disk"
        for folder in (behind, disk):
            folder.mkdir()
        shutil.copy("/usr/bin/python3", behind / "python3.0")
        server = self.start([os.path.join(BUILD, "tests/programs/stallfs"), behind, disk], stderr=subprocess.DEVNULL)
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=False)
        wait_until(lambda: os.path.ismount(disk) or server.poll() is not None, "the mount")
        if not os.path.ismount(disk):
            self.skipTest("no file system of a process's own can be mounted here (/dev/fuse, libfuse 3)")
        program = self.start([disk / "python3.0", self.folder / "left"])
        wait_until(lambda: program.pid in self.seen(), "the program")
        wait_until(lambda: self.seen()[program.pid]["loops"], "its loop")
        server.send_signal(signal.SIGSTOP)
        self.addCleanup(server.send_signal, signal.SIGCONT)
        time.sleep(1.5)
        program.send_signal(signal.SIGUSR2)  # the report needs its file
        wait_until(lambda: "leaves out python3.0[%d] for an hour: its files or its memory do not answer\n" % program.pid in self.log.read_text(), "its line")
        wait_until(lambda: self.ours.pid in self.seen() and program.pid not in self.seen(), "the others")
        self.stall(self.ours, 0)
        self.assertNotIn(program.pid, self.seen())
        self.assertIsNone(self.agent.poll())
        server.send_signal(signal.SIGCONT)
        program.terminate()
        program.wait()

    def test_wrong_use(self):
        def run(*words):
            done = subprocess.run([HANGDOG, "agent", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)
            return done.returncode, done.stdout.decode(errors="replace")

        self.assertEqual(2, run("--cpu", "much")[0])
        self.assertEqual((1, "hangdog: cannot read %s: Is a directory\n" % self.folder), run("--check", "--rules", str(self.folder)))
        wait_until(lambda: (self.folder / "socket").exists(), "the agent")
        status, said = run("--rules", str(self.rules), "--spool", str(self.folder / "spool"), "--socket", str(self.folder / "socket"))
        self.assertEqual((1, True), (status, "another agent runs here" in said), said)
        status, said = run("--check", "--rules", str(self.rules))
        self.assertRegex(said, r"(?m)^watch +%d  python3\.0  uid 65534.*  by line 2$" % self.theirs.pid)
        os.chown(self.folder / "theirs", NOBODY, NOBODY)
        (self.folder / "other").mkdir()
        os.chown(self.folder / "other", NOBODY, NOBODY)
        self.assertIn("belongs to another user", run("--spool", str(self.folder / "other"), "--socket", str(self.folder / "socket3"))[1])


if __name__ == "__main__":
    if not os.path.exists(os.path.join(BUILD, "libexec/hangdog/hangdog-agent")):
        sys.exit(77)
    main()
