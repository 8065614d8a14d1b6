#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# `hangdog run` next to what else works on a program: its own use of signals, its own preloaded libraries, sanitizers,
# debuggers, tracers, children of another word size. The program is as it would be without us, and its hang is told.

import os
import platform
import shutil
import signal
import subprocess
import time
import unittest

from support_run import BUILD, HANGDOG, MS, PATIENCE, S, SANITIZER, SOURCE, RealCase, main
from support_run import hot_functions, may_trace, symbolicated, wait_until

HANG = os.path.join(BUILD, "tests/programs/plain-hang")
SIGNALS = os.path.join(BUILD, "tests/programs/own-signals")
LIBRARIES = "/usr/lib/x86_64-linux-gnu/"


def installed(name):
    return shutil.which(name, path="/usr/bin:/bin")


class Case(RealCase):
    def assert_there(self, wanted, there):
        """A test of less than it names is none; Debian has all of it for x86-64."""
        lacking = sorted(set(wanted) - set(there))
        if lacking and platform.machine() != "x86_64":
            self.skipTest("not here: " + ", ".join(lacking))
        self.assertEqual([], lacking, "not here: scripts/install-dependencies test")

    def pair(self, argv, options=("--quiet",), **kwargs):
        """The same program plain and watched, at the same time."""
        return self.program(argv, watched=False, **kwargs), self.program(argv, options=options, **kwargs)

    def assert_alike(self, plain, watched):
        self.assertEqual(plain.wait(), watched.wait(), watched.errors)
        self.assertEqual(plain.output, watched.output)
        self.assertEqual(plain.errors, watched.errors)

    def assert_hang(self, program, function):
        hangs = program.reports("hang")
        self.assertEqual(1, len(hangs), program.errors)
        report = symbolicated(program, hangs[0])
        self.assert_valid(report)
        self.assertTrue([f for f in hot_functions(report) if function in f], hot_functions(report))
        return report


@unittest.skipIf(SANITIZER, "a sanitizer's runtime has an alternate stack and handlers of its own")
class OwnSignals(Case):
    def test_what_a_program_sees_of_its_signals(self):
        plain, watched = self.pair([SIGNALS, "look"])
        self.assert_alike(plain, watched)
        self.assertIn("a deep handler ran on the thread's stack", plain.output)

    def test_a_program_that_uses_signals_while_it_is_sampled(self):
        """A thousand samples a second: its waits end by its own signals alone, and it gets those that it sent."""
        pairs = {name: self.pair([SIGNALS, name], options=("--quiet", "--interval", "1"))
                 for name in ("ticks", "ticks-onstack", "ticks-masked", "signalfd", "sigwait")}
        for name, (plain, watched) in pairs.items():
            with self.subTest(name):
                self.assert_alike(plain, watched)
                self.assertEqual(0, watched.process.returncode, watched.output)
                self.assertEqual(1, len(watched.reports("hang")))
        for name in ("ticks", "ticks-onstack"):
            self.assertGreater(pairs[name][1].reports("hang")[0]["monitor"]["samples"], 20)


@unittest.skipIf(SANITIZER, "an instrumented preload needs its own runtime first")
class OwnPreload(Case):
    def test_libraries_of_the_users_own(self):
        """Each stays, in its order; what they interpose (malloc, the clock) is not what we use."""
        faketime = LIBRARIES + "faketime/libfaketime.so.1"
        every = {"jemalloc": {"LD_PRELOAD": "libjemalloc.so.2"}, "tcmalloc": {"LD_PRELOAD": "libtcmalloc_minimal.so.4"},
                 "eatmydata": {"LD_PRELOAD": "libeatmydata.so"}, "stdbuf": {"LD_PRELOAD": "/usr/libexec/coreutils/libstdbuf.so",
                                                                          "_STDBUF_O": "L"},
                 "faketime": {"LD_PRELOAD": faketime, "FAKETIME": "-10d", "NO_FAKE_STAT": "1"},
                 "two": {"LD_PRELOAD": "libeatmydata.so:libjemalloc.so.2"}}
        self.assert_there(every, [name for name, env in every.items() if all(os.path.exists(os.path.join(LIBRARIES, library))
                                                                             for library in env["LD_PRELOAD"].split(":"))])
        show = 'tr "\\\\0" "\\\\n" < /proc/$PPID/maps | grep -o "[^/]*[.]so[.0-9]*$" | sort -u | grep -v hangdog; echo $LD_PRELOAD'
        pairs = {name: self.pair([HANG, show], options=(), env=env) for name, env in every.items()}
        for name, (plain, watched) in pairs.items():
            with self.subTest(name):
                self.assertEqual(3, plain.wait())
                self.assertEqual(3, watched.wait(), watched.errors)
                self.assertEqual(plain.output, watched.output)
                self.assertTrue(plain.output.endswith(every[name]["LD_PRELOAD"] + "\ndone\n"), plain.output)
                report = self.assert_hang(watched, "hot_function")
                self.assert_ran(report)
                self.assertGreater(report["duration_ns"], 900 * MS)
                self.assertLess(abs(time.time() - os.stat(watched.spool).st_mtime), 600, "reports are dated by the true clock")


@unittest.skipIf(SANITIZER, "an instrumented preload needs its own runtime first")
class Builds(Case):
    """plain-hang as others build it."""

    SOURCE = os.path.join(SOURCE, "tests/scenario/programs/plain-hang.c")

    def build(self, name, compiler, *flags, source=None):
        """The program, or None where this compiler cannot make one that runs."""
        program = os.path.join(self.binaries, name)
        done = subprocess.run([compiler, "-g", "-O1", "-w", *flags, source or self.SOURCE, "-o", program],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)
        if done.returncode == 0:
            return program
        print("not to be had here: %s: %s" % (name, done.stdout.decode().strip().splitlines()[-1:]))
        return None

    def setUp(self):
        self.binaries = self.folder()

    def script(self, name, *lines):
        path = os.path.join(self.binaries, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        os.chmod(path, 0o755)
        return path

    def assert_each_hang(self, programs, options=("--quiet",)):
        """Each of them, or of the commands, plain and watched: alike, with one report."""
        pairs = {name: self.pair(program if isinstance(program, list) else [program], options)
                 for name, program in programs.items() if program}
        for name, (plain, watched) in pairs.items():
            with self.subTest(name):
                self.assert_alike(plain, watched)
                self.assertEqual(3, watched.process.returncode)
                self.assert_hang(watched, "hot_function")
        return len(pairs)

    def test_sanitizers(self):
        """The runtime stays first; its threads' stacks, leak checks and race checks find nothing of ours."""
        programs = {kind: self.build("gcc-" + kind, "/usr/bin/gcc", "-fsanitize=" + kind)
                    for kind in ("address", "undefined", "leak", "thread")}
        if installed("clang"):
            for kind in ("address", "undefined", "thread"):
                programs["clang-" + kind] = self.build("clang-" + kind, "/usr/bin/clang", "-fsanitize=" + kind)
        self.assertGreaterEqual(self.assert_each_hang(programs), 4)

    def ways_to(self, program):
        """Commands that become the program in the end, in their own process."""
        loader = "/lib64/ld-linux-x86-64.so.2"
        ways = {"wrapper": self.script("wrapper", "#!/bin/sh", "exec " + program),
                "interpreter": self.script("interpreted", "#!%s true" % program)}
        ways["wrapper of it"] = self.script("wrapper-of-it", "#!/bin/sh", "exec " + ways["interpreter"])
        if os.path.exists(loader):
            ways["loader"] = [loader, program]
            ways["wrapper of the loader"] = self.script("wrapper-of-loader", "#!/bin/sh", "exec %s %s" % (loader, program))
            ways["with an option"] = self.script("with-an-option", "#!/bin/sh", "exec %s --argv0 \"$0\" %s" % (loader, program))
        return ways

    def test_a_sanitizer_of_a_program_that_another_one_becomes(self):
        """Its runtime is the first library, also where the user preloads it."""
        program = self.build("gcc-address", "/usr/bin/gcc", "-fsanitize=address")
        self.assert_there(["gcc-address"], ["gcc-address"] if program else [])
        runtime = subprocess.run(["/usr/bin/gcc", "-print-file-name=libasan.so"], check=True, stdout=subprocess.PIPE,
                                 text=True).stdout.strip()
        preloads = self.script("preloads", "#!/bin/sh", "LD_PRELOAD='%s' exec %s" % (runtime, HANG))
        adds = self.script("adds", "#!/bin/sh", "LD_PRELOAD=\"$LD_PRELOAD:%s\" exec %s" % (runtime, program))  # to none
        self.assert_each_hang({**self.ways_to(program), "preloads": preloads, "adds": adds})
        children = {"child": ["/bin/sh", "-c", program + "; exit $?"], "preloaded child": ["/bin/sh", "-c", preloads + "; exit $?"],
                    "child that adds": ["/bin/sh", "-c", adds + "; exit $?"],
                    "command's shell": self.script("commands", "#!/bin/sh", "LD_PRELOAD='%s' exec %s true" % (runtime, HANG))}
        self.assert_each_hang(children, ("--quiet", "--follow"))

    def test_a_sanitizers_runtime_by_its_other_name(self):
        """That of clang where it is a library."""
        if not installed("clang"):
            self.skipTest("clang is not installed")
        folder = subprocess.run(["/usr/bin/clang", "-print-runtime-dir"], check=True, stdout=subprocess.PIPE,
                                text=True).stdout.strip()
        program = self.build("clang-shared", "/usr/bin/clang", "-fsanitize=address", "-shared-libasan", "-Wl,-rpath," + folder)
        if not program:
            self.skipTest("this clang has no such library")
        self.assert_each_hang({"itself": program, "wrapper": self.script("wrapper", "#!/bin/sh", "exec " + program)})

    def test_what_a_program_with_a_sanitizer_becomes(self):
        """It has no runtime of the other's, which would tell the leaks that it has."""
        source = os.path.join(self.binaries, "become.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <unistd.h>\n"
                       "int main(void) { return execl(\"/bin/sh\", \"sh\", \"-c\", \"exec perl -e 'exit 4'\", (char *)0); }\n")
        program = self.build("become", "/usr/bin/gcc", "-fsanitize=address", source=source)
        self.assert_there(["become"], ["become"] if program else [])
        for options in (("--quiet",), ("--quiet", "--follow")):
            for command in ([program], ["/bin/sh", "-c", program + "; exit $?"]):
                plain, watched = self.pair(command, options)
                self.assert_alike(plain, watched)
                self.assertEqual(4, plain.process.returncode)

    def test_thread_local_variables_that_fill_a_small_stack(self):
        programs = {}
        with open(self.SOURCE, encoding="utf-8") as file:
            text = file.read()
        for size in (20000, 25000, 27000, 55000, 3000000):
            source = os.path.join(self.binaries, "tls%d.c" % size)
            with open(source, "w", encoding="utf-8") as file:
                file.write(text.replace("static int server;", "__thread char big[%d];\nstatic int server;" % size)
                           .replace('puts("done")', 'big[argc] = 1, puts("done")'))
            programs[size] = self.build("tls%d" % size, "/usr/bin/gcc", source=source)
        self.assertEqual(5, self.assert_each_hang(programs))

    def test_a_child_of_another_word_size(self):
        """The environment is clean, so its loader does not complain of a library that is not for it."""
        assembly, made = os.path.join(self.binaries, "child.s"), os.path.join(self.binaries, "child")
        with open(assembly, "w", encoding="utf-8") as file:
            file.write(".globl _start\n_start: mov $4, %eax; mov $1, %ebx; mov $text, %ecx; mov $6, %edx; int $0x80\n"
                       "mov $1, %eax; mov $0, %ebx; int $0x80\n.data\ntext: .ascii \"small\\n\"\n")
        subprocess.run(["/usr/bin/as", "--32", "-o", made + ".o", assembly], check=True)
        subprocess.run(["/usr/bin/ld", "-m", "elf_i386", "-o", made, made + ".o"], check=True)
        try:
            subprocess.run([made], stdout=subprocess.DEVNULL, check=True)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("this kernel runs no 32-bit programs")
        source = os.path.join(self.binaries, "child.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <stdio.h>\nint main(void) { puts(\"dynamic\"); return 0; }\n")
        children = {"static": made, "dynamic": self.build("dynamic", "/usr/bin/gcc", "-m32", source=source)}
        self.assert_there(children, [name for name, child in children.items() if child])
        pairs = [self.pair([HANG, "exec " + child]) for child in children.values()]
        for plain, watched in pairs:
            self.assert_alike(plain, watched)
            self.assertEqual("", watched.errors)
            self.assert_hang(watched, "hot_function")


@unittest.skipIf(SANITIZER, "their runtimes have their own ways with tracers")
class Tools(Case):
    def test_a_debugger_holds_it(self):
        """Attached, stopped at a breakpoint for two seconds, let go: the stop is not the program's."""
        self.assert_there(["gdb"], filter(installed, ["gdb"]))
        program = self.program([HANG, "true"])
        begin = time.monotonic_ns()
        done = subprocess.run(["/usr/bin/gdb", "-q", "-nx", "-batch", "-p", str(program.pid), "-ex", "break hot_function",
                               "-ex", "continue", "-ex", "shell sleep 2", "-ex", "delete", "-ex", "detach"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE,
                              check=False)
        held_ns = time.monotonic_ns() - begin
        if b"Operation not permitted" in done.stdout:
            self.skipTest("this machine lets nobody attach")
        self.assertEqual(3, program.wait(), program.errors)
        self.assertEqual("done\n", program.output)
        self.assertIn(b"Breakpoint 1, hot_function", done.stdout)
        report = self.assert_hang(program, "hot_function")
        self.assertLess(abs(report["duration_ns"] - S), 500 * MS)
        self.assertTrue(1300 * MS < report["excluded_ns"] < held_ns, (report["excluded_ns"], held_ns))

    def around(self, *tool):
        """The tool runs us, and we run the program."""
        return self.program([*tool, HANGDOG, "run", "--quiet", "--spool", "spool", "--", HANG], watched=False)

    def test_tracers_and_checkers(self):
        """Around us, or on the program alone: it ends as without. Under a tracer its hang is told; valgrind
        is a static program, in which we see nothing."""
        tools = ["strace", "valgrind"]
        self.assert_there(tools, filter(installed, tools))
        if not may_trace():
            self.skipTest("this machine lets nobody trace")
        check = ["/usr/bin/valgrind", "-q", "--error-exitcode=9"]
        programs = {"strace": self.around("/usr/bin/strace", "-f", "-o", "/dev/null"),
                    "valgrind": self.program([*check, HANG], options=["--quiet"]),
                    "valgrind-around": self.around(*check, "--trace-children=yes")}
        for name, program in programs.items():
            with self.subTest(name):
                self.assertEqual((3, "done\n", ""), (program.wait(), program.output, program.errors))
        report = self.assert_hang(programs["strace"], "hot_function")
        self.assertIs(True, report["process"].get("debugger"))


@unittest.skipIf(SANITIZER, "their runtimes map much more")
class Memory(Case):
    def anonymous(self, pid):
        """Bytes of private writable memory without a file or a name: mapped, and in use. Ours is none of [heap] and [stack]."""
        size = used = 0
        with open("/proc/%d/smaps" % pid, encoding="utf-8") as maps:
            for line in maps:
                words = line.split()
                if "-" in words[0]:
                    counts = words[1][1] == "w" and words[1][3] == "p" and len(words) == 5
                    begin, end = (int(word, 16) for word in words[0].split("-"))
                    size += end - begin if counts else 0
                elif words[0] == "Anonymous:":
                    used += int(words[1]) * 1024 if counts else 0
        return size, used

    MAPPED_MAX = 1264 << 10  # docs/architecture.md, Memory

    def test_all_that_a_watched_program_has_more(self):
        pair = self.pair(["/usr/bin/python3", "-I", "-u", "-c",
                          "import select, os, time\n"
                          "import socket; r = socket.socketpair()\n"
                          "wait = lambda n: [select.select(r, [], [], 0.1) for _ in range(n)]\n"
                          "wait(14); time.sleep(1); wait(4); print('ready'); wait(600)\n"])
        for program in pair:
            wait_until(lambda p=program: "ready" in p.output, "the hang to be over")
        (size, used), (more_size, more_used) = (self.anonymous(program.pid) for program in pair)
        print("anonymous memory of a watched program: %d KiB mapped, %d KiB in use" % (
            (more_size - size) // 1024, (more_used - used) // 1024))
        self.assertLessEqual(more_size - size, self.MAPPED_MAX)
        self.assertLessEqual(more_used - used, 1 << 20)
        os.kill(pair[1].pid, signal.SIGTERM)
        self.assertEqual(-signal.SIGTERM, pair[1].wait())
        self.assert_hang(pair[1], "nanosleep")  # it was at work


if __name__ == "__main__":
    main()
