# SPDX-License-Identifier: MIT
"""Which kind of lock a loop waits for, which thread has it, and rings in which read-write locks are."""

import glob
import json
import os
import re
import subprocess
import tempfile
import time
import unittest

from support_run import HANGDOG, SANITIZER, environment, main, wait_until

GLIB = glob.glob("/usr/lib/*/libglib-2.0.so.0")
PROGRAM = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_GLIB
void g_mutex_lock(void *); void g_mutex_unlock(void *); void g_cond_wait(void *, void *); void g_cond_signal(void *);
#else
#define g_mutex_lock(m)
#define g_mutex_unlock(m)
#define g_cond_wait(c, m)
#define g_cond_signal(c)
#endif
#define IS(name) (strcmp(mode, name) == 0)
#define KEPT __attribute__((noinline))
static const char *mode, *journal;
static int set;
static volatile int taken;
static pthread_rwlock_t rows = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static long g_mutex[2], g_condition[2];
static volatile int rust_word = 2;
static void wait_for_events(int n) { struct epoll_event e; while (n-- > 0) epoll_wait(set, &e, 1, 20); }
static struct timespec later(void) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += 60; return t; }
KEPT static void compact_log(void) { usleep(1300000); __asm__ volatile(""); }
KEPT static void flush_cache(void) { pthread_rwlock_rdlock(&rows); __asm__ volatile(""); }
static void *writer(void *unused) {
    prctl(PR_SET_NAME, "db-writer");
    if (IS("rdlock") || IS("timedrdlock") || IS("wrlock") || IS("timedwrlock")) pthread_rwlock_wrlock(&rows);
    if (IS("file")) { pthread_rwlock_wrlock(&rows); taken = 1; open(journal, O_RDONLY); pthread_rwlock_unlock(&rows); return unused; }
    if (IS("readers")) pthread_rwlock_rdlock(&rows);
    if (IS("ring")) { pthread_mutex_lock(&mutex); taken = 1; usleep(200000); flush_cache(); }
    if (IS("g_mutex")) g_mutex_lock(g_mutex);
    taken = 1;
    compact_log();
    if (IS("g_mutex")) g_mutex_unlock(g_mutex);
    if (IS("g_cond")) { g_mutex_lock(g_mutex); g_cond_signal(g_condition); g_mutex_unlock(g_mutex); }
    if (IS("cond") || IS("timedcond")) { pthread_mutex_lock(&mutex); pthread_cond_signal(&condition); pthread_mutex_unlock(&mutex); }
    if (IS("sem") || IS("timedsem")) sem_post(&semaphore);
    if (IS("barrier")) pthread_barrier_wait(&barrier);
    if (IS("rust")) { rust_word = 0; syscall(SYS_futex, &rust_word, FUTEX_WAKE_PRIVATE, 1, NULL); }
    if (strstr(mode, "lock") != NULL || IS("readers")) pthread_rwlock_unlock(&rows);
    return unused;
}
/* As the standard library of Rust names its own: the compiler is not among the dependencies. */
void rust_lock(void) __asm__("_ZN3std3sys4sync5mutex5futex5Mutex14lock_contended17h0123456789abcdefE");
KEPT void rust_lock(void) { while (rust_word == 2) syscall(SYS_futex, &rust_word, FUTEX_WAIT_PRIVATE, 2, NULL); }
KEPT static void look_up(void) {
    struct timespec t = later();
    if (IS("rdlock")) pthread_rwlock_rdlock(&rows);
    if (IS("timedrdlock")) pthread_rwlock_timedrdlock(&rows, &t);
    if (IS("wrlock") || IS("readers") || IS("file")) pthread_rwlock_wrlock(&rows);
    if (IS("timedwrlock")) pthread_rwlock_timedwrlock(&rows, &t);
    if (IS("ring")) { pthread_rwlock_wrlock(&rows); wait_for_events(1); pthread_mutex_lock(&mutex); }
    if (IS("cond")) { pthread_mutex_lock(&mutex); pthread_cond_wait(&condition, &mutex); pthread_mutex_unlock(&mutex); }
    if (IS("timedcond")) {
        pthread_mutex_lock(&mutex); pthread_cond_timedwait(&condition, &mutex, &t); pthread_mutex_unlock(&mutex); }
    if (IS("sem")) sem_wait(&semaphore);
    if (IS("timedsem")) sem_timedwait(&semaphore, &t);
    if (IS("barrier")) pthread_barrier_wait(&barrier);
    if (IS("rust")) rust_lock();
    if (IS("g_mutex")) g_mutex_lock(g_mutex);
    if (IS("g_cond")) { g_mutex_lock(g_mutex); g_cond_wait(g_condition, g_mutex); g_mutex_unlock(g_mutex); }
    __asm__ volatile("");
}
int main(int argc, char **argv) {
    pthread_t thread;
    int ends[2];
    struct epoll_event e = {.events = EPOLLIN};
    mode = argc > 1 ? argv[1] : "";
    journal = argc > 2 ? argv[2] : "";
    set = epoll_create1(0);
    if (pipe(ends) != 0) return 1;
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &e);
    pthread_barrier_init(&barrier, NULL, 2);
    wait_for_events(20);
    pthread_create(&thread, NULL, writer, NULL);
    while (!taken) wait_for_events(1);
    look_up();
    pthread_join(thread, NULL);
    wait_for_events(20);
    return 0;
}
"""
WRITER = r'thread \d+ "db-writer", which was in compact_log \(locks\.c:\d+\), in usleep$'
SENTENCES = {
    "rdlock": ("rwlock-read", "^waited for a read-write lock held for writing by " + WRITER),
    "timedrdlock": ("rwlock-read", "^waited for a read-write lock held for writing by " + WRITER),
    "wrlock": ("rwlock-write", "^waited for a read-write lock held for writing by " + WRITER),
    "timedwrlock": ("rwlock-write", "^waited for a read-write lock held for writing by " + WRITER),
    "readers": ("rwlock-write", "^waited for a read-write lock held for reading by 1 thread$"),
    "cond": ("condition", "^waited for a condition variable$"),
    "timedcond": ("condition", "^waited for a condition variable$"),
    "sem": ("semaphore", "^waited for a semaphore$"),
    "timedsem": ("semaphore", "^waited for a semaphore$"),
    "barrier": ("barrier", "^waited for a barrier$"),
    "rust": (None, "^waited for a mutex of Rust$"),
    "g_mutex": ("mutex", "^waited for a mutex of GLib$"),
    "g_cond": ("condition", "^waited for a condition variable$"),
}


class Locks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # pylint: disable=consider-using-with
        folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        source, cls.program = os.path.join(cls.folder, "locks.c"), os.path.join(cls.folder, "locks")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", *(["-DWITH_GLIB"] if GLIB else []), source,
                        "-o", cls.program, "-lpthread", *GLIB[:1]], check=True)

    def start(self, mode, *more):
        command = [HANGDOG, "run", "--spool", os.path.join(self.folder, mode), "--", self.program, mode, *more]
        # pylint: disable=consider-using-with
        run = subprocess.Popen(command, env=environment({"COLUMNS": "400"}), text=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
        self.addCleanup(lambda: run.poll() is None and (run.kill(), run.wait()))
        self.addCleanup(run.stderr.close)
        return run

    def reports(self, mode):
        found = []
        for name in glob.glob(os.path.join(self.folder, mode, "*.json")):
            with open(name, encoding="utf-8") as file:
                found.append(json.load(file))
        return [report for report in found if report["kind"] in ("hang", "fatal-hang")]

    def test_a_wait_names_the_kind_of_its_lock_and_the_owner(self):
        modes = [mode for mode in SENTENCES if GLIB or not mode.startswith("g_")]
        runs = {mode: self.start(mode) for mode in modes}
        for mode, run in runs.items():
            kind, sentence = SENTENCES[mode]
            text = run.communicate(timeout=60)[1]
            with self.subTest(mode):
                hangs = self.reports(mode)
                self.assertEqual(1, len(hangs), text)
                self.assertEqual(("lock", kind), (hangs[0]["cause"]["kind"], hangs[0]["cause"].get("lock_kind")), text)
                self.assertRegex(re.search(r"(?m)^  why  (.*)$", text).group(1), sentence)

    def dump(self, pid):
        return subprocess.run([HANGDOG, "dump", str(pid)], env=environment({"COLUMNS": "400"}), text=True, capture_output=True,
                              timeout=60, check=False).stdout

    def child_of(self, run):
        return wait_until(lambda: subprocess.run(["/usr/bin/pgrep", "-P", str(run.pid), "-x", "locks"], text=True,
                                                 capture_output=True, check=False).stdout.strip(), "the program")

    def test_a_ring_of_a_mutex_and_a_read_write_lock_is_a_deadlock(self):
        run = self.start("ring")
        pid = int(self.child_of(run))
        wait_until(lambda: any(report["cause"].get("deadlock") for report in self.reports("ring")), "the deadlock")
        text = self.dump(pid)
        self.assertRegex(text, r'\(main\)  waits for a mutex held by thread \d+ "db-writer", which is in flush_cache \(')
        self.assertRegex(text, r'"db-writer"  waits for a read-write lock held for writing by thread %d "locks", which is in look_up \(' % pid)
        self.assertRegex(text, r"(?m)^deadlock: %d -> (\d+) -> %d$" % (pid, pid))
        os.kill(pid, 9)
        text = run.communicate(timeout=60)[1]
        self.assertRegex(text, r'  why  deadlock: waits for a mutex held by thread \d+ "db-writer", which waits in flush_cache '
                               r"\(locks\.c:\d+\) for one held by this thread\n")

    def test_a_report_names_the_file_that_the_owner_works_on(self):
        journal = os.path.join(self.folder, "orders.db")
        os.mkfifo(journal)  # opened for writing below, after the threshold
        run = self.start("file", journal)
        wait_until(lambda: self.reports("file"), "the hang")
        with open(journal, "wb"):
            text = run.communicate(timeout=60)[1]
        hang = self.reports("file")[0]
        self.assertRegex(hang["cause"]["detail"], r"^waited for a read-write lock held for writing by thread \d+ \(db-writer\), "
                                                  r"which was in open(at)? of orders\.db$")
        self.assertRegex(re.search(r"(?m)^  why  (.*)$", text).group(1),
                         r'held for writing by thread \d+ "db-writer", which was in writer \(locks\.c:\d+\), in open\w* of orders\.db$')
        owner = next(thread for thread in hang["threads"] if thread["tid"] == hang["cause"]["lock_owner_tid"])
        self.assertEqual("orders.db", owner["path"])

    def test_a_dump_names_kind_and_owner(self):
        expected = {"wrlock": r'waits for a read-write lock held for writing by thread \d+ "db-writer", which is in compact_log \(',
                    "readers": "waits for a read-write lock held for reading by 1 thread[\n,]", "sem": "waits for a semaphore[\n,]",
                    "file": r'by thread \d+ "db-writer", which is in writer \(locks\.c:\d+\), in open(at)? of journal\.db[\n;]',
                    "timedcond": "waits for a condition variable[\n,]", "barrier": "waits for a barrier[\n,]"}
        journal = os.path.join(self.folder, "journal.db")
        os.mkfifo(journal)  # no process writes to it
        for mode, words in expected.items():
            # pylint: disable=consider-using-with
            process = subprocess.Popen([self.program, mode, journal])
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            time.sleep(0.7)  # its loop turns for 0.4 s; then it waits for 1.3 s
            wait_until(lambda pid=process.pid, text=words: re.search(r"\(main\)  .*" + text, self.dump(pid)), words, 5)


if __name__ == "__main__":
    if SANITIZER:
        raise SystemExit(77)
    main()
