# SPDX-License-Identifier: MIT
"""hangdog run where looking up names takes more memory than there is: the program does not notice."""

import functools
import os
import re
import signal
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from support_beside import SideBySide, group_of_memory, loop, run_in_group, write
from support_run import HANGDOG, SANITIZER, children_of, environment, main, name_of, wait_until

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
        if "2 hangs" in run.stderr and "not all reports could be told: there was no memory" not in run.stderr:
            self.assertEqual(2, run.stderr.count("hung for"), "%d MB: %s" % (megabytes, run.stderr))
        return run.stderr

    @unittest.skipIf(SANITIZER, "its runtime takes more addresses than any limit leaves")
    def beside_whatever_the_limit_the_program_ends_as_it_does(self):
        program = compiled(self.make_folder(), "hangs", HANGS)
        with ThreadPoolExecutor(4) as pool:
            told = list(pool.map(functools.partial(self.limited, program), MEGABYTES))
        self.assertIn("hung for", told[-1])

    def ended(self, how, words):
        """By what looks names up."""
        folder = self.make_folder()
        library = compiled(folder, "ends.so", ENDS % how, "-shared", "-fPIC")
        program = self.start(loop(1.5, "hang0.8", 0.5, "hang0.9", 0.5, "execsys.exit(7)"), env={"LD_PRELOAD": library})
        self.assertEqual(7, program.wait(), program.errors)
        self.assertEqual(2, program.errors.count("hung for"), program.errors)
        found = re.findall(r"^hangdog: the functions of this hang could not be looked up: (.*); see: \S+ show \S+ --spool "
                           + re.escape(program.spool) + "$", program.errors, re.MULTILINE)
        self.assertEqual([words] * 2, found, program.errors)
        self.assertRegex(program.errors, r"python3 ran for .*; 2 hangs, ")

    @unittest.skipIf(SANITIZER, "its runtime is to be the first library")
    def beside_libdw_ends_its_process(self):
        self.ended("exit(1)", "Cannot allocate memory")

    @unittest.skipIf(SANITIZER, "its runtime is to be the first library")
    def beside_the_kernel_ends_it(self):
        self.ended("raise(SIGKILL)", "the process that does was ended by SIGKILL, as the kernel does where memory is short")

    @unittest.skipIf(SANITIZER, "its runtime is to be the first library")
    def beside_a_fault_ends_it(self):
        self.ended("*(volatile int *)8 = 0", "the process that does was ended by SIGSEGV")

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
        self.assertEqual(2, run.stderr.count("could not be looked up: Cannot allocate memory"), run.stderr)
        with open(os.path.join(group, "memory.max_usage_in_bytes"), encoding="ascii") as file:
            self.assertLess(int(file.read()), 195 << 20)

    def meets(self, what):
        """What comes to the one who looks names up, between two hangs."""
        program = self.start(loop("serves", 1.5, "hang0.8", "execwhile not os.path.exists('go'): select.select(r, [], [], 0.1)",
                                  "hang0.8", 0.5))
        wait_until(lambda: "hung for" in program.errors, "the first hang")
        (names,) = [pid for pid in children_of(program.process.pid) if name_of(pid) == "hangdog-names"]
        os.kill(names, what)
        with open(os.path.join(program.folder, "go"), "w", encoding="ascii"):
            pass
        self.assertEqual(0, program.wait(), program.errors)
        self.assertEqual(2, program.errors.count("hung for"), program.errors)
        self.assertEqual(2, program.errors.count("in clock_nanosleep, called by "), program.errors)

    def beside_who_looks_names_up_is_made_again(self):
        self.meets(signal.SIGKILL)

    def beside_who_looks_names_up_goes_on_where_only_we_were_told_to(self):
        self.meets(signal.SIGSTOP)

    def beside_nobody_gets_a_child_of_ours(self):
        done = subprocess.run(["/usr/bin/python3", "-c", REAPER, HANGDOG, "run", "--spool", os.path.join(self.make_folder(), "spool"),
                               "--", *loop(1.5, "hang0.8", 0.5)], env=environment(), capture_output=True, text=True, timeout=120,
                              check=False)
        self.assertEqual("0 nobody\n", done.stdout, done.stderr)
        self.assertIn("hung for", done.stderr)


if __name__ == "__main__":
    main()
