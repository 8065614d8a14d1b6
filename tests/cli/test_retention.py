# SPDX-License-Identifier: MIT
"""Reports older than the retention go, with their group; the days are a setting of the store. A clock that jumps removes none."""

import json
import os
import sqlite3
import subprocess
import unittest

from support_fleet import Collector, small_report
from support_run import wait_until

YEAR = 365 * 86400
# For LD_PRELOAD: the time of the day is off by the seconds in a file; no other clock is.
CLOCK = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long off(void) {
    static const char *path;
    path = path != NULL ? path : getenv("HANGDOG_TEST_CLOCK");
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    long seconds = 0;
    if (file != NULL) {
        if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
        fclose(file);
    }
    return seconds;
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


class Retention(unittest.TestCase):
    def setUp(self):
        self.collector = Collector("--retention", "7")
        self.addCleanup(self.collector.close)

    def functions(self):
        """Those with reports, in the file: the page's days are the clock's."""
        return [function for (function,) in self.ask("SELECT DISTINCT function FROM grouped JOIN report ON grouped = fingerprint"
                                                     " ORDER BY function")]

    def ask(self, sql):
        store = sqlite3.connect(self.collector.store)
        with store:
            rows = store.execute(sql).fetchall()
        store.close()
        return rows

    def make_old(self, function):
        self.ask("UPDATE report SET received_ms = received_ms - 8 * 86400000 WHERE grouped ="
                 " (SELECT fingerprint FROM grouped WHERE function = '%s')" % function)

    def test_old_reports_go(self):
        for function in "blur", "resize":
            self.assertEqual(self.collector.send(small_report(function))[0], 200)
        self.assertEqual(self.collector.stop(), 0)
        self.make_old("blur")
        self.collector.start()  # the store has the 7 days
        wait_until(lambda: self.functions() == ["resize"], "the end of the old report")
        self.collector.stop()
        self.assertEqual([(1,)], self.ask("SELECT count(*) FROM report"))

    def set_clock(self, seconds):
        with open(self.clock, "w", encoding="ascii") as clock:
            clock.write("%d" % seconds)

    def make_clock(self):
        """The next start has it."""
        if os.environ.get("HANGDOG_SANITIZER"):
            self.skipTest("the sanitizer's library comes first in LD_PRELOAD")
        library, self.clock = (os.path.join(self.collector.folder, name) for name in ("clock.so", "clock"))
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, "-xc", "-"], input=CLOCK, text=True, check=True)
        self.collector.more = {"LD_PRELOAD": library, "HANGDOG_TEST_CLOCK": self.clock}

    def test_a_clock_before_the_build_takes_no_reports(self):
        """They would be dated wrongly, or refused as those of the future."""
        self.make_clock()
        self.assertEqual(0, self.collector.stop())
        self.set_clock(-10 * YEAR)
        self.collector.start()
        status, headers, body = self.collector.request("POST", "/api/v1/reports", json.dumps(small_report()),
                                                       {"Content-Type": "application/json"}, self.collector.send_key)
        self.assertEqual((503, "60"), (status, headers["Retry-After"]), body)
        self.assertIn(b"clock is wrong", body)
        self.assertEqual(503, self.collector.request("GET", "/healthz")[0])
        self.set_clock(0)  # while it runs
        self.assertEqual(200, self.collector.send(small_report())[0])
        self.assertEqual(200, self.collector.request("GET", "/healthz")[0])

    def test_a_clock_that_jumps_removes_nothing(self):
        self.make_clock()
        for function in "blur", "resize":
            self.assertEqual(200, self.collector.send([small_report(function) for _ in range(100)])[0])
        self.assertEqual(0, self.collector.stop())
        for jump, functions in ((YEAR, ["blur", "resize"]), (-YEAR, ["blur", "resize", "scale"])):
            self.set_clock(jump)
            self.collector.start()
            # The first look is at the start.
            wait_until(lambda: "old reports stay" in self.collector.text() or not self.functions(), "a look at the clock")
            self.assertEqual(functions, self.functions(), "a jump of %d days removed reports" % (jump // 86400))
            if jump > 0:  # one comes meanwhile
                self.assertEqual(200, self.collector.send(small_report("scale"))[0])
            self.assertEqual(0, self.collector.stop())
        self.assertEqual([(201,)], self.ask("SELECT count(*) FROM report"))
        self.set_clock(0)
        self.make_old("blur")
        self.collector.start()
        wait_until(lambda: self.functions() == ["resize", "scale"], "the end of old reports with the right clock")
        self.assertNotIn("old reports stay", self.collector.text())


if __name__ == "__main__":
    unittest.main()
