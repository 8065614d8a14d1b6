# SPDX-License-Identifier: MIT
"""Programs whose file is mapped, started or kept in another way than most: reports name it and its functions all the
same."""

import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ["HANGDOG_SOURCE"], "tests/real"))
from support_run import (BUILD, HANGDOG, PATIENCE, SOURCE, RealCase, environment, hot_modules,  # noqa: E402 pylint: disable=wrong-import-position
                         main_side_by_side, symbolicated)

PRELOAD = os.path.join(BUILD, "lib/libhangdog-preload.so")
LOADER = "/lib64/ld-linux-x86-64.so.2"
HANG = os.path.join(BUILD, "tests/programs/plain-hang")
LIBRARY_HANG = os.path.join(BUILD, "tests/programs/library-hang")
# Blocks twice in one function, by two calls; its loop waits on a listening socket.
BLOCKS = """
#define _GNU_SOURCE
#include <poll.h>
#include <time.h>
#include <sys/socket.h>
#include <unistd.h>
static int fd;
static int server(void) {
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    return bind(s, &(struct sockaddr){.sa_family = AF_UNIX}, 2) != 0 || listen(s, 1) != 0 ? -1 : s;
}
static void loop(void) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (int i = 0; i < 20; i++) while (poll(&p, 1, 50) != 0);
}
__attribute__((noinline, noclone)) static void block(int how) {
    struct timespec time = {.tv_nsec = 900000000};
    if (how == 0) poll(NULL, 0, 900); else ppoll(NULL, 0, &time, NULL);
    __asm__ volatile("" ::: "memory");
}
int main(void) {
    if ((fd = server()) < 0) return 1;
    loop(); block(0); loop(); block(1); loop();
    return 0;
}
"""
LIBRARY = """
#include <poll.h>
void blocks_in_library(void) {
    poll(0, 0, 1700);
    __asm__ volatile("" ::: "memory");
}
"""
ITS_USER = """
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
void blocks_in_library(void);
static int server(void) {
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    return bind(s, &(struct sockaddr){.sa_family = AF_UNIX}, 2) != 0 || listen(s, 1) != 0 ? -1 : s;
}
int main(void) {
    int fd = server();
    if (fd < 0) return 1;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (int i = 0; i < 40; i++) {
        while (poll(&p, 1, 50) != 0);
        if (i == 20) blocks_in_library();
    }
    return 0;
}
"""
# It is seen that the library is gone when a second is over since the last look at the libraries.
UNLOADS = """
#include <dlfcn.h>
__attribute__((noinline)) static void after_it(void) {
    poll(0, 0, 1300);
    __asm__ volatile("" ::: "memory");
}
void blocks_in_library(void) {
    void *library = dlopen("./libblock.so", RTLD_NOW);
    void (*blocks)(void) = (void (*)(void))dlsym(library, "blocks_in_library");
    blocks();
    dlclose(library);
    after_it();
}
"""


def needs(path):
    return unittest.skipUnless(os.path.exists(path), path + " is not there")


class Files(RealCase):
    def run_program(self, *argv, env=None):
        program = self.program(argv, env=env)
        program.wait()
        return program

    def the_hang(self, program):
        hangs = program.reports("hang")
        self.assertTrue(hangs, program.errors)
        hang = max(hangs, key=lambda h: h["duration_ns"])  # a busy machine may make others
        self.assert_valid(hang)
        return symbolicated(program, hang)

    def test_a_program_with_large_holes(self):
        """Of more than a megabyte, between its segments: for pages that are larger than this machine's."""
        path = self.folder() + "/holes"
        subprocess.run(["gcc", "-O1", "-g", "-Wl,-z,max-page-size=0x400000", "-o", path,
                        SOURCE + "/tests/scenario/programs/plain-hang.c"], check=True)
        hang = self.the_hang(self.run_program(path))
        self.assertIn("build_id", hang["app"])
        self.assert_in_hot_stack("hot_function", hang)

    @needs(LOADER)
    def test_a_program_that_the_loader_was_started_for(self):
        folder = self.folder()
        for argv in ([LOADER, HANG], [LOADER, "--inhibit-cache", "--argv0", "other", HANG],
                     ["/bin/sh", "-c", 'exec "$@"', "sh", LOADER, HANG]):
            program = self.run_program(*argv)
            self.assertEqual(3, program.wait(), program.errors)
            hang = self.the_hang(program)
            self.assert_in_hot_stack("hot_function", hang)
            self.assertIn("plain-hang", hot_modules(hang))
            self.assertEqual("plain-hang", hang["app"]["executable"])
            self.assertEqual("sh" if argv[0] != LOADER else "plain-hang", hang["app"]["name"])
        with open(folder + "/out", "wb") as out:
            subprocess.run([HANGDOG, "run", LOADER, "/bin/true"], env=environment({"XDG_STATE_HOME": folder}),
                           stderr=out, timeout=PATIENCE, check=True)
        self.assertEqual(["true"], os.listdir(folder + "/hangdog"))

    @needs(LOADER)
    def test_a_loader_that_is_not_the_systems(self):
        """A bundle's, where it is another file."""
        folder = self.folder()
        loader = shutil.copy(LOADER, folder + "/" + os.path.basename(LOADER))
        program = self.run_program(loader, HANG)
        self.assertEqual("plain-hang", self.the_hang(program)["app"]["executable"])

    @needs(LOADER)
    def test_a_c_library_that_is_too_old(self):
        """Its loader ends a program into which a library is preloaded that needs a newer one."""
        folder = self.folder()
        versions = subprocess.run(["readelf", "-VW", PRELOAD], capture_output=True, text=True, check=True).stdout
        needed = {(int(a), int(b)) for a, b in re.findall(r"Name: GLIBC_(\d+)\.(\d+)\b", versions)}
        if not os.environ.get("HANGDOG_SANITIZER"):
            self.assertEqual((2, 35), max(needed))  # as src/image/linux/libc_version.h has it
        loader = folder + "/" + os.path.basename(LOADER)
        with open(LOADER, "rb") as ours, open(loader, "wb") as older:
            older.write(ours.read().replace(b"GLIBC_2.35\0", b"GLIBC_2.00\0"))
        os.chmod(loader, 0o755)
        path = folder + "/with"
        subprocess.run(["gcc", "-Wl,--dynamic-linker=" + loader, "-o", path,
                        SOURCE + "/tests/scenario/programs/plain-hang.c"], check=True)
        for argv in ([loader, HANG], [path], ["/bin/sh", "-c", 'exec "$@"', "sh", loader, HANG],
                     ["/bin/sh", "-c", 'exec "$@"', "sh", path]):
            program = self.run_program(*argv)
            program.wait()
            if argv[0] != "/bin/sh":
                self.assertIn("has a C library that is too old", program.errors)
            self.assertNotIn("libhangdog-preload", program.errors + program.output)
            self.assertEqual([], program.reports("hang"))

    @needs(LOADER)
    def test_what_the_loader_lists_is_not_changed(self):
        for words in ('"%s" --list /bin/true' % LOADER, '"%s" --library-path /tmp --list /bin/true' % LOADER,
                      "LD_TRACE_LOADED_OBJECTS=1 /bin/true"):
            script = [words + "; true", words.replace('"/', 'exec "/').replace("1 ", "1 exec ")]
            for line in script:
                argv = [HANGDOG, "run", "--follow", "--spool", self.folder(), "--", "/bin/sh", "-c", line]
                told = subprocess.run(argv, env=environment(), capture_output=True, text=True, timeout=PATIENCE,
                                      check=True)
                self.assertIn("libc.so.6", told.stdout)
                self.assertNotIn("hangdog", told.stdout)

    @needs(LOADER)
    def test_a_program_with_the_library_that_the_loader_was_started_for(self):
        program = self.program([LOADER, LIBRARY_HANG, "spool", "short"], watched=False)
        self.assertEqual(0, program.wait(), program.errors)
        self.assertEqual({("library-hang", "library-hang")},
                         {(r["app"]["name"], r["app"]["executable"]) for r in program.reports("hang")})

    def test_a_library_that_was_found_by_a_relative_path(self):
        """Who reads the report is elsewhere."""
        folder = os.path.realpath(self.folder())
        for source, *args in ((LIBRARY, "-shared", "-fPIC", "-o", "libblock.so"), (ITS_USER, "-o", "user", "-L.", "-lblock")):
            subprocess.run(["gcc", "-O1", "-x", "c", "-", *args], input=source, text=True, check=True, cwd=folder)
        hang = self.the_hang(self.run_program("/bin/sh", "-c", 'cd "$0" && LD_LIBRARY_PATH=. exec ./user', folder))
        self.assert_in_hot_stack("blocks_in_library", hang)
        self.assertIn(folder + "/libblock.so", [module["path"] for module in hang["modules"]])

    def test_a_library_that_was_unloaded_before_the_hang_is_told(self):
        folder = self.folder()
        for source, *args in ((LIBRARY, "-shared", "-fPIC", "-o", "libblock.so"),
                              (ITS_USER.replace("void blocks_in_library(void);", UNLOADS), "-o", "unloads")):
            subprocess.run(["gcc", "-O1", "-x", "c", "-", *args], input=source, text=True, check=True, cwd=folder)
        hang = self.the_hang(self.run_program("/bin/sh", "-c", 'cd "$0" && exec ./unloads', folder))
        self.assertGreater(hang["duration_ns"], 2.9e9)
        self.assert_in_hot_stack("blocks_in_library", hang)
        self.assertIn("libblock.so", hot_modules(hang))

    def assert_they_are_the_same(self, program):
        self.assertEqual(0, program.wait(), program.errors)
        hangs = [hang for hang in program.reports("hang") if hang["cause"]["kind"] == "sleep"]
        self.assertEqual(2, len(hangs), program.errors)
        self.assertEqual(hangs[0]["fingerprint"], hangs[1]["fingerprint"])

    def blocks(self):
        folder = self.folder()
        subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", folder + "/blocks"], input=BLOCKS, text=True, check=True)
        return folder

    def test_how_the_program_calls_the_system_does_not_tell_two_hangs_apart(self):
        self.assert_they_are_the_same(self.run_program(self.blocks() + "/blocks"))

    @needs("/usr/lib/apt")
    def test_nor_where_the_program_is_below_the_systems_libraries(self):
        folder = self.blocks()
        os.chmod(folder, 0o755)
        shell = ["/usr/bin/unshare", "-rm", "/bin/sh", "-c", 'mount --bind "$0" /usr/lib/apt && exec "$@"', folder]
        done = subprocess.run([*shell, "/bin/true"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest("no mount namespace can be had here: " + done.stderr)
        program = self.program([*shell, HANGDOG, "run", "--spool", folder + "/spool", "/usr/lib/apt/blocks"],
                               watched=False, folder=folder)
        self.assert_they_are_the_same(program)


if __name__ == "__main__":
    main_side_by_side()
