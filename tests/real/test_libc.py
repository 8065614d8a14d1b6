#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# What libc does with the threads of a process, ours among them, is done as without us: its list of them, in a child that
# it knows nothing of.

import subprocess
import unittest

from support_run import SANITIZER, RealCase, main_side_by_side

# A child by the number of a system call, of which libc does not know: it changes its group, or loads a library.
CLONES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void *sleeps(void *unused) {
    pause();
    return unused;
}
int main(int argc, char **argv) {
    pthread_t thread;
    if (argc == 1 && pthread_create(&thread, NULL, sleeps, NULL) != 0) {
        return 1;
    }
    poll(NULL, 0, 100);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        _exit(argc == 1 ? setgid(getgid()) != 0 : dlopen(argv[1], RTLD_NOW) == NULL);
    }
    int status = -1;
    waitpid(child, &status, 0);
    printf("%d\\n", status);
    return 7;
}
"""


class Libc(RealCase):
    def compiled(self, source, *options):
        path = self.folder() + "/program"
        subprocess.run(["gcc", "-pthread", "-x", "c", "-", "-o", path, *options], input=source, text=True, check=True)
        return path

    @unittest.skipIf(SANITIZER == "thread", "its runtime has locks of its own, which such a child finds taken")
    def test_a_child_that_libc_does_not_know_of(self):
        clones = self.compiled(CLONES)
        early = self.compiled('__thread int early __attribute__((tls_model("initial-exec"))) = 5;', "-shared", "-fPIC")
        pairs = [[self.program([clones, *given], watched=watched) for watched in (False, True)] for given in ([], [early])]
        for plain, watched in pairs:
            self.assertEqual(7, plain.wait(), plain.errors)
            self.assertEqual(7, watched.wait(), watched.errors)
            self.assertEqual("0\n", plain.output)
            self.assertEqual(plain.output, watched.output)


if __name__ == "__main__":
    main_side_by_side()
