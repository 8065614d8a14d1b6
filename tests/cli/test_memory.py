# SPDX-License-Identifier: MIT
"""hangdog run where looking up names takes more memory than there is: the program does not notice."""

import functools
import os
import re
import signal
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from support_side_by_side import SideBySide, group_of_memory, loop, run_in_group, write
from support_run import HANGDOG, SANITIZER, children_of, environment, hangs_printed, main, name_of, wait_until

# Hangs twice, and ends with 7.
HANGS = """
#include <poll.h>
#include <sys/socket.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) void stall(void) {
    nanosleep(&(struct timespec){.tv_nsec = 900000000}, 0);
    __asm__ volatile("");
}
static int server(void) {
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    return bind(s, &(struct sockaddr){.sa_family = AF_UNIX}, 2) != 0 || listen(s, 1) != 0 ? -1 : s;
}
int main(void) {
    struct pollfd fd = {.fd = server(), .events = POLLIN};
    if (fd.fd < 0) return 1;
    for (int i = 0; i < 26; i++) {
        poll(&fd, 1, 100);
        if (i % 10 == 9) stall();
    }
    puts("done");
    return 7;
}
"""

# For LD_PRELOAD: what libdw does where there is no memory, or the kernel, or what a bug would.
ENDS = """
#include <signal.h>
#include <stdlib.h>
const char *dwfl_module_addrinfo(void) {
    %s;
    return 0;
}
"""

# Takes all memory that it is given, as debug information may.
TAKES = """
#include <stdlib.h>
#include <string.h>
const char *dwfl_module_addrinfo(void) {
    char *memory;
    while ((memory = malloc(1 << 20)) != 0) {
        memset(memory, 1, 1 << 20);
    }
    exit(1);
}
"""

# Whoever has lost its parent is this one's child.
REAPER = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
print(os.waitpid(child, 0)[1], end=" ")
try:
    print(os.waitpid(-1, 0))
except ChildProcessError:
    print("nobody")
"""

MEGABYTES = (8, 12, 16, 20, 24, 32, 40, 60)


def compiled(folder, name, text, *options):
    path = os.path.join(folder, name)
    subprocess.run(["gcc", "-g", "-O1", *options, "-x", "c", "-", "-o", path], input=text, text=True, check=True)
    return path


class Memory(SideBySide):
    def limited(self, program, megabytes):
        spool = os.path.join(self.make_folder(), "spool")
        run = subprocess.run(["prlimit", "--as=%d" % (megabytes * 1000000), HANGDOG, "run", "--spool", spool, "--", program],
                             env=environment(), capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((7, "done\n"), (run.returncode, run.stdout), "%d MB: %s" % (megabytes, run.stderr))
        if "2 hangs" in run.stderr and "not shown: out of memory" not in run.stderr:
            self.assertEqual(2, hangs_printed(run.stderr), "%d MB: %s" % (megabytes, run.stderr))
        return run.stderr

    @unittest.skipIf(SANITIZER, "its runtime takes more addresses than any limit leaves")
    def beside_whatever_the_limit_the_program_ends_as_it_does(self):
        program = compiled(self.make_folder(), "hangs", HANGS)
        with ThreadPoolExecutor(4) as pool:
            told = list(pool.map(functools.partial(self.limited, program), MEGABYTES))
        self.assertIn("hang of ", told[-1])

    def ended(self, how, words):
        """By what looks names up."""
        folder = self.make_folder()
        library = compiled(folder, "ends.so", ENDS % how, "-shared", "-fPIC")
        program = self.start(loop(1.5, "hang0.8", 0.5, "hang0.9", 0.5, "execsys.exit(7)"), env={"LD_PRELOAD": library})
        self.assertEqual(7, program.wait(), program.errors)
        self.assertEqual(2, hangs_printed(program.errors), program.errors)
        found = re.findall(r"^hangdog: names missing: (.*); later: \S+ show \S+ --spool "
                           + re.escape(program.spool) + "$", program.errors, re.MULTILINE)
        self.assertEqual([words] * 2, found, program.errors)
        self.assertRegex(program.errors, r"python3 ran for .*: 2 hangs, ")

    @unittest.skipIf(SANITIZER, "its runtime is to be the first library")
    def beside_libdw_ends_its_process(self):
        self.ended("exit(1)", "out of memory")

    @unittest.skipIf(SANITIZER, "its runtime is to be the first library")
    def beside_the_kernel_ends_it(self):
        self.ended("raise(SIGKILL)", "symbol look-up was killed (out of memory?)")

    @unittest.skipIf(SANITIZER, "its runtime is to be the first library")
    def beside_a_fault_ends_it(self):
        self.ended("*(volatile int *)8 = 0", "symbol look-up was ended by SIGSEGV")

    @unittest.skipIf(SANITIZER, "its runtime is to be the first library")
    def beside_a_control_group_is_not_filled(self):
        group = group_of_memory()
        if group is None:
            self.skipTest("no control group can be made here")
        self.addCleanup(os.rmdir, group)
        write(group, "memory.limit_in_bytes", 200 << 20)
        library = compiled(self.make_folder(), "takes.so", TAKES, "-shared", "-fPIC")
        spool = os.path.join(self.make_folder(), "spool")
        run = run_in_group(group, [HANGDOG, "run", "--spool", spool, "--",
                                   *loop(1.5, "hang0.8", 0.5, "hang0.9", 0.5, "execsys.exit(7)")], LD_PRELOAD=library)
        self.assertEqual(7, run.returncode, run.stderr)
        self.assertEqual(2, run.stderr.count("names missing: out of memory"), run.stderr)
        with open(os.path.join(group, "memory.max_usage_in_bytes"), encoding="ascii") as file:
            self.assertLess(int(file.read()), 195 << 20)

    def meets(self, what):
        """A signal comes to the reporter, between two hangs."""
        program = self.start(loop("serves", 1.5, "hang0.8", "execwhile not os.path.exists('go'): select.select(r, [], [], 0.1)",
                                  "hang0.8", 0.5))
        wait_until(lambda: hangs_printed(program.errors) == 1, "the first hang")
        (reporter,) = [pid for pid in children_of(program.process.pid) if name_of(pid) == "hangdog-report"]
        os.kill(reporter, what)
        with open(os.path.join(program.folder, "go"), "w", encoding="ascii"):
            pass
        self.assertEqual(0, program.wait(), program.errors)
        self.assertEqual(2, hangs_printed(program.errors), program.errors)
        return program.errors

    def beside_a_reporter_that_is_killed_is_started_once_more(self):
        errors = self.meets(signal.SIGKILL)
        self.assertEqual(1, len(re.findall(r"\n  > .* in clock_nanosleep\n", errors)), errors)
        self.assertEqual(1, errors.count("hangdog: names missing: symbol look-up was killed (out of memory?); later: "), errors)

    def beside_a_reporter_that_is_stopped_goes_on_at_the_end(self):
        errors = self.meets(signal.SIGSTOP)
        self.assertEqual(2, hangs_printed(errors), errors)
        self.assertNotIn("names missing", errors)

    def beside_nobody_gets_a_child_of_ours(self):
        done = subprocess.run(["/usr/bin/python3", "-c", REAPER, HANGDOG, "run", "--spool", os.path.join(self.make_folder(), "spool"),
                               "--", *loop(1.5, "hang0.8", 0.5)], env=environment(), capture_output=True, text=True, timeout=120,
                              check=False)
        self.assertEqual("0 nobody\n", done.stdout, done.stderr)
        self.assertIn("hang of ", done.stderr)


if __name__ == "__main__":
    main()
