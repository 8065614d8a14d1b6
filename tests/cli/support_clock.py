# SPDX-License-Identifier: MIT
"""A clock that jumps, for a program under test: the time of the day is off by the seconds in a file; no other clock is."""

import os
import subprocess
import unittest

YEAR = 365 * 86400
# For LD_PRELOAD.
CLOCK = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long off(void) {
    const char *path = getenv("HANGDOG_TEST_CLOCK");
    char text[32] = "";
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) < 0) text[0] = 0;
        close(fd);
    }
    return strtol(text, NULL, 10);
}
int clock_gettime(clockid_t which, struct timespec *t) {
    int rc = (int)syscall(SYS_clock_gettime, which, t);
    if (rc == 0 && which == CLOCK_REALTIME) t->tv_sec += off();
    return rc;
}
time_t time(time_t *to) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (to != NULL) *to = t.tv_sec;
    return t.tv_sec;
}
"""


class Clock:
    """`environment` is for the program that has it."""

    def __init__(self, folder):
        if os.environ.get("HANGDOG_SANITIZER"):
            raise unittest.SkipTest("the sanitizer's library comes first in LD_PRELOAD")
        library, self.file = (os.path.join(folder, name) for name in ("clock.so", "clock"))
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, "-xc", "-"], input=CLOCK, text=True, check=True)
        self.environment = {"LD_PRELOAD": library, "HANGDOG_TEST_CLOCK": self.file}

    def set(self, seconds):
        with open(self.file, "w", encoding="ascii") as file:
            file.write("%d" % seconds)
