#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Programs without an event loop that wait in loops all the same: they sleep and compute, ask one server again and again, read the
# pipe of one child, run commands one after the other. Two have a loop at first, leave it and do the same. What they do between two
# waits takes 0.7 s, longer than the threshold. None of it is reported.

import contextlib
import os
import pty
import shlex
import shutil
import socketserver
import subprocess
import tempfile
import threading
import time
import unittest

from support_plans import missing
from support_run import SANITIZER, Program, RealCase, Together, false_ones, free_port, main, need_terminal
from support_seen import AT_A_TIME, PACKAGES

COMPUTE_PY = """
import time
def compute():
    end = time.monotonic() + 0.7
    while time.monotonic() < end:
        pass
"""
RUBY_SLEEPER = """
4.times do
  sleep 0.2
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.7
  nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
end
"""
RUBY_CHILD = """
4.times do
  IO.popen('sleep 0.2; echo line') { |pipe| IO.select([pipe]); pipe.gets }
  Process.wait(spawn('sleep 0.7'))
end
"""
RUBY_CLIENT = """
require 'net/http'
4.times do
  Net::HTTP.get(URI("http://127.0.0.1:#{ARGV[0]}/"))
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.7
  nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
end
"""
PYTHON_SLEEPER = COMPUTE_PY + """
for _ in range(4):
    time.sleep(0.2)
    compute()
"""
PYTHON_CLIENT = """
import socket, sys, time
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
server.settimeout(5)
for _ in range(6):
    server.sendall(b"PING\\n")
    assert server.recv(100)
    time.sleep(0.7)
"""
PYTHON_CLIENTS = """
import sys, time, urllib.request
for _ in range(5):
    urllib.request.urlopen("http://127.0.0.1:%s/" % sys.argv[1], timeout=5).read()
    time.sleep(0.7)
"""
PYTHON_SELECTOR = COMPUTE_PY + """
import selectors, subprocess
child = subprocess.Popen(["/bin/sh", "-c", "for i in 1 2 3 4; do sleep 1; echo line; done"], stdout=subprocess.PIPE)
selector = selectors.DefaultSelector()
selector.register(child.stdout, selectors.EVENT_READ)
for _ in range(4):
    selector.select()
    child.stdout.readline()
    compute()
"""
PYTHON_MESSAGES = """
import os, select, subprocess, time
child = subprocess.Popen(["/bin/sh", "-c", "for i in 1 2 3 4 5; do sleep 0.2; echo line; done"], stdout=subprocess.PIPE)
poll = select.poll()
poll.register(child.stdout, select.POLLIN)
while True:
    poll.poll(5000)
    if not os.read(child.stdout.fileno(), 5):
        break
    time.sleep(0.7)
"""
PYTHON_COMMUNICATE = """
import subprocess, time
for _ in range(5):
    subprocess.run("sleep 0.2; echo out; echo err >&2", shell=True, input=b"in", capture_output=True, timeout=10)
    time.sleep(0.7)
"""
PYTHON_PROCESSES = """
import multiprocessing, time
from multiprocessing.connection import wait
if __name__ == "__main__":
    for _ in range(4):
        both = [multiprocessing.Process(target=time.sleep, args=(t,)) for t in (0.2, 0.3)]
        for each in both:
            each.start()
        wait([each.sentinel for each in both])
        for each in both:
            each.join()
        time.sleep(0.7)
"""
PYTHON_POOL = """
import concurrent.futures, time
if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        for _ in range(4):
            list(pool.map(time.sleep, [0.2, 0.3]))
            time.sleep(0.7)
"""
COMMANDS_PY = """
import subprocess, time
for _ in range(8):
    subprocess.run("sleep 0.2; echo out; echo err >&2", shell=True, input=b"in", capture_output=True, timeout=10)
    time.sleep(0.7)
"""
ASYNCIO_FIRST = """
import asyncio
async def main():
    for _ in range(5):
        await asyncio.sleep(0.1)
asyncio.run(main())
""" + COMMANDS_PY
GLIB_FIRST = """
from gi.repository import GLib
loop = GLib.MainLoop()
for ms in (100, 200, 300):
    GLib.timeout_add(ms, lambda: False)
GLib.timeout_add(500, loop.quit)
loop.run()
""" + COMMANDS_PY
PERL_SLEEPER = """
for (1..5) {
    select(undef, undef, undef, 0.2);
    system("sleep 0.7");
}
"""
PERL_CHILD = """
use IO::Select;
open(my $child, "-|", "for i in 1 2 3 4 5; do sleep 1; echo line; done") or die;
my $select = IO::Select->new($child);
while ($select->can_read(5)) {
    sysread($child, my $line, 100) or last;
    select(undef, undef, undef, 0.7);
}
"""
PERL_CLIENT = """
use IO::Socket::INET;
use IO::Select;
my $server = IO::Socket::INET->new("127.0.0.1:$ARGV[0]") or die;
my $select = IO::Select->new($server);
for (1..5) {
    print $server "PING\\n";
    $select->can_read(5) or die;
    sysread($server, my $answer, 100);
    system("sleep 0.7");
}
"""
NODE_SCRIPT = """
const {execSync} = require('child_process');
for (let i = 0; i < 4; i++) {
  execSync('sleep 0.2');
  const end = performance.now() + 700;
  while (performance.now() < end);
}
"""
TCL_SCRIPT = """
for {set i 0} {$i < 4} {incr i} {
    after 200
    exec sleep 0.7
}
"""
# Starts children one after the other, and is busy between them.
CMAKE_PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(tiny C)
execute_process(COMMAND sh -c "for i in 1 2 3; do echo $i; sleep 0.1; done" OUTPUT_VARIABLE said)
include(CheckCSourceCompiles)
foreach(n RANGE 2)
  check_c_source_compiles("int main(void) { return ${n}; }" works_${n})
endforeach()
execute_process(COMMAND sh -c "sleep 0.7; echo said; sleep 0.7" OUTPUT_VARIABLE said)
"""
MAKEFILE = "all: 1 2 3 4 5 6 7 8\n%:\n\t@sleep 0.7\n"
C_SOURCE = "".join("int f%d(int a) { for (int i = 0; i < a; i++) a += i * a; return a; }\n" % i for i in range(3000))

# What is typed; PORT is a server's that answers after 0.2 s, REDIS a redis-server's, CHILD a process that ends after 4 s. A
# script's text is in the file `script`.
SCRIPTS = {
    "ruby_sleeper": ("ruby script", RUBY_SLEEPER),
    "ruby_child": ("ruby script", RUBY_CHILD),
    "ruby_client": ("ruby script PORT", RUBY_CLIENT),
    "python_sleeper": ("/usr/bin/python3 script", PYTHON_SLEEPER),
    "python_client": ("/usr/bin/python3 script PORT", PYTHON_CLIENT),
    "python_clients": ("/usr/bin/python3 script PORT", PYTHON_CLIENTS),
    "python_selector": ("/usr/bin/python3 script", PYTHON_SELECTOR),
    "python_messages": ("/usr/bin/python3 script", PYTHON_MESSAGES),
    "python_communicate": ("/usr/bin/python3 script", PYTHON_COMMUNICATE),
    "python_processes": ("/usr/bin/python3 script", PYTHON_PROCESSES),
    "python_pool": ("/usr/bin/python3 script", PYTHON_POOL),
    "asyncio_first": ("/usr/bin/python3 script", ASYNCIO_FIRST),
    "glib_first": ("/usr/bin/python3 script", GLIB_FIRST),
    "perl_sleeper": ("perl script", PERL_SLEEPER),
    "perl_child": ("perl script", PERL_CHILD),
    "perl_client": ("perl script PORT", PERL_CLIENT),
    "node_script": ("node script", NODE_SCRIPT),
    "tcl_script": ("tclsh script", TCL_SCRIPT),
    "make": ("make -s -j4 -f script", MAKEFILE),
    "cmake": ("cmake -S . -B build", CMAKE_PROJECT),
    "gcc": ("gcc -O2 -c -x c script -o object", C_SOURCE),
}
COMMANDS = {
    "shell": "sh -c 'for i in 1 2 3 4; do sleep 0.7; echo $i; done | while read i; do sleep 0.2; done'",
    "bash_read": "bash -c 'for i in 1 2 3 4; do read -t 0.2 < <(sleep 1); sleep 0.7; done'",
    "xargs": "xargs -a growing -P 3 -I{} sleep 0.{}",
    "curl_one_by_one": "curl -s -o /dev/null http://127.0.0.1:PORT/[1-6] --rate 80/m",
    "curl_parallel": "curl -s -Z --parallel-max 3 -o /dev/null http://127.0.0.1:PORT/[1-9]",
    "wget": "wget -q -O /dev/null --wait=0.7 http://127.0.0.1:PORT/1 http://127.0.0.1:PORT/2 http://127.0.0.1:PORT/3",
    "git": "git clone -q file://SOURCE clone",
    "ssh": "ssh -o ConnectTimeout=3 -o StrictHostKeyChecking=no -p PORT 127.0.0.1 true",
    "rsync": "rsync -a --bwlimit=400 /usr/share/perl5/ copy",
    "tail": "tail -n +1 -f --pid CHILD growing",
    "apt_cache": "apt-cache search editor",
    "sqlite": "sqlite3 :memory: 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 4000000) "
              "SELECT sum(i) FROM n'",
    "redis_cli": "redis-cli -p REDIS -r 5 -i 0.7 PING",
    "ping": "ping -q -c 5 -i 0.7 127.0.0.1",
}
# `watch` ends when what it shows has changed.
ON_A_TERMINAL = {"watch": "watch -n 0.8 -g 'sleep 0.6; echo >>n; test $(wc -l <n) -lt 5 && echo waits'"}
EXPECTED = {"ssh": 255}
EVERY = None


class Answers(socketserver.StreamRequestHandler):
    """Each line, or page asked for, after 0.2 s."""

    def handle(self):
        with contextlib.suppress(ConnectionError):
            for line in self.rfile:
                if line.startswith(b"SSH"):  # never says who it is
                    time.sleep(5)
                if line.startswith(b"GET"):
                    while self.rfile.readline().strip():
                        pass
                    time.sleep(0.2)
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage")
                else:
                    time.sleep(0.2)
                    self.wfile.write(b"PONG\n")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


def fill(folder, text=None):
    """What the program finds in its folder."""
    with open(os.path.join(folder, "growing"), "w", encoding="ascii") as file:
        file.write("".join("%d\n" % tenths for tenths in range(1, 8)))
    if text:
        with open(os.path.join(folder, "CMakeLists.txt" if text == CMAKE_PROJECT else "script"), "w", encoding="ascii") as file:
            file.write(text)


class Run:
    """One of these programs, to its end."""

    def __init__(self, folder, line, text, terminal):
        os.mkdir(folder)
        fill(folder, text)
        argv = shlex.split(line)
        self.lacks = missing(argv[0])
        if SANITIZER and argv[0] in ("curl", "wget", "rsync"):
            self.lacks = ["%s that runs with this sanitizer's runtime alone" % argv[0]]
        if self.lacks:
            return
        ours, its = pty.openpty() if terminal else (None, None)
        with AT_A_TIME:
            self.program = Program(argv, folder=folder, terminal=its, env={"TERM": "vt100"})
            if not terminal:
                self.status = self.program.wait()
                return
            os.close(its)
            with contextlib.suppress(OSError):  # the program's end
                while os.read(ours, 65536):
                    pass
            self.status = self.program.wait()
            os.close(ours)


class NoLoop(RealCase):
    def assert_nothing(self, name):
        run = EVERY[name]
        if run.lacks:
            self.skipTest("no %s: %s" % (run.lacks[0], PACKAGES))
        reports = [report for report in run.program.reports() if report["kind"] != "session"]
        print("%s: %s" % (name, run.program.told[-1:] or run.program.errors))
        self.assertEqual(EXPECTED.get(name, 0), run.status, run.program.errors)
        self.assertEqual([], false_ones(reports), run.program.errors)


def add(name):
    def test(self):
        self.assert_nothing(name)
    setattr(NoLoop, "test_" + name, test)


for each in [*SCRIPTS, *COMMANDS, *ON_A_TERMINAL]:
    add(each)


@contextlib.contextmanager
def others(folder):
    """What the programs talk to and wait for: what stands for it in their lines."""
    port, repository = free_port(), os.path.join(folder, "repository")
    subprocess.run("git init -q %s && cd %s && git -c user.name=n -c user.email=e commit -q --allow-empty -m m" % (
        repository, repository), shell=True, check=False)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Server(("127.0.0.1", 0), Answers))
        stack.callback(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        child = stack.enter_context(subprocess.Popen(["/bin/sleep", "4"]))
        threading.Thread(target=child.wait, daemon=True).start()  # a zombie would still be there
        if not missing("redis-server"):
            redis = stack.enter_context(subprocess.Popen(["redis-server", "--port", str(port), "--save", ""],
                                                         stdout=subprocess.DEVNULL))
            stack.callback(redis.terminate)
        yield {"PORT": server.server_address[1], "REDIS": port, "CHILD": child.pid, "SOURCE": repository}


def setUpModule():
    global EVERY  # pylint: disable=global-statement
    need_terminal()
    folder = os.path.realpath(tempfile.mkdtemp(prefix="hangdog-test-"))
    unittest.addModuleCleanup(shutil.rmtree, folder)
    lines = {**{name: line for name, (line, _) in SCRIPTS.items()}, **COMMANDS, **ON_A_TERMINAL}
    EVERY = Together()
    with others(folder) as there:
        for name, line in lines.items():
            for word, value in there.items():
                line = line.replace(word, str(value))
            EVERY.start(name, Run, os.path.join(folder, name), line, SCRIPTS.get(name, ("", None))[1], name in ON_A_TERMINAL)
        EVERY.join()


if __name__ == "__main__":
    main()
