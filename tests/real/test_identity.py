#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Thirty programs of Debian's packages, plain and under `hangdog run`: what they print, how they end, their descriptors,
# signals, limits and environment and those of the children they start are the same.
#
# Each program is looked at from outside while it stands still: where it, or a child that it starts, opens a FIFO that
# the test holds (GATE), waits for more input, or waits for a client. By itself the test runs the programs whose packages
# the other tests need; HANGDOG_IDENTITY=all runs every one that is installed, and says which are not.

import concurrent.futures
import contextlib
import difflib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support_run import HANGDOG, PATIENCE, SANITIZER, children_of, environment, main, state_of, wait_until

ALL = os.environ.get("HANGDOG_IDENTITY") == "all"

# Ours is the one handler that a watched program has more; 32 and 33 are libc's own, which takes them with the first
# thread that a process starts.
OURS = 1 << (signal.SIGURG - 1)
LIBCS = 3 << 31

SERVERS = {"DEBUGINFOD_URLS": "http://127.0.0.1:1/"}  # not ours to ask, and the program's to inherit
DISPLAY = 4000 + os.getpid() % 20000
HOLD = "cat gate"  # what a child does to stand still


class One:
    """A program: its command, what it reads, which files it finds, where it stands still.

    `at`: "gate" (somebody in its tree opens the FIFO), "input" (it has read all and waits for more), "idle" (nobody in
    its tree runs, and the file or port `ready` is there; it is ended by `end`), or None (it is only run)."""

    def __init__(self, name, argv, at=None, text="", files=None, ready=None, end=signal.SIGTERM, env=None, hide=(),
                 always=False):
        self.name, self.argv, self.at, self.text, self.files = name, argv, at, text, files or {}
        self.ready, self.end, self.env, self.hide, self.always = ready, end, env or {}, hide, always


PROGRAMS = [
    One("dash", ["/bin/sh", "-c", "trap 'echo out' EXIT; trap '' USR1; trap 'echo t' TERM; echo a | tr a b; %s; kill -TERM $$;"
                 " exit 7" % HOLD], "gate", always=True),
    One("dash-dies", ["/bin/dash", "-c", "ulimit -c 0; echo dying; kill -ABRT $$"], always=True),
    One("bash", ["/bin/bash", "-c", "trap -p; exec 5</etc/passwd; (echo c; %s; echo d) | sort -r; echo ${PIPESTATUS[*]};"
                 " ulimit -a; set -o; shopt; exit 3" % HOLD], "gate", always=True),
    One("cat", ["/bin/cat"], "input", "one\ntwo\n", always=True),
    One("grep", ["/bin/grep", "-c", "o"], "input", "one\ntwo\nthree\n", always=True),
    One("sed", ["/bin/sed", "s/o/0/;2e cat gate"], "gate", "one\ntwo\n", always=True),
    One("awk", ["/usr/bin/awk", 'BEGIN { system("cat gate"); print "x" | "cat"; close("cat"); exit 4 }'], "gate",
        always=True),
    One("find", ["/usr/bin/find", ".", "-name", "gate", "-exec", "cat", "{}", ";", "-print"], "gate", always=True),
    One("sort", ["/usr/bin/sort", "-r", "--parallel=2"], "input", "b\na\nc\n", always=True),
    One("tar", ["/bin/tar", "-c", "-f", "out.tar", "-C", "in", ".", "--checkpoint=1", "--checkpoint-action=exec=cat gate",
                "--sort=name", "--mtime=@0", "-v"], "gate", files={"in/a": "a" * 30000}, always=True),
    One("gzip", ["/bin/gzip", "-9n"], "input", "much " * 5000, always=True),
    One("perl", ["/usr/bin/perl", "-e", '$SIG{USR1} = "IGNORE"; $SIG{HUP} = sub {}; $| = 1; print "p\\n"; open(F, "<", "/etc/passwd");'
                 ' system("cat", "gate"); print join(",", map { "$_=" . (ref($SIG{$_}) || $SIG{$_} // "") } sort keys %SIG), "\\n"; exit 5'],
        "gate", always=True),
    One("python3", ["/usr/bin/python3", "-c",
                    "import signal, subprocess, sys, threading\n"
                    "print({s.name: str(signal.getsignal(s)) for s in signal.valid_signals() if isinstance(s, signal.Signals)})\n"
                    "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])\n"
                    "signal.signal(signal.SIGURG, print)\n"
                    "signal.signal(signal.SIGURG, signal.SIG_DFL)\n"
                    "subprocess.run(['cat', 'gate'])\n"
                    "print([v for v in open('/proc/self/environ').read().split(chr(0)) if v])\n"
                    "1 / 0\n"], "gate", always=True),
    One("python3-dies", ["/usr/bin/python3", "-c", "import os, signal, sys; print(1); sys.stdout.flush(); os.kill(os.getpid(), signal.SIGKILL)"],
        always=True),
    One("node", ["/usr/bin/node", "-e",
                 "process.on('SIGHUP', () => {}); console.log(process.argv.length, Object.keys(process.env).sort());"
                 " console.log(require('child_process').execFileSync('cat', ['gate']).length);"
                 " setTimeout(() => { console.error('end'); process.exitCode = 6; }, 10)"], "gate", always=True),
    One("make", ["/usr/bin/make", "-j2", "prog", "wait"], "gate",
        files={"Makefile": "prog: prog.c\n\tgcc -g -O1 -o $@ $< && ./prog\nwait: prog\n\tcat gate; exit 2\n",
               "prog.c": "#include <stdio.h>\nint main(void) { puts(\"made\"); return 0; }\n"}, always=True),
    One("gcc", ["/usr/bin/gcc", "-v", "-c", "bad.c"], files={"bad.c": "int main(void) { return x; }\n"},
        hide=(r"/tmp/cc\w+",), always=True),
    One("git", ["/usr/bin/git", "-c", "alias.hold=!cat gate; git --version; exit 9", "hold"], "gate", always=True),
    One("gdb", ["/usr/bin/gdb", "-q", "-nx", "-batch", "-ex", "info signals SIGURG", "-ex", "run", "-ex", "shell cat gate",
                "-ex", "info registers rip", "--args", "/bin/echo", "hello"], "gate",
        hide=(r"process \d+", r"0x[0-9a-f]+"), always=True),
    One("redis-server", ["/usr/bin/redis-server", "--port", "0", "--unixsocket", "sock", "--save", "", "--logfile", "log"],
        "idle", ready="sock", always=True),
    One("redis-cli", ["/usr/bin/redis-cli", "-s", "no-such-socket", "ping"], always=True),
    One("openssl", ["/usr/bin/openssl", "dgst", "-sha256"], "input", "digest me\n"),
    One("bc", ["/usr/bin/bc", "-q"], "input", "2^200\n1/0\nscale=20; a(1)*4\n"),
    One("sqlite3", ["/usr/bin/sqlite3", "-batch", "db"], "gate",
        "create table t(a);\ninsert into t values (1), (2);\nselect sum(a) from t;\n.shell cat gate\nselect no;\n"),
    One("vim", ["/usr/bin/vim.basic", "-Nu", "NONE", "-i", "NONE", "-n", "-es", "file"], "gate",
        "%s/a/b/g\n!cat gate\n%p\nwq\n", files={"file": "aaa\nbab\n"}),
    One("ssh", ["/usr/bin/ssh", "-F", "none", "-o", "ProxyCommand=cat gate", "-o", "BatchMode=yes", "nowhere"], "gate",
        files={"none": ""}),
    One("curl", ["/usr/bin/curl", "-sS", "http://127.0.0.1:1/"]),
    One("psql", ["/usr/bin/psql", "-h", "127.0.0.1", "-p", "1", "-c", "select 1"]),
    One("rsync", ["/usr/bin/rsync", "-a", "-e", "sh -c 'cat gate; exit 1' --", "in/", "nowhere:out"], "gate",
        files={"in/a": "a"}),
    One("tclsh", ["/usr/bin/tclsh"], "gate", "puts [expr 6*7]\nexec cat gate\nafter 50 {set x 1}\nvwait x\nexit 8\n"),
    One("lua", ["/usr/bin/lua5.4", "-e", "print(1); os.execute('cat gate'); os.exit(3)"], "gate"),
    One("java", ["/usr/bin/java", "-Xshare:auto", "Hold.java"], "gate",
        files={"Hold.java": "class Hold { public static void main(String[] a) throws Exception {"
                            " System.out.println(new ProcessBuilder(\"cat\", \"gate\").start().waitFor());"
                            " System.exit(4); } }\n"}),
    One("tmux", ["/usr/bin/tmux", "-f", "/dev/null", "-S", "sock", "new-session", "-d", "-x", "80", "-y", "24", "cat gate",
                  ";", "list-sessions", "-F", "#{session_windows}", ";", "kill-server"]),
    One("nginx", ["/usr/sbin/nginx", "-p", ".", "-c", "conf", "-e", "err", "-g", "daemon off;"], "idle", ready="pid",
        files={"conf": "pid pid; events {} http { access_log off; client_body_temp_path t; proxy_temp_path t;"
                       " fastcgi_temp_path t; uwsgi_temp_path t; scgi_temp_path t;"
                       " server { listen unix:sock; } }\n"}, end=signal.SIGQUIT),
    One("haproxy", ["/usr/sbin/haproxy", "-db", "-f", "conf"], "idle", ready="sock",
        files={"conf": "global\n nbthread 1\n stats socket unix@sock\ndefaults\n timeout client 1s\n timeout server 1s\n timeout connect 1s\n"
                       "frontend f\n bind unix@front\n"}, end=signal.SIGUSR1, hide=(r"\(\d+\)",)),
    One("Xvfb", ["/usr/bin/Xvfb", ":%d" % DISPLAY, "-nolisten", "tcp", "-screen", "0", "64x64x24"],
        "idle", ready="/tmp/.X11-unix/X%d" % DISPLAY),
    One("xterm", ["/usr/bin/xterm", "-display", ":no", "-e", "true"]),
    One("strace", ["/usr/bin/strace", "-f", "-o", "trace", "sh", "-c", "cat gate; exit 5"], "gate"),
    One("valgrind", ["/usr/bin/valgrind", "-q", "/bin/sh", "-c", "cat gate; exit 5"], "gate"),
]


# ---- one run -------------------------------------------------------------------------------------------------

def tree_of(pid):
    """pid and all that it has started, parents first."""
    found = [pid]
    for one in found:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for thread in sorted(os.listdir("/proc/%d/task" % one)):
                found.extend(int(child) for child in read("/proc/%d/task/%s/children" % (one, thread)).split())
    return found


def where(pid):
    """The system call that the main thread waits in, "" while it runs or is gone."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open("/proc/%d/syscall" % pid, encoding="ascii") as file:
            return file.read().split()
    return [""]


class Run:
    """One program, plain or watched, in the folder of both."""

    def __init__(self, one, watched, folder):
        self.one, self.folder = one, folder
        shutil.rmtree(folder, ignore_errors=True)
        for path, text in one.files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                file.write(text)
        os.makedirs(folder, exist_ok=True)
        os.mkfifo(os.path.join(folder, "gate"))
        self.spool = folder + ".spool"
        head = [HANGDOG, "run", "--quiet", "--spool", self.spool, "--"] if watched else []
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # pylint: disable=consider-using-with
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen([*head, *one.argv], cwd=folder, stdin=subprocess.PIPE, stdout=self.out,
                                        stderr=self.err, env=environment({"TERM": "dumb", **SERVERS, **one.env}))
        self.watched, self.seen = watched, None

    def pid(self):
        if not self.watched:
            return self.process.pid
        own = os.readlink("/proc/%d/exe" % self.process.pid)

        def started():
            for child in children_of(self.process.pid):
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    if os.readlink("/proc/%d/exe" % child) != own:
                        return child
            return None
        return wait_until(started, self.one.name + " to start")

    def still(self, pid):
        """Whether all of the tree wait, and it has reached its place."""
        tree = tree_of(pid)
        if any(state_of(one) not in "SZTt" for one in tree):
            return None
        if self.one.at == "gate" and not any(self.at_gate(one) for one in tree):
            return None
        if self.one.at == "input" and where(pid)[:2] != ["0", "0x0"]:
            return None
        ready = self.one.ready
        if ready and not os.path.exists(os.path.join(self.folder, ready)):
            return None
        return [(one, *where(one)) for one in tree]

    def at_gate(self, pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                return file.read().startswith(b"cat\0") and where(pid)[0] == "257"
        return False

    def run(self):
        try:
            return self.steps()
        finally:
            if self.process.poll() is None:
                for one in reversed(tree_of(self.process.pid)):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(one, signal.SIGKILL)
            self.process.wait()
            for file in (self.process.stdin, self.out, self.err):
                with contextlib.suppress(BrokenPipeError):
                    file.close()

    def steps(self):
        pid = self.pid() if self.one.at else None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(self.one.text.encode())
            self.process.stdin.flush()
        if self.one.at:
            last = [None]

            def stands():
                now = self.still(pid)
                same = now is not None and now == last[0]
                last[0] = now
                time.sleep(0.05)
                return same
            wait_until(stands, self.one.name + " to stand still")
            self.seen = [self.look(one) for one in tree_of(pid)]
        if self.one.at == "gate":
            gate = os.path.join(self.folder, "gate")
            with open(gate, "wb"):
                with open(gate + "less", "wb"):
                    os.replace(gate + "less", gate)  # who comes later goes through
        if self.one.at == "idle":
            os.kill(pid, self.one.end)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        status = self.process.wait(PATIENCE)
        return {"status": status, "output": self.text(self.out), "errors": self.text(self.err), "seen": self.seen}

    def text(self, file):
        file.seek(0)
        text = file.read().decode(errors="backslashreplace").replace(".spool", "")
        for pattern in self.one.hide:
            text = re.sub(pattern, "…", text)
        return text.splitlines()

    # ---- a process, from outside -----------------------------------------------------------------------------

    def look(self, pid):
        base = "/proc/%d/" % pid
        name = read(base + "comm").strip()
        return {"name": name, "descriptors": self.descriptors(base), "signals": signals(base),
                "environment": [v for v in read(base + "environ").split("\0") if v], "limits": read(base + "limits"),
                "place": [os.readlink(base + link) for link in ("cwd", "root", "exe")],
                "rest": {k: read(base + k) for k in (
                    "oom_score_adj", "coredump_filter", "personality", "timerslack_ns", "cgroup", "autogroup")}}

    def descriptors(self, base):
        found = {}
        for number in os.listdir(base + "fd"):
            with contextlib.suppress(FileNotFoundError):
                kind = re.sub(r":\[\d+\]|_\w+ \(deleted\)|\d{3,}", "", os.readlink(base + "fd/" + number))
                flags = re.search(r"^flags:\s*(\d+)", read(base + "fdinfo/" + number), re.MULTILINE).group(1)
                found[int(number)] = "%s %s" % (kind, flags)
        return sorted(found.items())


def read(path):
    with contextlib.suppress(OSError):
        with open(path, encoding="utf-8", errors="backslashreplace") as file:
            return file.read()
    return ""


def signals(base):
    """Blocked, ignored, caught, by the main thread; pending."""
    found = {}
    for line in read(base + "status").splitlines():
        name, _, value = line.partition(":")
        if name in ("SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd"):
            bits = int(value, 16) & ~LIBCS
            found[name] = [n for n in range(1, 65) if bits >> (n - 1) & 1]
    return found


# ---- both ----------------------------------------------------------------------------------------------------

def without_ours(result):
    """A watched program's signals without our handler, which is its own and that of what it forks, not of what it
    executes."""
    for process in result["seen"] or []:
        caught = process["signals"]["SigCgt"]
        if process["place"][-1] == result["seen"][0]["place"][-1] and signal.SIGURG in caught:
            caught.remove(signal.SIGURG)
    return result


def compare(one):
    """The differences between a plain run and a watched one, as lines; none when they are alike."""
    folder = tempfile.mkdtemp(prefix="hangdog-test-identity-")
    try:
        runs = [json.dumps(without_ours(Run(one, watched, folder).run()), indent=1).splitlines()
                for watched in (False, True)]
        return [line for line in difflib.unified_diff(*runs, "plain", "watched", lineterm="", n=2)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(folder + ".spool", ignore_errors=True)


@unittest.skipIf(SANITIZER, "a sanitizer's runtime changes what a program has")
class Identity(unittest.TestCase):
    def test_programs_are_as_they_are_without_us(self):
        chosen = [one for one in PROGRAMS if ALL or one.always]
        there = [one for one in chosen if os.path.exists(one.argv[0])]
        print("not installed:", " ".join(one.name for one in chosen if one not in there) or "none")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = {one.name: pool.submit(compare, one) for one in there}
        print("compared: %d: %s" % (len(results), " ".join(results)))
        for name, result in results.items():
            with self.subTest(program=name):
                self.assertEqual([], result.result(), "\n" + "\n".join(map(str, result.result())))
        self.assertGreaterEqual(len(there), 30 if ALL else 10)


if __name__ == "__main__":
    main()
