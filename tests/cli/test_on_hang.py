# SPDX-License-Identifier: MIT
"""What happens beside the program: commands for each hang, a spool that goes away, odd places and descriptors."""

import contextlib
import ctypes
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from support_side_by_side import PYTHON, SideBySide, loop, stuck
from support_run import BUILD, HANGDOG, SANITIZER, Program, Together, environment, hangs_printed, main, wait_until


class Server(http.server.BaseHTTPRequestHandler):
    """Has no debug information."""

    def do_GET(self):  # pylint: disable=invalid-name
        self.server.asked += 1
        self.send_error(404)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class OnHang(SideBySide):
    def beside_servers_of_debug_information_are_asked_by_others_only(self):
        """They are named in the environment, which everybody inherits as it is; a hang's own line is not to wait for them."""
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
            server.asked = 0
            threading.Thread(target=server.serve_forever, daemon=True).start()
            env = {"DEBUGINFOD_URLS": "http://127.0.0.1:%d/" % server.server_port, "AFTER": "it"}
            told = "exec(print({k: os.environ.get(k) for k in ('DEBUGINFOD_URLS', 'AFTER')}))"
            program = self.start(loop(1.6, "hang0.7", 0.5, told), ["--on-hang", "env >env"], env=env)
            self.assertEqual(0, program.wait(), program.errors)
            self.assertEqual((str(env) + "\n", 0), (program.output, server.asked), program.errors)
            self.assertIn("hang of ", program.errors)
            lines = (pathlib.Path(program.folder) / "env").read_text().splitlines()
            self.assertLessEqual({"%s=%s" % one for one in env.items()}, set(lines))
            with contextlib.suppress(OSError):
                ctypes.CDLL("libdebuginfod.so.1")
                subprocess.run([HANGDOG, "show", "latest", "--spool", program.spool], check=True, stdout=subprocess.DEVNULL,
                               env=environment({**env, "HOME": program.folder}), timeout=60)
                self.assertGreater(server.asked, 0)
            server.shutdown()

    def beside_it_is_run_once_for_each_hang_with_the_report(self):
        command = ('echo "ran $1 $HANGDOG_REPORT $0"; cat "$1" >>all; ls -l /proc/self/fd >fds; cat >input;'
                   ' grep -E "Sig(Blk|Ign)" /proc/self/status >signals; echo again >>count')
        program = self.start(loop("serves", 1.6, "hang0.8", 0.5, "hang0.9", 1), ["--on-hang", command, "--quiet"])
        self.assertEqual(0, program.wait(), program.errors)
        self.assertEqual("", program.output)  # its output is on standard error
        hangs = program.reports("hang")
        self.assertEqual(2, len(hangs), program.errors)
        paths = [os.path.join(program.spool, report["id"] + ".json") for report in hangs]
        self.assertEqual(["ran %s %s hangdog" % (path, path) for path in paths], program.errors.splitlines())
        told = [json.loads(line) for line in (pathlib.Path(program.folder) / "all").read_text().splitlines()]
        self.assertEqual([r["id"] for r in hangs], [r["id"] for r in told])
        self.assertTrue(all(r["complete"] for r in told))
        self.assertEqual("", (pathlib.Path(program.folder) / "input").read_text())
        links = [line.split(" ", 8)[-1] for line in (pathlib.Path(program.folder) / "fds").read_text().splitlines() if "->" in line]
        numbers = sorted(int(line.split("->")[0].split()[-1]) for line in links)
        self.assertEqual([0, 1, 2, 3], numbers, links)  # the last one is that of ls
        blocked, ignored = (int(line.split()[1], 16) for line in (pathlib.Path(program.folder) / "signals").read_text().splitlines())
        self.assertEqual((0, 0), (blocked & 0x7fffffff, ignored & 0x7fffffff & ~(1 << signal.SIGINT - 1)))

    def beside_a_hang_that_goes_on_is_not_waited_for(self):
        program = self.start(loop(1.6, "hang60"), ["--loop", "python3", "--on-hang", "cp $1 copy"])
        wait_until((pathlib.Path(program.folder) / "copy").exists, "the command", 20 if not SANITIZER else 60)
        wait_until(lambda: (pathlib.Path(program.folder) / "copy").read_text().endswith("\n"), "its end")
        self.assertFalse(json.loads((pathlib.Path(program.folder) / "copy").read_text())["complete"])
        os.kill(program.pid, signal.SIGKILL)
        self.assertEqual(-signal.SIGKILL, program.wait())

    def beside_a_slow_command_blocks_nobody_and_is_ended(self):
        """The first one never ends: the second is never run, the program's end is not later for it than 5 s."""
        begin = time.monotonic()
        program = self.start(loop(1.6, "hang0.7", 0.5, "hang0.8", 0.5, "exec(open('ended', 'w').close())"),
                             ["--on-hang", "echo $$ >>pids; exec sleep 1000"])
        ended = pathlib.Path(program.folder) / "ended"
        wait_until(ended.exists, "the program's end")
        lasted = time.monotonic() - begin
        self.assertEqual(0, program.wait())
        self.assertTrue(4 < time.time() - ended.stat().st_mtime < 15)
        self.assertIn("hangdog: --on-hang skipped 2 reports: 5 s were over", program.told)
        self.assertLess(float(re.search(r" ran for ([0-9.]+) s: ", program.told[-1])[1]), lasted + 3)
        (pid,) = map(int, (pathlib.Path(program.folder) / "pids").read_text().split())
        wait_until(lambda: not os.path.exists("/proc/%d" % pid), "the command's end")

    def beside_a_slow_command_of_a_quiet_run(self):
        program = self.start(loop(1.6, "hang0.7", 0.5), ["--quiet", "--on-hang", "exec sleep 1000"])
        self.assertEqual((0, ""), (program.wait(), program.errors))

    def beside_a_second_signal_ends_the_waiting(self):
        program = self.start(loop(1.6, "hang0.7", 0.5, "exec(open('ended', 'w').close())"),
                             ["--on-hang", "echo $$ >>pids; exec sleep 1000"])
        assert program.pid
        wait_until((pathlib.Path(program.folder) / "ended").exists, "the program's end")
        wait_until(lambda: not os.path.exists("/proc/%d" % program.pid), "the program to be gone")
        begin = time.monotonic()
        os.kill(program.process.pid, signal.SIGINT)
        self.assertEqual(0, program.wait())
        self.assertLess(time.monotonic() - begin, 4)

    @unittest.skipIf(SANITIZER, "its runtime is to be the first library")
    def beside_of_hangs_whose_functions_are_looked_up_for_too_long(self):
        """The reporter is killed and another one prints them without names; a signal asks to end, so no command runs."""
        folder = tempfile.mkdtemp(prefix="hangdog-test-")
        program = self.start(loop("execopen('stuck', 'w')", 1.6, "hang0.7", 0.5, "hang0.8", 0.5),
                             ["--on-hang", "echo $1 >>ran"], folder=folder, env={"LD_PRELOAD": stuck(folder)})
        assert program.pid
        wait_until(lambda: not os.path.exists("/proc/%d" % program.pid), "the program to be gone")
        os.kill(program.process.pid, signal.SIGINT)
        self.assertEqual(0, program.wait())
        self.assertEqual(2, hangs_printed(program.errors), program.errors)
        self.assertEqual(2, program.errors.count("hangdog: names missing: symbol look-up took too long; later: "), program.errors)
        self.assertIn("hangdog: --on-hang skipped 2 reports: a signal came", program.told)
        self.assertRegex(program.told[-1], ": 2 hangs, ")
        self.assertFalse(os.path.exists(os.path.join(folder, "ran")))

    def beside_a_command_that_cannot_be_run_harms_nothing(self):
        program = self.start(loop(1.6, "hang0.7", 0.5), ["--on-hang", "/no/such/command"])
        self.assertEqual(0, program.wait())
        self.assertEqual(1, len(program.reports("hang")))
        self.assertIn("not found", program.errors)


class Long(SideBySide):
    """A hang is told when it has lasted for 5 s: of its own time."""

    def told_of(self, program):
        return re.findall(r"^hangdog: python3\[\d+\] frozen for .*", program.errors, re.MULTILINE)

    def start_long(self, *steps, options=()):
        return self.start(loop(1.6, *steps), ["--loop", "python3", "--on-hang", "cp $1 copy", *options])

    def beside_while_it_lasts(self):
        program = self.start_long("hang7", 0.5)
        wait_until(lambda: self.told_of(program), "the line")
        copy = pathlib.Path(program.folder) / "copy"
        wait_until(lambda: copy.exists() and copy.read_text().endswith("\n"), "the command")
        self.assertFalse(json.loads(copy.read_text())["complete"])
        (line,) = self.told_of(program)
        self.assertRegex(line, r"^hangdog: python3\[\d+\] frozen for [56] s, still going: <module>")
        self.assertNotIn("hang of ", program.errors)
        self.assertEqual(0, program.wait())
        self.assertEqual((1, 1), (len(self.told_of(program)), program.errors.count("hang of ")), program.errors)

    def beside_not_while_it_is_stopped(self):
        """It sleeps through its stop."""
        program = self.start_long("hang4", 0.5)
        program.wait_for_hang()
        program.stop_for(6.5)
        self.assertEqual(0, program.wait())
        self.assertEqual([], self.told_of(program))
        self.assertEqual(1, program.errors.count("hang of "), program.errors)
        self.assertTrue(json.loads((pathlib.Path(program.folder) / "copy").read_text())["complete"])

    def beside_later_by_what_it_was_stopped(self):
        begin = time.monotonic()
        program = self.start_long("execwhile True: time.sleep(0.05)")
        program.wait_for_hang()
        program.stop_for(3)
        wait_until(lambda: self.told_of(program), "the line")
        self.assertGreater(time.monotonic() - begin, 3 + 5)
        self.assertRegex(self.told_of(program)[0], r"for [56] s")

    def beside_at_once_where_the_threshold_is_higher(self):
        program = self.start_long("hang60", options=["--threshold", "6000"])
        wait_until(lambda: self.told_of(program), "the line")
        self.assertRegex(self.told_of(program)[0], r"for [67] s")


class Places(SideBySide):
    def beside_a_spool_that_cannot_be_made_again_is_told_once_and_counted(self):
        away = "exec(shutil.rmtree('spool'), open('spool', 'w').close())"
        program = self.start(loop(1.6, "hang0.7", 0.5, away, "hang0.7", 0.5, "hang0.9", 0.5))
        self.assertEqual(0, program.wait())
        lines = [line for line in program.told if "reports lost" in line]
        self.assertEqual(1, len(lines), program.errors)
        # the session's, too
        self.assertRegex(lines[0], r"^hangdog: 3 of 4 reports lost: cannot write '.*spool': No such file or directory")
        self.assertRegex(program.told[-1], ": 3 hangs, [^;]* lost ")

    def beside_an_installation_whose_path_the_loader_would_divide(self):
        if SANITIZER:
            self.skipTest("an instrumented library finds its runtime by the build's path")
        every = Together()

        def run(name):
            program = Program(["/bin/true"], watched=False)
            self.addCleanup(program.close)
            place = pathlib.Path(program.folder) / name
            for part in ("bin/hangdog", "lib/libhangdog-preload.so"):
                (place / part).parent.mkdir(parents=True)
                shutil.copy(os.path.join(BUILD, part), place / part)
            (pathlib.Path(program.folder) / "run").mkdir()
            done = subprocess.run([place / "bin/hangdog", "run", "--spool", place / "spool", "--", *loop(1.6, "hang0.7", 0.5)],
                                  env=environment({"XDG_RUNTIME_DIR": program.folder + "/run"}), capture_output=True,
                                  text=True, timeout=60, check=False)
            links = list((pathlib.Path(program.folder) / "run").iterdir())
            return done.returncode, done.stderr, len(links)
        for name in ("a b", "a:b", "a$LIB", "plain"):
            every.start(name, run, name)
        every.join()
        for name in ("a b", "a:b", "a$LIB", "plain"):
            status, told, links = every[name]
            self.assertEqual((0, 0 if name == "plain" else 1), (status, links), told)
            self.assertIn(": 1 hang, ", told, name)

    def beside_no_link_means_unwatched_and_it_is_said(self):
        """The folder for it is another's."""
        if SANITIZER:
            self.skipTest("an instrumented library finds its runtime by the build's path")
        program = Program(["/bin/true"], watched=False)
        self.addCleanup(program.close)
        place = pathlib.Path(program.folder) / "a b"
        for part in ("bin/hangdog", "lib/libhangdog-preload.so"):
            (place / part).parent.mkdir(parents=True)
            shutil.copy(os.path.join(BUILD, part), place / part)
        argv = [place / "bin/hangdog", "run", "--spool", place / "spool", "--", "/bin/sh", "-c", "exit 6"]
        (place / "run").mkdir()
        env = {"XDG_RUNTIME_DIR": str(place / "run")}  # has a space itself: /tmp is used
        done = subprocess.run(argv, env=environment(env), capture_output=True, text=True, timeout=60, check=False)
        self.assertIn("no event loop", done.stderr)
        (link,) = [p for p in pathlib.Path("/tmp").glob("hangdog-*-*/libhangdog-preload.so")
                   if os.readlink(p) == str(place / "lib/libhangdog-preload.so")]
        self.addCleanup(shutil.rmtree, link.parent, True)
        link.parent.chmod(0o777)
        done = subprocess.run(argv, env=environment(env), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(6, done.returncode)
        self.assertRegex(done.stderr, r"\Ahangdog: cannot watch /bin/sh: LD_PRELOAD cannot contain [^\n]+\n\Z")

    def beside_closed_standard_descriptors_stay_closed(self):
        tell = ("import os, sys\n"
                "names = sorted(int(n) for n in os.listdir('/proc/self/fd'))\n"
                "open('told', 'w').write(repr([n for n in names if os.path.exists('/proc/self/fd/%d' % n)]))\n"
                "import time, select, socket\n"
                "r = socket.socketpair()\n"
                "[select.select(r, [], [], 0.1) for _ in range(16)]\n"
                "time.sleep(0.7)\n"
                "[select.select(r, [], [], 0.1) for _ in range(3)]\n"
                "os._exit(5)\n")
        every = Together()

        def run(closed, watched):
            program = Program(["/bin/true"], watched=False)
            self.addCleanup(program.close)
            head = [HANGDOG, "run", "--spool", program.spool, "--"] if watched else []
            shell = "exec " + " ".join("%d>&-" % fd for fd in closed) + ' "$@"'
            done = subprocess.run(["/bin/sh", "-c", shell, "sh", *head, PYTHON, "-I", "-c", tell], env=environment(),
                                  cwd=program.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=60, check=False)
            told = pathlib.Path(program.folder, "told").read_text()
            return done.returncode, done.stdout, told, len(program.reports("hang"))
        cases = [(0,), (1,), (2,), (0, 1), (0, 1, 2)]
        for closed in cases:
            for watched in (False, True):
                every.start((closed, watched), run, closed, watched)
        every.join()
        for closed in cases:
            plain, watched = every[closed, False], every[closed, True]
            self.assertEqual(plain[:3], watched[:3], closed)
            self.assertEqual((5, 1), (watched[0], watched[3]), closed)


if __name__ == "__main__":
    main()
