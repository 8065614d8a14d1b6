#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# What libc does with the threads of a process, ours among them, is done as without us: its list of them, in a child that
# it knows nothing of; the last one, on which it ends the process.

import os
import subprocess
import unittest

from support_run import SANITIZER, RealCase, main_side_by_side, state_of, wait_until

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
        for (int i = 0; argc == 1 && i < 10; i++) {
            poll(NULL, 0, 20);
        }
        _exit(argc == 1 ? setgid(getgid()) != 0 : dlopen(argv[1], RTLD_NOW) == NULL);
    }
    int status = -1;
    waitpid(child, &status, 0);
    printf("%d\\n", status);
    return 7;
}
"""

# Its main thread ends while something is still to be written out, also to the file of number 4: `filtered`, under a filter of
# its own; before `threads` do; `stuck`, while a report is being written to a disk that stopped to answer.
ENDS = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static int fds[2];
static void tick(int times) {
    for (int i = 0; i < times; i++) {
        poll(&(struct pollfd){.fd = fds[0], .events = POLLIN}, 1, 50);
    }
}
static void *tells(void *word) {
    printf("%s ", (char *)word);
    return NULL;
}
int main(int argc, char **argv) {
    struct sock_filter filter[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    pthread_t thread;
    FILE *file = fdopen(dup2(open("file", O_CREAT | O_WRONLY, 0600), 4), "w");
    if (file == NULL || pipe(fds) != 0) {
        return 1;
    }
    if (strcmp(argv[1], "filtered") == 0) {
        if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0 ||
                               setresuid(65534, 65534, 65534) != 0)) {
            return 1;
        }
        tick(2);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){1, filter}) != 0) {
            return 1;
        }
    } else if (strcmp(argv[1], "stuck") == 0) {
        tick(30);
        close(open(argv[2], O_CREAT | O_WRONLY, 0600));
        usleep(700000);
        tick(5);
    } else {
        tick(1);
    }
    printf("main ");
    fprintf(file, "%2000s", "main");
    if (strcmp(argv[1], "threads") == 0) {
        pthread_create(&thread, NULL, tells, "first");
        pthread_create(&thread, NULL, tells, "second");
    }
    pthread_exit(NULL);
}
"""


# Erlang's virtual machine has a function of this name, which calls libc's by the other.
SIGACTION = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
int sigaction(int signal, const struct sigaction *action, struct sigaction *old) {
    int (*next)(int, const struct sigaction *, struct sigaction *) = dlsym(RTLD_NEXT, "__sigaction");
    return next(signal, action, old);
}
int main(void) {
    struct sigaction ignore = {.sa_handler = SIG_IGN}, now;
    return sigaction(SIGUSR1, &ignore, 0) == 0 && sigaction(SIGUSR1, 0, &now) == 0 && now.sa_handler == SIG_IGN ? 7 : 1;
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
        programs = [self.program([clones, *given], watched=watched, options=options) for given in ([], [early])
                    for watched, options in ((False, []), (True, []), (True, ["--follow"]))]
        for program in programs:  # a child that is watched, too
            self.assertEqual((7, "0\n"), (program.wait(), program.output), program.errors)

    @unittest.skipIf(SANITIZER, "the sanitizers' runtimes have such a function of their own")
    def test_a_function_of_libcs_name_that_calls_libcs(self):
        program = self.program([self.compiled(SIGACTION, "-rdynamic")])
        self.assertEqual(7, program.wait(), program.errors)

    def assert_all_is_written(self, program, words):
        self.assertEqual(0, program.wait(), program.errors)
        self.assertEqual(words, sorted(program.output.split()), program.errors)
        with open(program.folder + "/file", encoding="ascii") as file:
            self.assertEqual("main".rjust(2000), file.read())

    @unittest.skipIf(SANITIZER == "thread", "the sanitizer's runtime has a thread of its own, which stays")
    def test_what_the_last_thread_writes_out(self):
        ends = self.compiled(ENDS)
        for way, words in {"filtered": ["main"], "threads": ["first", "main", "second"]}.items():
            for program in [self.program([ends, way], watched=watched) for watched in (False, True)]:
                self.assert_all_is_written(program, words)

    @unittest.skipIf(SANITIZER == "thread", "the sanitizer's runtime has a thread of its own, which stays")
    def test_a_worker_that_is_the_last_thread(self):
        """It comes back from a disk when the program is over, whose output is lost; it gets nowhere else."""
        ends = self.compiled(ENDS)
        behind, mounted = self.stalling_disk(self.folder())
        os.mkdir(behind + "/spool")
        stall = behind + "/stall"
        program = self.program([ends, "stuck", stall], options=["--loop", "program", "--spool", mounted + "/spool"])
        wait_until(lambda: state_of(program.pid) == "Z", "the main thread's end")
        os.unlink(stall)
        self.assertEqual(0, program.wait(), program.errors)
        self.assertRegex(program.told[-1], r" ran for \d+\.\d+ s: 1 hang, .* lost ")


if __name__ == "__main__":
    main_side_by_side()
