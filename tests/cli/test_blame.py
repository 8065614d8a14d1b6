# SPDX-License-Identifier: MIT
"""Which function a hang blames in a plug-in, and what it says of the thread that has the mutex."""

import json
import os
import re
import subprocess
import tempfile
import unittest

from support_run import HANGDOG, environment, main

LOOP = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>
static int set;
static void wait_for_events(int n) { struct epoll_event e; while (n-- > 0) epoll_wait(set, &e, 1, 20); }
%s
int main(int argc, char **argv) {
    int ends[2];
    struct epoll_event e = {.events = EPOLLIN};
    set = epoll_create1(0);
    if (argc < 0 || pipe(ends) != 0) return 1;
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &e);
    wait_for_events(20);
    serve(argv[0]);
    wait_for_events(20);
    return 0;
}
"""
LOCK = """
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static void compact_log(void) { usleep(1500000); __asm__ volatile(""); }
static void *run(void *unused) {
    pthread_setname_np(pthread_self(), "compactor");
    pthread_mutex_lock(&lock); compact_log(); pthread_mutex_unlock(&lock); return unused; }
__attribute__((noinline)) static void lookup(void) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); }
static void serve(const char *unused) {
    pthread_t t; (void)unused;
    pthread_create(&t, NULL, run, NULL);
    wait_for_events(4);
    lookup();
    pthread_join(t, NULL); }
"""
HOST = """
static void serve(const char *unused) {
    (void)unused;
    void *library = dlopen("%s", RTLD_NOW);
    void (*call)(void) = (void (*)(void))dlsym(library, "resize_image");
    call();
    __asm__ volatile(""); }
"""
PLUGIN = """
#include <unistd.h>
void resize_image(void) { usleep(1200000); __asm__ volatile(""); }
"""


class Blame(unittest.TestCase):
    def setUp(self):
        # pylint: disable=consider-using-with
        folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def compile(self, code, name, *options):
        path = os.path.join(self.folder, name)
        source = os.path.join(self.folder, os.path.basename(name).split(".")[0] + ".c")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(source, "w", encoding="utf-8") as file:
            file.write(code)
        subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", source, "-o", path, *options, "-lpthread",
                        "-ldl"], check=True)
        return path

    def run_it(self, program):
        spool = os.path.join(self.folder, "spool")
        done = subprocess.run([HANGDOG, "run", "--spool", spool, "--", program], env=environment(), text=True,
                              capture_output=True, timeout=60, check=False)
        shown = subprocess.run([HANGDOG, "list", "--json", "--spool", spool], env=environment(), text=True,
                               capture_output=True, timeout=60, check=True).stdout
        hangs = [report for report in json.loads(shown) if report["kind"] == "hang"]
        self.assertEqual(1, len(hangs), done.stderr)
        return hangs[0], re.sub(r"\s+", " ", done.stderr)

    def test_the_holder_of_a_mutex_is_named_with_its_function(self):
        _, text = self.run_it(self.compile(LOOP % LOCK, "app"))
        self.assertRegex(text, r'waited for a mutex held by thread \d+ "compactor", which was in '
                               r'compact_log \(app\.c:\d+\), in usleep')

    def test_a_plug_in_of_the_programs_own_is_blamed(self):
        plugin = self.compile(PLUGIN, "extensions/resize.so", "-shared", "-fPIC")
        hang, text = self.run_it(self.compile(LOOP % (HOST % plugin), "app"))
        self.assertEqual("resize_image", hang["function"])
        self.assertIn(" in resize_image (resize.c:", text)


if __name__ == "__main__":
    main()
