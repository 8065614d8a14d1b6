# SPDX-License-Identifier: MIT
#
# Programs that nobody prepared, and a watcher on them: `hangdog attach` while they run, or `hangdog run` to compare with. Each
# stalls on request, on a CPU or blocked, and says how long that took by its own clock.

import contextlib
import glob
import json
import os
import pty
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import typing
import unittest

from support_postgres import Postgres
from support_run import HANGDOG, PATIENCE, SOURCE, children_of, environment, free_port, name_of, state_of, wait_until
from support_x_server import x_server

HERE = os.path.join(SOURCE, "tests/real/attached")
PACKAGES = "scripts/install-dependencies test"
TICK_MS = 20
TICK = "TICK"  # in a command: the period of the program's timer in ms


class Stall(typing.NamedTuple):
    """By the program's monotonic clock; start_ns None: only its length is known."""
    kind: str
    start_ns: int
    duration_ns: int
    by_program: bool = True  # False: its times are those of the test, or only its length is known


# ---- watchers ------------------------------------------------------------------------------------------------

class Attach:
    """`hangdog attach` of one or more processes, at a terminal of its own."""

    def __init__(self, pids, *options):
        self.spool = tempfile.mkdtemp(prefix="hangdog-test-")
        self.text = ""
        self.ours, its = pty.openpty()
        argv = [HANGDOG, "attach", "--spool", self.spool, *options, *map(str, pids)]
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=its, stderr=its, env=environment())
        os.close(its)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        with contextlib.suppress(OSError):
            while piece := os.read(self.ours, 4096):
                self.text += piece.decode(errors="replace").replace("\r\n", "\n")
        os.close(self.ours)

    def wait_for(self, text, limit=None):
        wait_until(lambda: text in self.text or self.process.poll() is not None, "%r in %r" % (text, self.text), limit)
        if text not in self.text:
            raise AssertionError("hangdog attach ended with %s: %s" % (self.process.returncode, self.text))

    def reports(self, *kinds):
        return reports_of(self.spool, *kinds)

    def end(self):
        """As Ctrl-C does; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return status

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.spool, ignore_errors=True)


def reports_of(spool, *kinds):
    """Whole documents in the spool and its folders, of these kinds or all, in the order of their names."""
    found = []
    for path in sorted(glob.glob(spool + "/**/*.json", recursive=True)):
        if not os.path.basename(path).startswith("."):
            with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as file:  # a full spool drops old ones
                found.append(json.load(file))
    return [report for report in found if not kinds or report["kind"] in kinds]


def with_names(spool, report):
    """The report as `hangdog show --json` gives it: with functions."""
    done = subprocess.run([HANGDOG, "show", report["id"], "--spool", spool, "--json"], check=True, stdout=subprocess.PIPE,
                          env=environment(), timeout=PATIENCE)
    return json.loads(done.stdout)


# ---- programs ------------------------------------------------------------------------------------------------

class Subject:
    """A program, plain or under `hangdog run`. `pid` is the process with the loop."""

    name = ""
    run_options = ()
    functions = {"cpu": "compute", "block": "block"}  # the own function of each stall

    def __init__(self, watched=False, traced=False):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="hangdog-test-"))
        self.spool = os.path.join(self.folder, "spool")
        self.trace = os.path.join(self.folder, "calls")  # what strace writes
        self.head = [HANGDOG, "run", "--spool", self.spool, *self.run_options, "--"] if watched else []
        self.head += ["strace", "-f", "-s", "1", "-o", self.trace] if traced else []
        self.is_child = watched or traced
        self.process = None
        self.pid = 0

    def _popen(self, argv, **more):
        with open(os.path.join(self.folder, "stderr"), "ab") as errors:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen([*self.head, *argv], stderr=errors, cwd=more.pop("cwd", self.folder),
                                            env=environment(more.pop("env", None)), **more)

    def _child(self, named):
        """The descendant process with this name."""
        def find():
            if self.process.poll() is not None:
                raise AssertionError("%s ended: %s" % (self.name, self.errors))
            todo = [self.process.pid]
            while todo:
                pid = todo.pop()
                if name_of(pid) == named:
                    return pid
                todo += children_of(pid)
            return None
        return wait_until(find, "process %s of %s" % (named, self.name))

    @property
    def errors(self):
        try:
            with open(os.path.join(self.folder, "stderr"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Requests(Subject):
    """One of tests/real/attached: requests come by its standard input (requests.h)."""

    def __init__(self, name, argv, watched=False, tick_ms=TICK_MS, env=None, named=None, traced=False):
        super().__init__(watched, traced)
        self.name = name
        self._popen([str(tick_ms) if word == TICK else word for word in argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.output = []
        self._line()
        if self.is_child or named:
            self.pid = self._child(named or os.path.basename(argv[0])[:15])
        else:
            self.pid = self.process.pid
        for kind in ("cpu", "block"):  # a first use compiles and loads
            self.stall(kind, 1)

    def _line(self):
        line = self.process.stdout.readline().decode()
        if not line:
            status = self.process.wait(PATIENCE)
            raise unittest.SkipTest("%s ended with %d: %s" % (self.name, status, self.errors))
        self.output.append(line)
        return line

    def request(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()
        return self._line()

    def stall(self, kind, ms):
        _, kind, start, end = self.request("%s %d" % (kind, ms)).split()
        return Stall(kind, int(start), int(end) - int(start))

    def end(self):
        """Its exit status, and how many calls were interrupted."""
        count = int(self.request("end").split()[1])
        return self.process.wait(PATIENCE), count


class Redis(Subject):
    """Debian's redis-server: DEBUG SLEEP, and a script in Lua. The slow log is its clock."""

    name = "redis"
    functions = {"cpu": "luaV_execute", "block": "debugCommand"}
    LOOP = "local n = 0 for i = 1, %d do n = n + i %% 7 end return n"

    def __init__(self, watched=False, traced=False):
        super().__init__(watched, traced)
        self.port = free_port()
        self._popen(["/usr/bin/redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                     "--enable-debug-command", "yes", "--slowlog-log-slower-than", "0", "--busy-reply-threshold", "60000"],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_until(lambda: b"PONG" in self.call("PING"), "redis-server")
        self.pid = int([l for l in self.call("INFO", "server").decode().splitlines() if l.startswith("process_id:")][0][11:])
        self.per_ms = 20000
        self.per_ms *= 100 * 1000 * 1000 / self.stall("cpu", 100).duration_ns
        self.warm()

    def warm(self):
        self.stall("block", 1)

    def call(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=PATIENCE).stdout

    def stall(self, kind, ms):
        self.call(*(["EVAL", self.LOOP % (self.per_ms * ms), "0"] if kind == "cpu" else ["DEBUG", "SLEEP", str(ms / 1000)]))
        log = self.call("--raw", "SLOWLOG", "GET", "8").decode().splitlines()
        at = log.index("EVAL" if kind == "cpu" else "DEBUG")
        return Stall(kind, None, int(log[at - 1]) * 1000, False)


class Nginx(Subject):
    """Debian's nginx, a worker of it; requests that a function in Perl answers late."""

    name = "nginx"
    run_options = ("--follow",)
    functions = {"cpu": "ngx_http_perl_handle_request", "block": "ngx_http_perl_handle_request"}
    CONFIG = """
daemon off; worker_processes 1; pid %(folder)s/pid; error_log stderr; %(user)s
include /etc/nginx/modules-enabled/*.conf;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path %(folder)s/1; proxy_temp_path %(folder)s/2; fastcgi_temp_path %(folder)s/3;
  uwsgi_temp_path %(folder)s/4; scgi_temp_path %(folder)s/5;
  server {
    listen 127.0.0.1:%(port)d;
    location / { perl 'sub {
      require Time::HiRes;
      my ($r, $now) = (shift, sub { 1e9 * Time::HiRes::clock_gettime(1) });
      my ($start, $ms) = ($now->(), substr($r->args, 3));
      if ($r->uri eq "/block") { Time::HiRes::usleep(1000 * $ms); }
      else { while ($now->() < $start + 1e6 * $ms) {} }
      $r->send_http_header("text/plain");
      $r->print(sprintf("%%.0f %%.0f", $start, $now->()));
      return 0;
    }'; }
  }
}
"""

    def __init__(self, watched=False, traced=False):
        super().__init__(watched, traced)
        self.port = free_port()
        config = os.path.join(self.folder, "nginx.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(self.CONFIG % {"folder": self.folder, "port": self.port, "user": "user root;" if os.geteuid() == 0 else ""})
        self._popen(["/usr/sbin/nginx", "-c", config], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_until(lambda: self.get("/cpu?ms=1"), "nginx")
        master = self._child("nginx") if self.is_child else self.process.pid
        self.pid = wait_until(lambda: children_of(master), "nginx's worker")[0]
        self.stall("block", 1)

    def get(self, path):
        return subprocess.run(["curl", "-sf", "http://127.0.0.1:%d%s" % (self.port, path)], check=False,
                              stdout=subprocess.PIPE, timeout=PATIENCE).stdout.decode()

    def stall(self, kind, ms):
        start, end = map(int, self.get("/%s?ms=%d" % (kind, ms)).split())
        return Stall(kind, start, end - start)


class Postmaster(Subject):
    """PostgreSQL's postmaster: at a SIGHUP it reads many rules of access, or one in a pipe without a writer. The clock is the
    test's: from the signal to the next wait of the process."""

    name = "postmaster"
    functions = {"cpu": "load_hba", "block": "load_hba"}
    RULE = "host all all 10.0.%d.%d/32 trust\n"
    WAITS = ("270", "23", "232", "281") if os.uname().machine == "x86_64" else ("72", "22")

    def __init__(self, watched=False, traced=False):
        super().__init__(watched, traced)
        os.chmod(self.folder, 0o777)
        self.server = Postgres(self.head)
        self.process = self.server.process
        self.rules = os.path.join(self.server.data(), "pg_hba.conf")
        os.mkfifo(self.rules + ".names", 0o666)
        with open(os.path.join(self.server.data(), "postmaster.pid"), encoding="ascii") as file:
            self.pid = int(file.readline())
        self.per_ms = 200
        self.per_ms *= 100 * 1000 * 1000 / self.stall("cpu", 100).duration_ns

    def waits(self):
        with open("/proc/%d/syscall" % self.pid, encoding="ascii") as file:
            return file.read().split()[0] in self.WAITS

    def stall(self, kind, ms):
        with open(self.rules, "w", encoding="ascii") as file:
            if kind == "cpu":
                file.writelines(self.RULE % (i // 250 % 250, i % 250) for i in range(int(ms * self.per_ms)))
            else:
                file.write("host @pg_hba.conf.names all 127.0.0.1/32 trust\n")
        start = time.monotonic_ns()
        os.kill(self.pid, signal.SIGHUP)
        wait_until(lambda: not self.waits(), "the signal")
        if kind == "block":
            time.sleep(ms / 1000)
            with open(self.rules + ".names", "w", encoding="ascii"):
                pass
        while not self.waits():
            time.sleep(0.0002)
        return Stall(kind, start, time.monotonic_ns() - start, False)

    def close(self):
        os.kill(self.pid, signal.SIGQUIT)  # strace passes no signal on
        self.server.close()
        super().close()


# ---- all of them ---------------------------------------------------------------------------------------------

def built(folder):
    """Builds what is to be compiled, into this folder. Where a compiler or a library is missing, no file is there afterwards."""
    def build(*argv):
        with contextlib.suppress(FileNotFoundError):
            subprocess.run(argv, check=False, cwd=HERE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    def out(name):
        return os.path.join(folder, name)
    build("musl-gcc", "-static", "-g", "-O1", "epoll.c", "-o", out("musl"))
    build("gcc", "-g", "-O1", "epoll.c", "-o", out("epoll"))
    build("gcc", "-g", "-O1", "uring.c", "-o", out("uring"), "-luring")
    build("gcc", "-g", "-O1", "gtk.c", "-o", out("gtk"), "-l:libgtk-3.so.0", "-l:libglib-2.0.so.0")
    build("rustc", "-g", "-O", "inline.rs", "-o", out("inline"))
    build("javac", "-d", folder, "LoopNio.java")


@contextlib.contextmanager
def subjects(names=None):
    """Of these names or all: a dict of functions that start a program; their argument is whether `hangdog run` watches it."""
    folder = tempfile.mkdtemp(prefix="hangdog-test-")
    built(folder)
    script = {name: os.path.join(HERE, name) for name in os.listdir(HERE)}
    # In a pid and a mount namespace of its own, where alone its file is.
    alone = ["unshare", "--pid", "--mount", "--fork", "--mount-proc", "sh", "-c",
             "mount -t tmpfs none /opt && cp %s/epoll /opt/in-container && exec /opt/in-container $1" % folder]
    every = {"redis": Redis, "nginx": Nginx, "postmaster": Postmaster}

    def add(name, *argv, **more):
        every[name] = lambda watched=False, **late: Requests(name, list(argv), watched, **{**more, **late})
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        add("node", "/usr/bin/node", script["loop_node.js"], TICK)
        add("asyncio", "/usr/bin/python3", script["loop_asyncio.py"], TICK)
        add("uvloop", "/usr/bin/python3", script["loop_asyncio.py"], TICK, "uvloop")
        add("java-nio", "/usr/bin/java", "-cp", folder, "LoopNio", TICK)
        add("perl-ev", "/usr/bin/perl", script["loop_ev.pl"], TICK)
        add("eventmachine", "/usr/bin/ruby", script["loop_eventmachine.rb"], TICK)
        for name in ("musl", "epoll", "uring", "inline"):
            add(name, os.path.join(folder, name), TICK)
        add("container", *alone, "sh", TICK, named="in-container")
        if names is None or "gtk" in names:
            with contextlib.suppress(FileNotFoundError):
                add("gtk", os.path.join(folder, "gtk"), TICK, env=stack.enter_context(x_server()))
        yield {name: every[name] for name in every if names is None or name in names}
