# SPDX-License-Identifier: MIT
"""The screens of `hangdog run` in a terminal of 80 columns; and the same in a pipe, where no line is broken."""

import os
import subprocess

from support_side_by_side import SideBySide
from support_run import BUILD, HANGDOG, environment, main
from support_screen import Screens, Terminal, screen

PYTHON = "/usr/bin/python3"
ENVIRONMENT = {"PATH": os.path.join(BUILD, "bin") + ":/usr/bin:/bin"}
POOL = os.path.join(BUILD, "tests/programs/pool")
# A loop of select on a listening socket, which is evidence of a loop. Arguments are seconds of hangs.
SERVE = """
import select, socket, sys, time
server = [socket.create_server(("127.0.0.1", 0))]
def loop(turns):
    for _ in range(turns): select.select(server, [], [], 0.1)
def lookup(seconds): time.sleep(seconds)
loop(16)
for seconds in sys.argv[1:]:
    lookup(float(seconds))
    loop(3)
"""
FIRST = """
import select, socket, time
pair = socket.socketpair()
for _ in range(5): select.select(pair, [], [], 0.035)
def main(): time.sleep(2)
main()
"""
JOINS = """
import select, socket, threading
pair = socket.socketpair()
def work():
    open("/proc/thread-self/comm", "w").write("worker")
    for _ in range(30): select.select(pair, [], [], 0.1)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
# Durations of waits, which a busy machine makes longer, and what a busy machine makes of it.
FIGURES = ((r"\d+ ms \(3 and 100 ms are needed\)", "DURATION (3 and 100 ms are needed)"), (r"no hang of 500 ms", "no hang of HALF"))


FIXED = """
#include <poll.h>
#include <sys/socket.h>
int wait_for_client(int fd) {
    struct pollfd p = {fd, POLLIN, 0};
    return poll(&p, 1, 100) + 1;
}
int main(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), turns = 0;
    listen(fd, 1);
    while (turns < 12) turns += wait_for_client(fd);
    return 0;
}
"""


class RunScreens(SideBySide, Screens):
    def make(self, name, text):
        folder = self.make_folder()
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
        return folder

    def terminal(self, folder, *argv):
        return Terminal(["hangdog", "run", *argv], cwd=folder, env=ENVIRONMENT, height=40)

    def ran(self, folder, *argv, status=0):
        with self.terminal(folder, *argv) as terminal:
            self.assertEqual(status, terminal.wait_for_end(), terminal.text())
            text = terminal.text()
        self.assertFits(text)
        return text

    def beside_hangs_repeats_and_the_end(self):
        text = self.ran(self.make("serve.py", SERVE), PYTHON, "serve.py", "0.8", "0.9", "0.8")
        self.assertScreen("""
            hangdog: hang of 800 ms in lookup (serve.py:6), serve.py[9123], 22:54:56
              why  slept in clock_nanosleep
              > lookup          serve.py:6   in clock_nanosleep
              (24 interpreter and library frames hidden; --all-frames)
              more: hangdog show a7ac1f
            hangdog: same hang again: 900 ms in lookup (serve.py:6); 2 so far, 1.7 s
            hangdog: same hang again: 800 ms in lookup (serve.py:6); 3 so far, 2.5 s
            hangdog: serve.py ran for 5.0 s: 3 hangs, 2.5 s lost (50%), started in 120 ms
              LOST    N  WORST   CAUSE  FUNCTION             REPORT
              2.5 s   3  900 ms  sleep  lookup (serve.py:6)  a7ac1f
            """, text, (r"\d+ interpreter and", "N interpreter and"), (r"    <module> .*\n", ""), (r"hangdog: watching .*\n", ""))

    def beside_stalls_of_a_pool(self):
        """As they end, the run's last line, and then the report in full and the session."""
        folder = self.make_folder()
        text = self.ran(folder, "--loop", "pool", POOL, "3", "2")
        self.assertScreen("""
            hangdog: pool stall of 1.2 s: all 3 threads "pool" in read_archive (pool.c:22),
              pool[9123], 22:54:56
              why  waited in read on a pipe
              > read_archive    pool.c:22   in read
                work            pool.c:36
              (5 runtime frames hidden; --all-frames)  more: hangdog show a7ac1f
            hangdog: same pool stall again: 1.2 s in read_archive (pool.c:22); 2 so far, 2.4 s
            hangdog: pool ran for 6.0 s: no hang of 500 ms or more, but 2 pool stalls of 2.4 s in all, started in 260 ms
            """, text, *FIGURES, (r"\d+ runtime", "N runtime"), (r"pool\.c:\d+", "pool.c:N"),
                          (r"(?<=\d)\n +(?=s\b)", " "), (r"hangdog: watching .*\n", ""),
                          (r"\binterceptor_read", "read"))  # of a sanitizer

    def beside_a_stall_that_lasts(self):
        with self.terminal(self.make_folder(), "--loop", "pool", POOL, "3", "1", "9000") as terminal:
            terminal.wait_for("all stacks now")
            terminal.keys("C-c")
            terminal.wait_for_end()
            text = terminal.text()
        self.assertFits(text)
        self.assertScreen("""
            hangdog: pool[8354]: all 3 threads "pool" busy for 5 s, still going:
              read_archive (pool.c:24)
              why  waits in read on a pipe
              all stacks now: hangdog dump 8354
            """, "\n".join([line for line in text.splitlines() if "watching" not in line][:4]))

    def beside_a_hang_that_goes_on_and_kills(self):
        with self.terminal(self.make("serve.py", SERVE), PYTHON, "serve.py", "60") as terminal:
            terminal.wait_for("all stacks now")
            terminal.keys("C-c")
            terminal.wait_for_end()
            text = terminal.text()
        self.assertFits(text)
        self.assertScreen("""
            hangdog: serve.py[8354] frozen for 5 s, still going: lookup (serve.py:6)
              why  sleeps in clock_nanosleep
              all stacks now: hangdog dump 8354
            """, "\n".join([line for line in text.splitlines() if "watching" not in line][:3]))
        self.assertRegex(text, r"\nhangdog: (fatal )?hang of \S+ s in lookup \(serve\.py:6\), serve\.py\[\d+\], \d\d:\d\d:\d\d\n")
        self.assertRegex(text, r"\n  LOST +N  WORST +CAUSE  FUNCTION +REPORT\n  \S+ s +1  \S+ s +sleep  lookup \(serve\.py:6\)  [0-9a-f]{6}$")

    def beside_the_loop_of_a_program_with_a_fixed_address(self):
        """Its offsets are addresses."""
        folder = self.make_folder()
        path = os.path.join(folder, "fixed")
        subprocess.run(["gcc", "-no-pie", "-g", "-x", "c", "-", "-o", path], input=FIXED, text=True, check=True)
        self.assertScreen("""
            hangdog: watching the loop of fixed[8605]: poll in wait_for_client
            hangdog: fixed ran for 1.2 s: no hang of 500 ms or more, started in 20 ms
            """, self.ran(folder, "./fixed"), *FIGURES)

    def beside_the_loop_that_is_watched(self):
        """The program prints `done` by itself, before or after the runner's line."""
        waits = os.path.join(BUILD, "tests/programs/waits")
        lines = self.ran(self.make_folder(), waits, "w12", status=3).splitlines(keepends=True)
        self.assertEqual(1, lines.count("done\n"))
        self.assertScreen("""
            hangdog: watching the loop of waits[8605]: poll in wait_for_events
            hangdog: waits ran for 1.2 s: no hang of 500 ms or more, started in 20 ms
            """, "".join(line for line in lines if line != "done\n"), *FIGURES)

    def beside_no_hang(self):
        self.assertScreen("hangdog: serve.py ran for 2.0 s: no hang of 500 ms or more, started in 120 ms",
                          self.ran(self.make("serve.py", SERVE), PYTHON, "serve.py"), *FIGURES, (r"hangdog: watching .*\n", ""))

    def beside_a_crash(self):
        """The last line must not say only that nothing hung. A crash has no duration in the list."""
        folder = self.make("crash.py", SERVE + "import os; os.abort()")
        text = self.ran(folder, "--crash", "--spool", "spool", "--", PYTHON, "crash.py", status=134)  # the shell's, of SIGABRT
        self.assertRegex(text, r"(?m)^hangdog: crash\.py ran for \S+ s, until it crashed \(SIGABRT\): no hang of ")
        listed = screen(["hangdog", "list", "--spool", "spool"], cwd=folder, env=ENVIRONMENT)
        self.assertRegex(listed, r"\n\d\d:\d\d:\d\d  crash\.py  crash +-  - +1  ")

    def beside_a_loop_that_is_not_certain(self):
        self.assertScreen("""
            hangdog: first.py ran for 2.5 s: 1 possible hang was not reported: 2.0 s in main
              (first.py:5). Its loop was not certain: 5 waits, 176 ms, and it did not return
              to them. Run it for longer, or name the loop:
              hangdog run --loop python3.11 -- /usr/bin/python3 first.py
            """, self.ran(self.make("first.py", FIRST), PYTHON, "first.py"), (r"--loop \S+", "--loop MODULE"))

    def beside_a_child_that_may_have_the_loop(self):
        self.assertScreen("""
            hangdog: sh ran for 2.3 s: no event loop, so hangs could not be seen
              the main thread spent 2.2 s waiting for child 9996 (sleep) in wait4 and never
              called poll, select or epoll_wait; the loop may be in the child:
              hangdog run --follow -- sh -c 'sleep 2; true'
            """, self.ran(self.make_folder(), "sh", "-c", "sleep 2; true"))

    def beside_a_program_that_is_none(self):
        self.assertScreen("""
            hangdog: sleep ran for 2.0 s: no event loop, so hangs could not be seen
              the main thread spent 2.0 s sleeping in clock_nanosleep and never called poll,
              select or epoll_wait; this is no event-loop program; try perf:
              perf record -g -- sleep 2
            """, self.ran(self.make_folder(), "sleep", "2"))

    def beside_another_thread_that_may_have_the_loop(self):
        self.assertScreen("""
            hangdog: joins.py ran for 3.2 s: no event loop, so hangs could not be seen
              the main thread spent 3.1 s waiting for another thread in futex and never
              called poll, select or epoll_wait; the loop may be in another thread:
              hangdog run --thread worker -- /usr/bin/python3 joins.py
            """, self.ran(self.make("joins.py", JOINS), PYTHON, "joins.py"))

    def beside_a_program_that_cannot_be_watched(self):
        folder = self.make_folder()
        path = os.path.join(folder, "static")
        subprocess.run(["gcc", "-static", "-x", "c", "-", "-o", path], input="int main(void) { return 7; }", text=True, check=True)
        self.assertScreen("""
            hangdog: cannot watch ./static: it is statically linked, so no library can be
              preloaded; it runs unwatched. To watch it from outside:
              hangdog attach 4711
            """, self.ran(folder, "./static", status=7))

    def beside_a_pipe_has_whole_lines(self):
        folder = self.make_folder()
        done = subprocess.run([HANGDOG, "run", "--spool", "spool", "--", "sh", "-c", "sleep 1; true"], cwd=folder, capture_output=True,
                              text=True, env=environment(), timeout=60, check=False)
        self.assertRegex(done.stderr, r"\Ahangdog: sh ran for .*: no event loop, so hangs could not be seen; the main thread .*; the "
                                      r"loop may be in the child: \S+ run --follow --spool \S+ -- sh -c 'sleep 1; true'\n\Z")

    def beside_frequent_repeats_have_few_lines(self):
        """Of 12 within a minute the first 5, the 10th."""
        text = self.ran(self.make("serve.py", SERVE), "--threshold", "100ms", PYTHON, "serve.py", *12 * ["0.3"])
        lines = [line for line in text.splitlines() if "same hang again" in line]
        self.assertEqual([2, 3, 4, 5, 10], [int(line.split(";")[1].split()[0]) for line in lines], text)
        self.assertIn(": 12 hangs, ", text)


if __name__ == "__main__":
    main()
