# SPDX-License-Identifier: MIT
"""hangdog dump: the stacks of running, unprepared programs, and the errors where there are none."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

from support_dump import TARGET, Programs, dump, functions, report_of, state_of_thread, thread_of
from support_run import HANGDOG, SANITIZER, main, schema_errors, wait_until

NO_SAMPLES = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>
long syscall(long n, long a, long b, long c, long d, long e, long f) {
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    if (n == SYS_perf_event_open) {
        errno = EACCES;
        return -1;
    }
    return next(n, a, b, c, d, e, f);
}
"""
SAMPLES = r"""
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = PERF_COUNT_SW_TASK_CLOCK, .sample_period = 100000,
                                .sample_type = PERF_SAMPLE_REGS_USER, .sample_regs_user = 1, .exclude_kernel = 1, .exclude_hv = 1};
    return syscall(SYS_perf_event_open, &a, 0, -1, -1, 0) < 0;
}
"""
NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")


def names_of(pid):
    names = []
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/comm" % (pid, tid), encoding="utf-8", errors="replace") as comm:
            names.append(comm.read().strip())
    return names


def children_of(pid, name):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as children:
        return [int(child) for child in children.read().split() if names_of(int(child))[:1] == [name]]


class Stacks(Programs):
    def test_main_of_redis(self):
        redis = self.start_blocked("/usr/bin/redis-server", "--port", "0", "--save", "", "--unixsocket",
                                   os.path.join(self.make_folder(), "socket"))
        thread = thread_of(report_of(redis.pid), redis.pid)
        names = functions(thread)
        self.assertEqual("epoll_wait", names[0])
        self.assertEqual(["aeMain", "main"], [name for name in names if name in ("aeMain", "main")])
        self.assertEqual("root", thread["stack"]["stop"])
        text = dump(redis.pid)
        self.assertRegex(text, r'thread %d "redis-server" \(main\)  waits for .* in epoll_wait' % redis.pid)
        self.assertRegex(text, r"(?m)^  > aeMain +in epoll_wait\n    main$")

    def test_deadlock(self):
        target = self.start_target("deadlock")
        wait_until(lambda: "deadlock:" in dump(target.pid), "the deadlock")
        report = report_of(target.pid)
        (other,) = [thread["tid"] for thread in report["threads"] if thread["tid"] != target.pid]
        self.assertEqual([], schema_errors(report))
        self.assertEqual("live", report["kind"])
        self.assertEqual([[target.pid, other]], report["deadlocks"])
        for tid, owner, function in ((target.pid, other, "update_row"), (other, target.pid, "flush_cache")):
            thread = thread_of(report, tid)
            self.assertEqual(owner, thread["waits_for_tid"])
            self.assertEqual(("lock", owner), (thread["cause"]["kind"], thread["cause"]["lock_owner_tid"]))
            self.assertIn(function, functions(thread))
        text = dump(target.pid)
        self.assertRegex(text, r'\(main\)  waits for a mutex held by thread %d "db-writer", which is in flush_cache \(dump-target.c:\d+\)(; for \d+ ms|; for \S+ s)?\n'
                               r"  > update_row +dump-target.c:\d+ +in pthread_mutex_lock\n" % other)
        self.assertIn("\ndeadlock: %d -> %d -> %d\n" % (target.pid, other, target.pid), text)

    def test_owner_that_sleeps_is_no_deadlock(self):
        target = self.start_target("owner")
        self.settle(target.pid)
        text = dump(target.pid)
        self.assertRegex(text, r'waits for a mutex held by thread \d+ "compactor", which is in compact_log \(')
        self.assertRegex(text, r'"compactor"  sleeps in clock_nanosleep(, for \S+ m?s)?\n  > compact_log +dump-target.c:\d+ +in sleep\n')
        self.assertNotIn("deadlock", text)

    def test_a_thousand_threads_are_one_entry(self):
        target = self.start_target("many", "1000")
        self.settle(target.pid)
        text = dump(target.pid)
        self.assertRegex(text, r"^dump-target\[\d+\], 1001 threads, ")
        self.assertRegex(text, r'(?m)^1000 threads "dump-target" \(\d+ \d+ \d+ \.\.\.\)  each waits for a signal in pause(, for .*)?$')
        self.assertLess(text.count("\n"), 12)
        report = report_of(target.pid)
        self.assertEqual(1001, sum(1 for thread in report["threads"] if "idle" in functions(thread)))

    def may_sample(self, target):
        """By the right to use perf_event_open. Where that works, a busy machine may need several dumps for a sample."""
        source, program = (os.path.join(self.make_folder(), name) for name in ("samples.c", "samples"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(SAMPLES)
        subprocess.run(["gcc", "-o", program, source], check=True)
        if subprocess.run([program], check=False).returncode != 0:
            return False
        wait_until(lambda: "its stack: --running" not in dump(target.pid), "a sample")
        return True

    @unittest.skipIf(os.environ.get("HANGDOG_SANITIZER"), "the sanitizer's library comes first in LD_PRELOAD")
    def test_a_running_thread(self):
        """By a sample of the kernel; where samples are refused by a stop, if the user wants that."""
        target = self.start_target("spin")
        refused = {**os.environ, "LD_PRELOAD": self.make_library(NO_SAMPLES)}
        has_samples = self.may_sample(target)
        for env, args in ((os.environ, ()), (refused, ("--running",))):
            if has_samples or args:
                text = dump(target.pid, *args, env=env)
                self.assertRegex(text, r'thread \d+ "worker"  runs, \d+% CPU\n  > work +dump-target.c:\d+\n    worker ')
                self.assertEqual(args != (), "stopped running threads for" in text)
                report = json.loads(dump(target.pid, "--json", *args, env=env))
                (worker,) = [thread for thread in report["threads"] if thread["name"] == "worker"]
                self.assertEqual("suspended" if args else "sampled", worker["stack"]["capture"])
                self.assertEqual(args != (), report["monitor"]["pause_total_ns"] > 0)
                self.assertEqual([], schema_errors(report))
        text = dump(target.pid, env=refused)
        self.assertRegex(text, r'thread \d+ "worker"  runs, \d+% CPU; its stack: --running\n')
        self.assertNotIn("work  ", text)
        self.assertIn(state_of_thread(target.pid, worker["tid"]), "RS")  # it runs on

    def test_a_second_look(self):
        """By the differences between two looks a thread is parked or spins."""
        target = self.start_target("spin")
        if not self.may_sample(target):
            self.skipTest("this user may not use perf_event_open")
        report = report_of(target.pid, "--watch", "500ms")
        self.assertEqual({"dump-target": "parked", "worker": "spinning"}, {t["name"]: t["motion"] for t in report["threads"]})
        self.assertEqual([], schema_errors(report))
        self.assertRegex(dump(target.pid, "--watch", "500ms"), r'"worker"  spinning: runs, \d+% CPU\n  > work ')

    def test_how_long_a_thread_waits(self):
        """The kernel knows it: no second look is needed. Threads of several names and times share a line."""
        target = self.start_target("named")
        time.sleep(1.2)
        report, began = report_of(target.pid), time.monotonic()
        waits = [thread.get("for_ns", 0) / 1e9 for thread in report["threads"] if thread["name"].startswith("bio_")]
        if 0 in waits:
            self.skipTest("this kernel has no /proc/PID/sched")
        self.assertEqual(3, len(waits))
        for seconds in waits:
            self.assertTrue(1.1 < seconds < 10, waits)
        text = dump(target.pid)
        later = report_of(target.pid)
        between = time.monotonic() - began
        (first,), (last,) = ([thread["for_ns"] / 1e9 for thread in r["threads"] if thread["name"] == "bio_aof"] for r in (report, later))
        self.assertAlmostEqual(between, last - first, delta=0.25 + between / 4)
        self.assertRegex(text, r'(?m)^3 threads "bio_close" \(\d+\), "bio_aof" \(\d+\), "bio_lazy" \(\d+\)  each\s+waits for a signal in'
                               r'\s+pause,\s+for \S+ s( to \S+ s)?$')

    def test_a_thousand_calls_deep(self):
        target = self.start_target("deep")
        self.settle(target.pid)
        thread = thread_of(report_of(target.pid), target.pid)
        self.assertEqual(1001, functions(thread).count("recurse"))
        self.assertEqual("root", thread["stack"]["stop"])
        self.assertEqual(1001, len(re.findall("recurse ", dump(target.pid, "--all-frames"))))
        self.assertLess(len(dump(target.pid).splitlines()), 12)

    def test_functions_of_python(self):
        program = os.path.join(self.make_folder(), "jobs.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write("import time\n\n\ndef pause_for(s):\n    time.sleep(s)\n\n\ndef main():\n    pause_for(1000)\n\n\nmain()\n")
        python = self.start_blocked("/usr/bin/python3", program)
        self.assertRegex(dump(python.pid), r"  > pause_for +jobs.py:5 +in .*\n    main +jobs.py:9\n    <module> +jobs.py:12\n")
        self.assertIn("pause_for", dump("jobs.py"))  # by the script's name

    def test_node_and_a_shells_child(self):
        node = self.start_blocked("/usr/bin/node", "-e", "setInterval(() => {}, 1000000)")
        self.assertIn("uv_run", functions(thread_of(report_of(node.pid), node.pid)))
        shell = self.start_blocked("/usr/bin/bash", "-c", "sleep 1000; true")
        self.assertRegex(dump(shell.pid), r"\(main\)  waits for child \d+ \(sleep\) in wait4(, for \S+ m?s)?\n")

    def test_a_program_without_symbols(self):
        stripped = os.path.join(self.make_folder(), "stripped")
        subprocess.run(["strip", "-o", stripped, TARGET], check=True)
        target = self.start_target("owner", program=stripped)
        self.settle(target.pid)
        thread = thread_of(report_of(target.pid), target.pid)
        self.assertEqual("root", thread["stack"]["stop"])
        self.assertRegex(dump(target.pid), r"  > stripped\+0x[0-9a-f]+ +in pthread_mutex_lock\n")

    def test_a_deleted_and_a_replaced_program(self):
        program = os.path.join(self.make_folder(), "gone")
        shutil.copy(TARGET, program)
        target = self.start_target("owner", program=program)
        self.settle(target.pid)
        os.unlink(program)
        self.assertIn("> compact_log", dump(target.pid))
        shutil.copy("/usr/bin/sleep", program)
        self.assertIn("> compact_log", dump(target.pid))

    @unittest.skipIf(SANITIZER, "the preload is not for sanitizers")
    def test_hangdogs_threads_are_left_out(self):
        run = self.start(HANGDOG, "run", "--", "/usr/bin/python3", "-c", "import asyncio; asyncio.run(asyncio.sleep(1000))")
        (pid,) = wait_until(lambda: children_of(run.pid, "python3"), "the program")
        wait_until(lambda: "hangdog-worker" in names_of(pid), "Hangdog's threads")
        time.sleep(0.3)
        text, report = dump(pid), report_of(pid)
        self.assertRegex(text, r"^python3\[%d\], 1 thread, " % pid)
        self.assertIn("\n(2 threads of Hangdog not shown)\n", text)
        self.assertEqual((1, 2), (len(report["threads"]), report["threads_left_out"]))

    def make_library(self, text):
        source, library = (os.path.join(self.make_folder(), name) for name in ("refuse.c", "librefuse.so"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
        return library

    def test_a_deleted_library_has_its_exported_names(self):
        folder = self.make_folder()
        source, library, program = (os.path.join(folder, name) for name in ("wait.c", "libwait.so", "main"))
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <unistd.h>\nint wait_here(void) { pause(); return 1; }\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
        with open(source, "w", encoding="utf-8") as file:
            file.write("int wait_here(void); int main(void) { return wait_here(); }\n")
        subprocess.run(["gcc", "-o", program, source, library], check=True)
        target = self.start_blocked(*(NOBODY if os.getuid() == 0 else ()), program)
        os.unlink(library)
        self.assertIn("> wait_here", dump(target.pid))
        if os.getuid() == 0:  # for its own user the kernel opens no link to a mapped file: memory has the name
            self.assertIn("> wait_here", dump(target.pid, prefix=NOBODY))

    @unittest.skipUnless(shutil.which("bwrap"), "bubblewrap is not installed")
    def test_a_container(self):
        folder = self.make_folder()
        shutil.copy(TARGET, os.path.join(folder, "inside"))
        bwrap = self.start("bwrap", "--unshare-user", "--unshare-pid", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib",
                           "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--bind", folder, "/app",
                           "/app/inside", "deadlock", stdout=subprocess.PIPE)
        self.assertEqual(b"ready\n", bwrap.stdout.readline())
        wait_until(lambda: "deadlock:" in dump("inside"), "the deadlock")
        text = dump("inside")
        self.assertRegex(text, r'waits for a mutex held by thread \d+ "db-writer", which is in flush_cache \(dump-target.c:\d+\)')

    def test_a_stopped_process(self):
        target = self.start_target("owner")
        self.settle(target.pid)
        target.send_signal(19)
        wait_until(lambda: state_of_thread(target.pid, target.pid) == "T", "the stop")
        text = dump(target.pid)
        self.assertIn("is stopped\n", text)
        self.assertIn("> compact_log", text)
        self.assertEqual("T", state_of_thread(target.pid, target.pid))

    def test_a_hostile_process(self):
        target = self.start_target("hostile")
        end = time.monotonic() + 6
        count = 0
        while time.monotonic() < end:
            text = dump(target.pid, *(["--running"] if count % 3 == 2 else []))
            self.assertRegex(text, r"^dump-target\[%d\], 11 threads" % target.pid)
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f]")
            self.assertLess(len(text.splitlines()), 100)
            count += 1
        print("%d dumps" % count, file=sys.stderr)
        self.assertGreater(count, 1)


class Errors(Programs):
    def assert_error(self, pattern, *args, **kwargs):
        self.assertRegex(dump(*args, status=1, **kwargs), r"\Ahangdog: cannot dump %s\n\Z" % pattern)

    def test_no_such_process(self):
        self.assert_error("process 99999999: there is no such process", 99999999)
        self.assert_error("process 0: there is no such process", 0)
        self.assert_error("'nosuchprogramxyz': no process has that name; try: ps -e", "nosuchprogramxyz")

    def test_a_name(self):
        folder = self.make_folder()
        program = os.path.join(folder, "onlyone-target")
        shutil.copy(TARGET, program)
        target = self.start_target("owner", program=program)
        self.settle(target.pid)
        self.assertRegex(dump("onlyone-target"), r"^onlyone-target\[%d\], " % target.pid)
        self.assert_error("'onlyone-targte': no process has that name; did you mean 'onlyone-target'\\?", "onlyone-targte")
        other = self.start_target("owner", program=program)
        self.assert_error(r"'onlyone-target': 2 processes have that name: \d+ \(\S+ owner\), \d+ \(\S+ owner\); try: \S+ dump \d+",
                          "onlyone-target")
        other.kill()

    def test_a_threads_number_means_its_process(self):
        target = self.start_target("owner")
        self.settle(target.pid)
        other = max(int(tid) for tid in os.listdir("/proc/%d/task" % target.pid))
        self.assertRegex(dump(other), r"^dump-target\[%d\], 2 threads" % target.pid)

    def test_a_zombie(self):
        target = self.start_target("owner")
        target.kill()
        wait_until(lambda: state_of_thread(target.pid, target.pid) == "Z", "its end")
        self.assert_error(r"process \d+: it has ended, and its parent, process %d, has not waited for it yet" % os.getpid(), target.pid)

    @unittest.skipUnless(os.path.exists("/proc/2/status") and not os.path.exists("/proc/2/exe"), "no kernel thread is seen here")
    def test_a_thread_of_the_kernel(self):
        self.assert_error("process 2: it is a thread of the kernel; try: sudo cat /proc/2/stack", 2)

    @unittest.skipUnless(os.getuid() == 0, "needs root")
    def test_another_user(self):
        target = self.start_target("owner")
        self.assert_error(r"process %d: it needs root or the same user; try: sudo \S+ dump %d" % (target.pid, target.pid), target.pid,
                          prefix=NOBODY)
        self.assertEqual("S", state_of_thread(target.pid, target.pid))

    def test_a_process_that_ends_meanwhile(self):
        """Either it was there, or the error says that it ended."""
        ended = 0
        for _ in range(30):
            target = subprocess.Popen(["sleep", "0.01"])
            run = subprocess.run([os.path.join(os.environ.get("HANGDOG_BUILD", "build"), "bin/hangdog"), "dump", "--no-symbols", str(target.pid)],
                                 text=True, capture_output=True, timeout=60, check=False)
            target.wait()
            self.assertIn(run.returncode, (0, 1), run.stderr)
            if run.returncode == 1:
                self.assertRegex(run.stderr, "it has just ended|it has ended|no such process")
                ended += 1
        print("%d of 30 had ended" % ended, file=sys.stderr)

    def test_wrong_use(self):
        self.assertRegex(dump(status=2), r"which process\? A PID, or a NAME; try: ")
        self.assertRegex(dump(1, 2, status=2), "unexpected '2': one process at a time; try: ")


if __name__ == "__main__":
    if SANITIZER == "thread":
        sys.exit(77)
    main()
