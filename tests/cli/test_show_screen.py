# SPDX-License-Identifier: MIT
"""The screens of a hang: as it ends, and in full, of real programs in a terminal of 80 columns."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

from support_run import BUILD, HANGDOG, SANITIZER, environment, main
from support_screen import Screens, Terminal, replaced, screen

LOCK = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>
static int set;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static void compact_log(void) {
    usleep(900000); __asm__ volatile(""); }
__attribute__((noinline)) static void lookup(void) {
    pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); }
__attribute__((noinline)) static void handle_request(void) { lookup(); __asm__ volatile(""); }
static void *run(void *u) { pthread_mutex_lock(&lock); compact_log(); pthread_mutex_unlock(&lock); return u; }
static void wait_for_events(int n) { struct epoll_event e; while (n-- > 0) epoll_wait(set, &e, 1, 20); }
int main(void) {
    int ends[2]; struct epoll_event e = {.events = EPOLLIN};
    set = epoll_create1(0);
    if (pipe(ends) != 0) return 1;
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &e);
    wait_for_events(20);
    pthread_t t; pthread_create(&t, NULL, run, NULL); pthread_setname_np(t, "compactor");
    wait_for_events(4);
    handle_request();
    pthread_join(t, NULL);
    wait_for_events(20);
    return 0; }
"""
DEADLOCK = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>
static int set;
static pthread_mutex_t row = PTHREAD_MUTEX_INITIALIZER, cache = PTHREAD_MUTEX_INITIALIZER;
static void wait_for_events(int n) { struct epoll_event e; while (n-- > 0) epoll_wait(set, &e, 1, 20); }
__attribute__((noinline)) static void flush_cache(void) {
    pthread_mutex_lock(&row); __asm__ volatile(""); }
__attribute__((noinline)) static void update_row(void) {
    pthread_mutex_lock(&cache); __asm__ volatile(""); }
static void *run(void *u) { pthread_mutex_lock(&cache); usleep(300000); flush_cache(); return u; }
int main(void) {
    int ends[2]; struct epoll_event e = {.events = EPOLLIN};
    set = epoll_create1(0);
    if (pipe(ends) != 0) return 1;
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &e);
    wait_for_events(20);
    pthread_t t; pthread_create(&t, NULL, run, NULL); pthread_setname_np(t, "db-writer");
    pthread_mutex_lock(&row);
    wait_for_events(8);
    update_row();
    return 0; }
"""
ASYNCIO = """
import asyncio, subprocess, sys
def resize_image(n):
    return sum(i * i for i in range(n))
async def handle(what):
    if what == "cpu":
        resize_image(16000000)
    else:
        subprocess.run(["sleep", "1"])
async def main():
    for _ in range(20):
        await asyncio.sleep(0.02)
    await handle(sys.argv[1])
    for _ in range(20):
        await asyncio.sleep(0.02)
asyncio.run(main())
"""
NODE = """
const { execSync } = require("child_process");
function loadTemplates() { execSync("sleep 1"); }
let n = 0;
const timer = setInterval(function tick() { if (++n === 30) loadTemplates(); if (n === 60) clearInterval(timer); }, 20);
"""
SECONDS = (r"\b[01]\.\d s|\b9\d\d ms", "901 ms")


class Folder(Screens):
    def setUp(self):
        # pylint: disable=consider-using-with
        folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.env = {"PATH": os.path.dirname(HANGDOG) + ":" + os.environ["PATH"], "XDG_STATE_HOME": str(self.folder / "state"), **{
            name: value for name, value in environment().items() if name.startswith(("LD_PRELOAD", "HANGDOG_"))}}

    def compile(self, code, name):
        (self.folder / (name + ".c")).write_text(code, encoding="ascii")
        subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", name + ".c", "-o", name, "-lpthread"], check=True,
                       cwd=self.folder)
        return "./" + name

    def script(self, name, code):
        (self.folder / name).write_text(code, encoding="ascii")
        return name

    def seen(self, *argv, **more):
        return screen(["hangdog", *argv], cwd=self.folder, env=self.env, **more)

    def hang(self, *program, **more):
        """The screen of `hangdog run`, without the line of its start and the one that sums up the run."""
        text = re.sub(r"(?ms)^hangdog: \S+ ran for .*", "", self.seen("run", "--", *program, **more))
        return re.sub(r"\Ahangdog: watching the loop of .*\n(  .*\n)*", "", text)


class AsItEnds(Folder):
    def test_a_lock(self):
        text = self.hang(self.compile(LOCK, "lockg"))
        self.assertScreen("""
            hangdog: hang of 901 ms in lookup (lockg.c:11), lockg[9123], 22:54:56
              why  waited for a mutex held by thread 9131 "compactor", which was in
                   compact_log (lockg.c:9), in usleep
              > lookup          lockg.c:11  in pthread_mutex_lock
                handle_request  lockg.c:12
                main            lockg.c:23
              (7 runtime frames hidden; --all-frames)  more: hangdog show a7ac1f
            """, text, SECONDS, (r"\(\d+ runtime", "(7 runtime"), (r"held\s+by", "held by"))
        self.assertFits(text)

    def test_asyncio_that_computes(self):
        text = self.hang("/usr/bin/python3", self.script("aio.py", ASYNCIO), "cpu")
        inner = r"(?:  SHARE%(?:, of that SHARE% in <genexpr> \(aio\.py:4\))?)?"  # a script that runs is read as it goes on
        self.assertRegex(replaced(text), r"\Ahangdog: hang of DURATION in resize_image \(aio\.py:4\), aio\.py\[PID\], TIME\n"
                         r"  why  (ran on a CPU|no CPU was free) for SHARE% of the time.*\n"
                         r"(  and .*\n)*"
                         r"  > resize_image  aio\.py:4" + inner + r"\n"
                         r"    handle  aio\.py:7(?:  SHARE%)?\n    main  aio\.py:\d+(?:  SHARE%)?\n    <module>  aio\.py:16(?:  SHARE%)?\n"
                         r"(  note .*\n)*"
                         r"  \(\d+ interpreter and library frames hidden; --all-frames\)\n  more: hangdog show ID\Z")

    def test_asyncio_that_waits_for_a_child(self):
        text = self.hang("/usr/bin/python3", self.script("aio.py", ASYNCIO), "child")
        self.assertScreen("""
            hangdog: hang of 901 ms in handle (aio.py:9), aio.py[9123], 22:54:56
              why  waited for child 8510 (sleep) in wait4
              > handle          aio.py:9    in subprocess.run
                main            aio.py:13
                <module>        aio.py:16
              (56 interpreter and library frames hidden; --all-frames)
              more: hangdog show a7ac1f
            """, text, SECONDS, (r"\(\d+ interp", "(56 interp"))

    def test_node_that_waits_for_a_child(self):
        text = self.hang("/usr/bin/node", self.script("app.js", NODE))
        shown = replaced(text)
        self.assertRegex(shown, r"\Ahangdog: hang of DURATION in loadTemplates \(app\.js:3\), app\.js\[PID\], TIME\n"
                                r"  why  waited for child PID \(\w+\) in \w+(?: \(SHARE% of the time\))?\n"
                                r"  > loadTemplates  app\.js:3  in child_process\.\w+\n")

    def test_a_deadlock_that_is_interrupted(self):
        with Terminal(["hangdog", "run", "--", self.compile(DEADLOCK, "dead")], cwd=self.folder, env=self.env) as terminal:
            terminal.wait_for("frozen for 5")
            terminal.keys("C-c")
            terminal.wait_for("fatal hang")
            terminal.wait_for_end()
            text = terminal.text()
        text = text[text.index("hangdog: fatal hang"):]
        self.assertScreen("""
            hangdog: fatal hang of 70.6 s in update_row (dead.c:12), dead[8354], 22:52:41
              why  deadlock: waits for a mutex held by thread 8371 "db-writer", which waits
                   in flush_cache (dead.c:10) for one held by this thread
              > update_row      dead.c:12   in pthread_mutex_lock
                main            dead.c:23
              end  killed by SIGINT (Ctrl-C) while it hung
              (7 runtime frames hidden; --all-frames)  more: hangdog show da744a
            """, re.sub(r"(?ms)^hangdog: dead ran for .*", "", text), (r"\(\d+ runtime", "(7 runtime"),
            (r"\n {7}(which waits) ", r" \1\n       "), (r"waits\n? +in", "waits in"))


class InFull(Folder):
    def report(self):
        self.hang(self.compile(LOCK, "lockg"))
        (path,) = [path for path in self.folder.glob("state/hangdog/*/*.json")
                   if json.loads(path.read_text(encoding="utf-8"))["kind"] == "hang"]
        return path

    def test_show(self):
        self.report()
        text = self.seen("show", height=60)
        self.assertScreen("""
            hang of 901 ms in lookup (lockg.c:11), lockg[9123], 2026-11-23 22:54:56
              why  waited for a mutex held by thread 9131 "compactor", which was in
                   compact_log (lockg.c:9), in usleep
              > lookup          lockg.c:11  in pthread_mutex_lock
                handle_request  lockg.c:12
                main            lockg.c:23

            Stack
              100%  pthread_mutex_lock
              100%  lookup              lockg.c:11
              100%  handle_request      lockg.c:12
              100%  main                lockg.c:23
              (7 runtime frames hidden; --all-frames)

            Timeline
              at 0 ms  for 901 ms  waits in futex        lookup (lockg.c:11)

            Threads
              9131 "compactor", has the mutex  waits in clock_nanosleep
              > compact_log     lockg.c:9   in usleep
                run             lockg.c:13

            Run
              program lockg, build 826f8f8ebf9d, pid 9123, started 2026-11-23 22:54:56
              host    HOST
              file    FILE

            Cost
              10 samples, pauses of 0 us in all, the longest 0 us, 0 system calls interrupted
            """, text, SECONDS, (r"\(\d+ runtime", "(7 runtime"), (r"(?m)(100%  pthread_mutex_lock) .*$", r"\1"),
            (r"(host    )(?s:.*?)\n  file    \S+(\n\S+\.json)?\n", r"\1HOST\n  file    FILE\n"), (r"at +\d+ ms +for +\S+ ms", "at 0 ms  for 901 ms"),
            (r"^  \d+ sampl", "  10 sampl"), (r"(?m)^  \d+ samples", "  10 samples"), (r"system calls\n  inter", "system calls inter"), (r"build [0-9a-f]{12}", "build 826f8f8ebf9d"), (r"pid \d+", "pid 9123"),
            (r'(?m)^  \d+ "comp', '  9131 "comp'), (r"(?m), \d+% CPU$", ""))
        self.assertFits(re.sub(r"(?m)^  file .*", "", text))  # a path that is too long is not cut

    def test_colours(self):
        path = self.report()
        text = self.seen("show", height=60, colours=True)
        self.assertRegex(text, r"\x1b\[1m\x1b\[31mhang of")
        self.assertRegex(text, r"  > \x1b\[(0;)?1mlookup")
        bare = {"show": ["show"], "NO_COLOR": ["show"], "CLICOLOR_FORCE": ["show"], "always": ["--color", "always", "show"],
                "never": ["--color=never", "show"]}
        for variable, value, argv, wanted in (("NO_COLOR", "1", bare["show"], False), ("NO_COLOR", "", bare["show"], True),
                                              ("NO_COLOR", "1", bare["always"], True), ("TERM", "dumb", bare["show"], False),
                                              ("TZ", "", bare["never"], False)):
            text = screen([HANGDOG, *argv], cwd=self.folder, env=self.env, colours=True, height=60) if variable == "TZ" else screen(
                ["env", "%s=%s" % (variable, value), HANGDOG, *argv], cwd=self.folder, env=self.env, colours=True, height=60)
            self.assertEqual(wanted, "\x1b[" in text, (variable, value, argv))
        for force in "1", "":
            done = subprocess.run([HANGDOG, "show", path], env={**os.environ, "CLICOLOR_FORCE": force, "NO_COLOR": ""},
                                  capture_output=True, text=True, check=True)
            self.assertEqual(bool(force), "\x1b[" in done.stdout)

    def test_a_pager_where_it_is_longer_than_the_terminal(self):
        self.report()
        pager = self.folder / "pager"
        pager.write_text("#!/bin/sh\ntest \"$LESS\" = FRX && echo PAGED && cat\n", encoding="ascii")
        pager.chmod(0o755)
        for name in str(pager), "":
            self.env["PAGER"] = name
            self.assertEqual(bool(name), self.seen("show", height=24).startswith("PAGED\nhang of"), name)
            self.assertTrue(self.seen("show", height=60).startswith("hang of"))
        self.env["PAGER"] = "/nowhere/pager"
        self.assertIn("\nhang of ", self.seen("show", height=24))
        done = subprocess.run([HANGDOG, "show"], env={**os.environ, **self.env, "PAGER": str(pager)}, capture_output=True, text=True,
                              check=True)
        self.assertTrue(done.stdout.startswith("hang of"))

    def test_a_pipe_gets_it_whole(self):
        path = self.report()
        report = json.loads(path.read_text(encoding="utf-8"))
        long = "app::Vector<%s>::at(unsigned long)" % ", ".join(["company::Document"] * 9)
        for frame in report["hot_stack"]["frames"]:
            if frame.get("function") == "lookup":
                frame["function"] = long
        copy = self.folder / "copy.json"
        copy.write_text(json.dumps(report), encoding="utf-8")
        piped = subprocess.run([HANGDOG, "show", copy], env={**os.environ, "COLUMNS": "40"}, capture_output=True, text=True,
                               check=True).stdout
        self.assertEqual(2, sum(long in line for line in piped.split("\n")[:4]))
        for width in 60, 80, 120:
            text = self.seen("show", str(copy), width=width, height=90)
            self.assertFits("\n".join(line for line in text.split("\n") if "/" not in line), width)
            self.assertIn("::at", text)
        narrow = self.seen("show", str(copy), width=40, height=90)
        self.assertIn("\n  > app::Vector<...>::at(...)\n      lockg.c:11  in pthread_mutex_lock\n    handle_request  lockg.c:12\n", narrow)
        self.assertRegex(narrow, r"\n  \(\d+ frames hidden; --all-frames\)\n")

    def test_which_report(self):
        """By its latest, an id's beginning or end; where several match they are rows of the list."""
        path = self.report()
        text = path.read_text(encoding="utf-8")
        report = json.loads(text)
        folder = path.parent
        for i, age in enumerate((3, 2, 1)):
            other = "%08x-0000-7000-8000-%06dabcdef" % (int(report["id"][:8], 16) - age, i)
            (folder / (other + ".json")).write_text(text.replace(report["id"], other).replace('"name":"lockg"', '"name":"app%d"' % i),
                                                    encoding="utf-8")
        for name, app in (("latest", "lockg"), ("latest~1", "app2"), ("latest~3", "app0"), ("000001abcdef", "app1"),
                          (report["id"][-6:], "lockg"), ("%08x" % (int(report["id"][:8], 16) - 3), "app0")):
            self.assertIn(", %s[" % app, self.seen("show", name, height=60).split("\n")[0], name)
        self.assertIn("no report 'latest~4': there are 4", self.seen("show", "latest~4", status=1))
        self.assertScreen("""
            hangdog: no report 'zzz' in FOLDER/hangdog
              try: hangdog list
            """, self.seen("show", "zzz", status=1))
        several = self.seen("show", "abcdef", status=1)
        self.assertRegex(replaced(several), r"\Ahangdog: 3 reports match 'abcdef'\nWHEN +APP +KIND +LONGEST +CAUSE +N +FUNCTION +REPORT\n"
                                            r"TIME  app0  hang  DURATION  lock  1  lookup \(lockg\.c:11\)  \w+abcdef\n"
                                            r"TIME  app1 .*\nTIME  app2 ")

    def test_it_is_fast(self):
        path = self.report()
        times = []
        for _ in range(5):
            start = time.monotonic()
            subprocess.run([HANGDOG, "show", path], check=True, capture_output=True)
            times.append(time.monotonic() - start)
        print("show: %.0f ms" % (1000 * min(times)))
        self.assertLess(min(times), 0.2 if not SANITIZER else 2)


if __name__ == "__main__":
    assert BUILD
    main()
