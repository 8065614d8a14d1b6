# SPDX-License-Identifier: MIT
"""Plans for programs that have no loop: whatever they wait for, nothing is to be seen in them."""
import pathlib
import subprocess

from plans import SLOWER, plan
from plans_scripts import mute_server, slow_server


def batch(name, what, did, packages=()):
    def add(drive):
        @plan(name, what, did, packages)
        def around(run):
            run.mark("from none -")
            drive(run)
        return around
    return add


def wait(run, argv, seconds=120 * SLOWER, **options):
    process = run.record(argv, **options)
    process.wait(seconds)


@batch("make", "make -j2", "ten commands", ["make"])
def make(run):
    pathlib.Path(run.path("Makefile")).write_text(
        "all: 1 2 3 4 5 6 7 8 9 10\n%:\n\tsleep 0.1\n", encoding="ascii")
    wait(run, ["make", "-j2"])


@batch("gcc", "gcc", "compiles a program", ["gcc"])
def gcc(run):
    pathlib.Path(run.path("a.c")).write_text("int main(void) { return 0; }\n", encoding="ascii")
    wait(run, ["gcc", "-O2", "-o", run.path("a"), run.path("a.c")])


@batch("git", "git", "clones a local repository", ["git"])
def git(run):
    subprocess.run("git init -q r && cd r && git -c user.name=n -c user.email=e commit -q --allow-empty -m m", shell=True,
                   cwd=run.folder, check=True, env=run.env)
    wait(run, ["git", "clone", "-q", "file://" + run.path("r"), run.path("clone")])


@batch("ssh", "ssh", "connects to a server that never says a word", ["openssh-client"])
def ssh(run):
    mute_server(run)
    wait(run, ["ssh", "-o", "ConnectTimeout=2", "-o", "StrictHostKeyChecking=no", "-p", run.env["MUTE_PORT"],
               "127.0.0.1", "true"])


@batch("curl", "curl", "a page that comes in ten pieces within 0.3 s", ["curl", "libcurl4"])
def curl(run):
    wait(run, ["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{slow_server(run)}/10"])


@batch("psql", "psql", "connects to a server that never says a word", ["postgresql-client-15", "libpq5"])
def psql(run):
    mute_server(run)
    binary = next(pathlib.Path("/usr/lib/postgresql").glob("*/bin/psql"))
    wait(run, [str(binary), f"host=127.0.0.1 port={run.env['MUTE_PORT']} connect_timeout=3 sslmode=disable", "-c", "select 1"])


@batch("bash", "bash", "a pipeline", ["bash"])
def bash(run):
    wait(run, ["bash", "-c", "for i in 1 2 3; do (sleep 0.2; seq 1000) | sort | tail -1; done"])


@batch("java", "java", "starts, sleeps on its main thread, ends", ["default-jre-headless"])
def java(run):
    pathlib.Path(run.path("A.java")).write_text(
        "public class A { public static void main(String[] a) throws Exception {"
        " for (int i = 0; i < 10; i++) Thread.sleep(100); } }\n", encoding="ascii")
    wait(run, ["java", run.path("A.java")])


@batch("sleeper", "Python, as a cron-like sleeper", "sleeps, runs a command, sleeps", ["python3.11"])
def sleeper(run):
    code = ("import subprocess, time\n"
            "for i in range(6):\n    time.sleep(0.5)\n    subprocess.run(['sleep', '0.2'], capture_output=True)\n")
    wait(run, ["/usr/bin/python3", "-c", code])


@batch("sqlite", "Python's sqlite3", "writes a database", ["python3.11", "libsqlite3-0"])
def sqlite(run):
    code = ("import sqlite3\nc = sqlite3.connect('a.db')\nc.execute('create table t (x)')\n"
            "for i in range(50):\n    c.execute('insert into t values (?)', (i,))\n    c.commit()\n")
    wait(run, ["/usr/bin/python3", "-c", code])


@batch("tail", "tail -f", "a file that grows", ["coreutils"])
def tail(run):
    path = pathlib.Path(run.path("growing"))
    path.write_text("one\n", encoding="ascii")
    process = run.record(["tail", "-f", str(path)])
    for _ in range(8):
        run.pause(0.3)
        with open(path, "a", encoding="ascii") as file:
            file.write("another\n")
    run.end(process)


@batch("apt-cache", "apt-cache", "a search", ["apt"])
def apt_cache(run):
    wait(run, ["apt-cache", "search", "watchdog"])
