# SPDX-License-Identifier: MIT
"""libhangdog-trace: a program that is built with -finstrument-functions has each of its calls counted and timed."""

import json
import os
import subprocess
import tempfile
import unittest

from support_run import BUILD, HANGDOG, MS, SANITIZER, environment, main

PROGRAM = r"""
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <hangdog/trace.h>

static jmp_buf place;
static volatile int sum;

__attribute__((noinline)) void work(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}
__attribute__((noinline)) void leaf(int i) { sum += i; }
__attribute__((no_instrument_function, noinline)) void hidden(void) { sum++; }
__attribute__((noinline)) void middle(void) {
    for (int i = 0; i < 1000; i++)
        leaf(i);
    hidden();
    work(20);
}
__attribute__((noinline)) int recurse(int n) { return n == 0 ? sum : 1 + recurse(n - 1); }
__attribute__((noinline)) void jumper(void) { longjmp(place, 1); }
__attribute__((noinline)) void catcher(void) {
    if (setjmp(place) == 0)
        jumper();
}
void *thread(void *leaves) {
    middle();
    if (leaves != NULL)
        pthread_exit(NULL);
    return NULL;
}
void *endless(void *unused) {
    for (;;)
        work(1000);
    return unused;
}
__attribute__((noinline)) void child(void) {
    if (fork() == 0) {
        for (int i = 0; i < 7; i++)
            leaf(i);
        exit(0);
    }
    wait(NULL);
}
__attribute__((noinline)) void ends(void) { exit(0); }
int main(int argc, char **argv) {
    pthread_t t[4];
    work(50);
    hangdog_trace_launched();
    for (int i = 0; i < 3; i++)
        middle();
    recurse(9);
    catcher();
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, thread, i % 2 ? t : NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    if (argc > 1 && strcmp(argv[1], "thread") == 0) {
        pthread_create(&t[0], NULL, endless, NULL);
        work(100);
    }
    if (argc > 1 && strcmp(argv[1], "fork") == 0)
        child();
    ends();
}
"""


@unittest.skipIf(SANITIZER, "the library needs the sanitizer's runtime")
@unittest.skipUnless(os.path.exists(os.path.join(BUILD, "lib/libhangdog-trace.so")), "built without shared libraries")
class Trace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder, lib = folder.name, os.path.join(BUILD, "lib")
        include = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include")
        with open(os.path.join(cls.folder, "program.c"), "w", encoding="ascii") as file:
            file.write(PROGRAM)
        subprocess.run(["cc", "-g", "-O1", "-I", include, "-finstrument-functions", "-o", "program", "program.c", "-L" + lib,
                        "-lhangdog-trace", "-Wl,-rpath," + lib], cwd=cls.folder, check=True, timeout=60)

    def run_it(self, *arguments, **variables):
        """The files that a run of the program leaves: its own first, by their processes' numbers."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            env = environment({"HANGDOG_TRACE": folder + "/%p.json", "HANGDOG_TRACE_LIMIT_US": "0", **variables})
            with subprocess.Popen(["./program", *arguments], cwd=self.folder, env=env) as program:
                self.assertEqual(0, program.wait(60))
            names = sorted(os.listdir(folder), key=lambda name: name != "%d.json" % program.pid)
            return [self.show(os.path.join(folder, name), "--json") for name in names]

    def show(self, *words):
        text = subprocess.run([HANGDOG, "show", *words], env=environment(), check=True, timeout=60, capture_output=True,
                              text=True).stdout
        return json.loads(text) if "--json" in words else text

    @staticmethod
    def rows(trace, function):
        return {call["depth"]: call for call in trace["calls"] if call.get("function") == function}

    def counts(self, trace, function):
        return {depth: row["count"] for depth, row in self.rows(trace, function).items()}

    def assert_took(self, ns, ms):
        self.assertGreaterEqual(ns, ms * MS)
        self.assertLess(ns, (3 * ms + 300) * MS)  # a busy machine

    def test_counts_are_exact_and_times_are_within_bounds(self):
        trace, = self.run_it()
        self.assertEqual({0: 1}, self.counts(trace, "main"))
        self.assertEqual({1: 7}, self.counts(trace, "middle"))
        self.assertEqual({2: 7000}, self.counts(trace, "leaf"))
        self.assertEqual({1: 1, 2: 7}, self.counts(trace, "work"))
        self.assertEqual({depth: 1 for depth in range(1, 11)}, self.counts(trace, "recurse"))
        self.assertEqual({1: 1}, self.counts(trace, "catcher"))
        self.assertEqual({2: 1}, self.counts(trace, "jumper"))  # longjmp left it
        self.assertEqual({0: 4}, self.counts(trace, "thread"))  # pthread_exit left two of them
        self.assertEqual({1: 1}, self.counts(trace, "ends"))  # exit left it
        self.assertEqual({}, self.counts(trace, "hidden"))
        self.assertEqual((5, 0), (trace["threads"], trace["lost"]))
        middle, work, whole = self.rows(trace, "middle")[1], self.rows(trace, "work")[2], self.rows(trace, "main")[0]
        self.assert_took(work["total_ns"], 140)
        self.assert_took(work["max_ns"], 20)
        self.assertEqual(work["total_ns"], work["self_ns"])
        self.assertGreaterEqual(middle["total_ns"], work["total_ns"])
        self.assertLess(middle["self_ns"], middle["total_ns"] / 2)
        self.assert_took(whole["total_ns"], 130)
        self.assertLessEqual(whole["total_ns"], trace["duration_ns"])
        # what the functions of one thread took themselves is what its outermost call took
        inner = sum(row["self_ns"] for row in self.rows(trace, "recurse").values())
        self.assertAlmostEqual(self.rows(trace, "recurse")[1]["total_ns"], inner, delta=20)

    def test_the_launch_is_broken_down(self):
        trace, = self.run_it()
        self.assert_took(trace["launch_ns"], 50)
        whole, work = self.rows(trace, "main")[0], self.rows(trace, "work")
        self.assert_took(work[1]["launch_self_ns"], 50)
        self.assertEqual(1, work[1]["launch_count"])
        self.assertLessEqual(whole["launch_total_ns"], trace["launch_ns"])
        self.assertGreaterEqual(whole["launch_total_ns"], work[1]["launch_total_ns"])
        self.assertNotIn("launch_count", work[2])

    def test_a_thread_that_runs_at_the_exit_is_counted(self):
        trace, = self.run_it("thread")
        endless = self.rows(trace, "endless")[0]
        self.assertEqual((1, 6), (endless["count"], trace["threads"]))
        self.assert_took(endless["total_ns"], 90)
        self.assertEqual(3, self.counts(trace, "work")[1])  # one of them is open

    def test_a_forked_child_has_a_file_of_its_own(self):
        trace, child = self.run_it("fork")
        self.assertEqual(7000, sum(self.counts(trace, "leaf").values()))
        self.assertEqual([7], list(self.counts(child, "leaf").values()))
        self.assertEqual({}, self.counts(child, "middle"))
        self.assertNotEqual(trace["pid"], child["pid"])

    def test_what_is_below_the_limit_is_summed_up(self):
        trace, = self.run_it(HANGDOG_TRACE_LIMIT_US="5000")
        self.assertEqual({}, self.counts(trace, "leaf"))
        self.assertEqual({1: 7}, self.counts(trace, "middle"))
        self.assertGreaterEqual(trace["below"]["calls"], 7000)

    def test_the_page_for_a_person(self):
        path = os.path.join(self.folder, "page.json")
        subprocess.run(["./program"], cwd=self.folder, env=environment({"HANGDOG_TRACE": path}), check=True, timeout=60)
        page = self.show(path)
        self.assertRegex(page, r"\ATrace of program \(pid \d+\): ran for \d+ ms, 5 threads, launched after \d+ ms\n\nLaunch\n")
        self.assertRegex(page, r"\n +\d+ ms +\d+ ms +\d+ ms +7 +2  work \(program\.c:\d+\)\n")
        self.assertRegex(page, r"\nbelow 1 ms in each call: \d+ rows, \d+ calls, ")

    def test_a_folder_that_is_not_there_is_told(self):
        done = subprocess.run(["./program"], cwd=self.folder, env=environment({"HANGDOG_TRACE": "no/such.json"}), check=True,
                              timeout=60, capture_output=True, text=True)
        self.assertEqual("hangdog-trace: cannot write no/such.json\n", done.stderr)


if __name__ == "__main__":
    main()
