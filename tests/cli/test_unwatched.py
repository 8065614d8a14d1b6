# SPDX-License-Identifier: MIT
"""Programs that cannot be watched: each is told in one line, and runs as it would alone; and those which look like it
and can."""

import contextlib
import os
import pathlib
import re
import resource
import shutil
import stat
import struct
import subprocess
import sys
import time
import unittest

from support_run import BUILD, HANGDOG, SANITIZER, Program, environment, main, wait_until

FILTERED = os.path.join(BUILD, "tests/programs/filtered")
BUSYBOX = "/bin/busybox"
NOBODY = 65534
NO_LOOP = "no event loop, so hangs could not be seen"


def compiled(path, source, *options):
    """A program of the compiler's; None: it cannot make one of this kind."""
    done = subprocess.run(["gcc", "-x", "c", "-", "-o", path, *options], input=source, text=True, capture_output=True,
                          check=False)
    return path if done.returncode == 0 else None


class Case(unittest.TestCase):
    def setUp(self):
        self.program = Program(["/bin/true"], watched=False)
        self.addCleanup(self.program.close)
        self.folder = pathlib.Path(self.program.folder)

    def run_program(self, *argv, options=(), user=None, env=None, command=HANGDOG, before=(), **more):
        if user is not None:
            self.folder.chmod(0o777)
        return subprocess.run([*before, command, "run", "--spool", self.folder / "spool", *options, "--", *argv],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment(env), user=user,
                              group=user, extra_groups=[] if user else None, timeout=60, check=False,
                              cwd=self.folder, **more)

    def as_somebody(self):
        """The user to run as: not root."""
        user = NOBODY if os.geteuid() == 0 else None
        self.folder.chmod(0o777)
        done = subprocess.run(["/usr/bin/test", "-x", HANGDOG], user=user, check=False)
        if done.returncode != 0:
            self.skipTest("others than root cannot reach " + HANGDOG)
        return user

    def assert_unwatched(self, done, *words, status=0, output=None):
        """One line, and the program's own end."""
        self.assertEqual(status, done.returncode, done.stderr)
        lines = [line for line in done.stderr.splitlines() if line.startswith("hangdog: ")]
        self.assertEqual(1, len(lines), done.stderr)
        for word in ("hangdog: cannot watch ", "it runs unwatched", *words):
            self.assertIn(word, lines[0])
        if output is not None:
            self.assertEqual(output, done.stdout)

    def assert_watched(self, done, status=0):
        self.assertEqual(status, done.returncode, done.stderr)
        self.assertIn(NO_LOOP, done.stderr)

    def write(self, name, content, mode=0o755):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        return path

    def needs(self, path):
        if not os.path.exists(path):
            self.skipTest(path + " is not installed: scripts/install-dependencies test")
        return path


class Files(Case):
    def test_static_programs(self):
        self.needs(BUSYBOX)
        done = self.run_program(BUSYBOX, "sh", "-c", "echo out; exit 7")
        self.assert_unwatched(done, BUSYBOX + ": it is statically linked", "attach", status=7, output="out\n")
        done = self.run_program(BUSYBOX, "sh", "-c", "kill -TERM $$")
        self.assert_unwatched(done, "statically linked", status=-15)

    def test_nothing_of_us_is_left_in_an_unwatched_program(self):
        self.needs(BUSYBOX)
        plain = subprocess.run([BUSYBOX, "env"], env=environment(), capture_output=True, text=True, check=True)
        self.assertEqual(plain.stdout, self.run_program(BUSYBOX, "env").stdout)
        self.assertEqual([], [e for e in os.listdir(self.folder / "spool") if not e.startswith(".")])

    def test_quiet_says_nothing(self):
        self.needs(BUSYBOX)
        done = self.run_program(BUSYBOX, "false", options=["--quiet"])
        self.assertEqual((1, "", ""), (done.returncode, done.stdout, done.stderr))

    def test_programs_of_another_kind_of_processor(self):
        source = "void _start(void) { __asm__ volatile(\"mov $1, %eax; mov $5, %ebx; int $0x80\"); }"
        path = compiled(self.folder / "small", source, "-m32", "-nostdlib", "-static", "-fno-pic", "-O1")
        alone = None
        with contextlib.suppress(OSError):  # Exec format error: this kernel does not run them
            alone = subprocess.run([path], check=False).returncode if path else None
        if alone == 5:
            self.assert_unwatched(self.run_program(path), "32-bit", status=5)
        with open("/bin/true", "rb") as true:
            head = bytearray(true.read())
        struct.pack_into("<H", head, 18, 0xF3)  # RISC-V
        done = self.run_program(self.write("other", bytes(head)))
        self.assertIn(done.returncode, (2, 126), done.stderr)  # execvp tries it as a script
        self.assertIn("it is for RISC-V", done.stderr.splitlines()[0])

    def test_another_c_library(self):
        loader = self.needs("/lib/ld-musl-x86_64.so.1")
        path = compiled(self.folder / "musl", "int puts(const char *); int main(void) { puts(\"out\"); return 3; }",
                        "-Wl,--dynamic-linker=" + loader)
        self.assert_unwatched(self.run_program(path), "it uses musl", status=3, output="out\n")

    def test_programs_of_go(self):
        """Told by a section that the Go linker makes: one of a small C program stands for it."""
        path = compiled(self.folder / "plain", "int puts(const char *); int main(void) { puts(\"out\"); return 3; }")
        self.assert_watched(self.run_program(path), status=3)
        subprocess.run(["objcopy", "--add-section", ".go.buildinfo=" + __file__, path, self.folder / "go"], check=True)
        self.assert_unwatched(self.run_program(self.folder / "go"), "it is written in Go", status=3, output="out\n")

    def test_the_loader_itself_runs_a_program_that_can_be_watched(self):
        self.assert_watched(self.run_program(self.needs("/lib64/ld-linux-x86-64.so.2"), "/bin/true"))

    def test_files_that_are_no_programs_are_not_judged(self):
        with open("/bin/true", "rb") as true:
            torn = true.read(70)  # its program headers are missing
        for content in (b"", b"\x7fELF", torn):
            self.assertNotIn("unwatched", self.run_program(self.write("odd", content)).stderr, content)
        for name in ("/etc/passwd", "/var/mail", "/no/such", "no-such-program"):
            self.assertEqual(1, len(self.run_program(name).stderr.splitlines()), name)


class Library(Case):
    """Ours, where it was installed with the command."""

    def setUp(self):
        super().setUp()
        self.command, self.library = self.folder / "bin/hangdog", self.folder / "lib/libhangdog-preload.so"
        for installed in self.command, self.library:
            installed.parent.mkdir()
            shutil.copy(os.path.join(BUILD, installed.relative_to(self.folder)), installed)

    def test_one_that_cannot_be_read(self):
        """As with a strict umask. The loader would tell the program, and our variables and memory would stay in it."""
        plain = subprocess.run(["/usr/bin/env"], env=environment(), capture_output=True, text=True, check=True).stdout
        for what in self.library, self.library.parent:
            mode = what.stat().st_mode
            what.chmod(0)
            done = self.run_program("/usr/bin/env", command=self.command, user=NOBODY if os.geteuid() == 0 else None)
            what.chmod(mode)
            self.assert_unwatched(done, "cannot read '%s/" % self.library.parent, ": Permission denied", output=plain)
            self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
        self.assert_watched(self.run_program("/bin/true", command=self.command))

    def test_one_that_is_not_there(self):
        self.library.unlink()
        self.assert_unwatched(self.run_program("/bin/false", command=self.command), "libhangdog-preload.so not found; reinstall", status=1)


class Kernels(Case):
    """What a container does not have, or does not let pass."""

    def test_without_proc(self):
        hidden = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if subprocess.run([*hidden, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("nothing can be mounted here")
        done = self.run_program("/bin/sh", "-c", "echo out; exit 7", before=hidden)
        self.assert_unwatched(done, "No such file or directory", "try: mount -t proc proc /proc", status=7, output="out\n")

    def test_a_filter_that_does_not_know_faccessat2(self):
        """As older ones of Docker: by it the C library asks for what the effective user may do."""
        before = [FILTERED, "launch", "unaware"]
        self.assert_watched(self.run_program("/bin/true", before=before))
        self.assert_unwatched(self.run_program(self.needs(BUSYBOX), "false", before=before), "static", status=1)


    def test_a_filter_that_refuses(self):
        done = self.run_program("/bin/false", before=[FILTERED, "launch", "refused"])
        self.assert_unwatched(done, "Operation not permitted; its seccomp filter may forbid memfd_create", status=1)

    def test_a_filter_that_kills_for_what_the_runner_does(self):
        alone = ["getxattr"]  # of these the only one that --exec needs
        for call in ("socketpair", "memfd_create", "eventfd2", "signalfd4", "inotify_init1", "setitimer", *alone):
            before = [FILTERED, "launch", call]
            done = self.run_program("/bin/sh", "-c", "echo out; exit 7", before=before)
            self.assert_unwatched(done, "its seccomp filter kills on " + call, status=7, output="out\n")
            done = self.run_program("/bin/sh", "-c", "exit 7", before=before, options=["--exec"])
            self.assertEqual((7, call in alone), (done.returncode, done.stderr != ""), done.stderr)


class Limits(Case):
    """Those that a user sets for the program may be too low for us."""

    def limited(self, limit, *options):
        return subprocess.run(["/bin/sh", "-c", limit + '; exec "$@"', "sh", HANGDOG, "run", "--spool",
                               self.folder / "spool", *options, "--", "/bin/grep", "^Sig[PBIC]", "/proc/self/status"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment(), timeout=60,
                              check=False)

    def test_too_low(self):
        plain = subprocess.run(["/bin/grep", "^Sig[PBIC]", "/proc/self/status"], env=environment(), capture_output=True,
                               text=True, check=True).stdout
        for limit, word in (("ulimit -f 0", "try: ulimit -f unlimited"), ("ulimit -n 6", "try: ulimit -n 64"),
                            ("ulimit -n 4", "try: ulimit -n 64")):
            self.assert_unwatched(self.limited(limit), word, output=plain)
        self.assert_unwatched(self.limited("ulimit -f 0", "--exec"), "try: ulimit -f unlimited", output=plain)

    def test_too_many_processes(self):
        done = self.run_program("/bin/false", user=self.as_somebody(),
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (0, 0)))
        self.assert_unwatched(done, "temporarily unavailable (too many processes)", "try: ulimit -u unlimited", status=1)

    @unittest.skipIf(SANITIZER, "its runtime must be the first library")
    def test_a_spool_that_cannot_have_the_record(self):
        """On a file system without locks, or over a quota."""
        code = "#include <errno.h>\nint %s { errno = %s; return -1; }"
        for function, error, words in (("flock(int a, int b)", "EOPNOTSUPP", "supported; it runs unwatched; try: %s run --spool DIR" % HANGDOG),
                                       ("flock(int a, int b)", "EMFILE", "try: ulimit -n 64"),
                                       ("fallocate(int a, int b, long c, long d)", "EDQUOT", "exceeded; it runs unwatched; try: %s run --spool DIR" % HANGDOG)):
            library = self.folder / "fails.so"
            subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=code % (function, error),
                           text=True, check=True)
            self.assert_unwatched(self.run_program("/bin/true", options=["--exec"], env={"LD_PRELOAD": str(library)}), words)

    def test_low(self):
        for limit in ("ulimit -n 8", "ulimit -S -f 0"):
            self.assert_watched(self.limited(limit))


class Becoming(Case):
    def test_a_program_that_becomes_another_one_under_a_filter_of_its_own(self):
        """The watch has ended before. The new one has a loop, which is not told as none."""
        done = self.run_program(FILTERED, "becomes", os.path.join(BUILD, "tests/programs/become"), "loop")
        self.assertEqual(7, done.returncode, done.stderr)
        self.assertIn("not watched to its end: its seccomp filter may kill it", done.stderr)
        self.assertNotIn(NO_LOOP, done.stderr)


class Scripts(Case):
    def test_a_scripts_interpreter_is_what_runs(self):
        self.needs(BUSYBOX)
        inner = self.write("inner", "#! \t%s sh\necho $# inner\n" % BUSYBOX)
        for head in (BUSYBOX + " sh", inner):
            done = self.run_program(self.write("script", "#!%s\necho out\n" % head))
            self.assert_unwatched(done, "its interpreter %s is statically linked" % BUSYBOX)
        self.assert_watched(self.run_program(self.write("fine", "#!/bin/sh\nexit 4\n"), ), status=4)
        self.assert_watched(self.run_program(self.write("none", "exit 4\n"), ), status=4)  # execvp: by /bin/sh
        self.write("itself", "#!%s/itself\n" % self.folder)
        self.assertIn(self.run_program(self.folder / "itself").returncode, (126, 127))

    def test_names_are_looked_up_as_execvp_does(self):
        self.needs(BUSYBOX)
        places = [self.folder / name for name in ("a", "b", "c", "d")]
        for place in places:
            place.mkdir()
        (places[0] / "tool").mkdir()  # a folder is passed over, and what may not be executed
        (places[1] / "tool").write_text("")
        (places[2] / "tool").symlink_to(BUSYBOX)
        shutil.copy("/bin/false", places[3] / "tool")
        # hangdog itself is named by its path; busybox is called by the name of one of its own commands
        (places[2] / "tool").rename(places[2] / "false")
        for place in (places[0], places[1]):
            (place / "tool").rename(place / "false")
        (places[3] / "tool").rename(places[3] / "false")
        path = ":".join(map(str, places))
        self.assert_unwatched(self.run_program("false", env={"PATH": path}), "static", status=1)
        (places[2] / "false").unlink()
        self.assert_watched(self.run_program("false", env={"PATH": path}), status=1)
        self.assertEqual(127, self.run_program("no-such", env={"PATH": path}).returncode)


class Privileges(Case):
    """What the kernel gives to a program, and only then."""

    def test_set_user_id(self):
        su = self.needs("/bin/su")
        if not os.stat(su).st_mode & stat.S_ISUID:
            self.skipTest(su + " has no set-user-id bit here")
        done = self.run_program(su, "--version", user=self.as_somebody())
        self.assert_unwatched(done, "it is set-user-id: preloads are ignored", "try: sudo hangdog run")
        self.assertIn("util-linux", done.stdout)

    def test_bits_that_change_nothing(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.assert_watched(self.run_program(self.needs("/bin/su"), "--version"))
        copy = self.folder / "group"
        shutil.copy("/bin/true", copy)
        copy.chmod(0o2745)  # no group execution: the bit means locking
        self.assert_watched(self.run_program(copy))
        os.chown(copy, 0, NOBODY)
        copy.chmod(0o2755)
        self.assert_unwatched(self.run_program(copy), "set-group-id")
        done = self.run_program(copy, preexec_fn=lambda: None if no_new_privileges() == 0 else os._exit(99))
        self.assert_watched(done)

    def test_file_capabilities(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        user = self.as_somebody()
        setcap = self.needs("/usr/sbin/setcap" if os.path.exists("/usr/sbin/setcap") else "/sbin/setcap")
        copy = self.folder / "capable"
        shutil.copy("/bin/true", copy)
        if subprocess.run([setcap, "cap_net_bind_service+ep", copy], capture_output=True, check=False).returncode != 0:
            self.skipTest("no capability can be set on a file here")
        if subprocess.run([copy], user=user, check=False).returncode != 0:
            self.skipTest("a program with capabilities does not run here")
        self.assert_unwatched(self.run_program(copy, user=user), "capabilities")
        self.assert_watched(self.run_program(copy))  # root has them anyway


def no_new_privileges():
    import ctypes  # pylint: disable=import-outside-toplevel
    return ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)


if __name__ == "__main__":
    if SANITIZER:
        print("an instrumented command cannot be started without its runtime everywhere: judged on release alone")
        sys.exit(77)
    main()
