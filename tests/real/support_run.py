# SPDX-License-Identifier: MIT
#
# Programs under `hangdog run`, each in a folder of its own: starting, stopping and ending them, the reports that they
# leave, and what must be true of one.

import contextlib
import functools
import glob
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import typing
import unittest
from concurrent.futures import ThreadPoolExecutor

SOURCE = os.environ.get("HANGDOG_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.environ.get("HANGDOG_BUILD") or os.path.join(SOURCE, "build")
HANGDOG = os.path.join(BUILD, "bin/hangdog")
MS = 1000 * 1000
S = 1000 * MS


def cached(name):
    """A variable of the build's configuration."""
    try:
        with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
            found = re.search(r"^%s:\w+=(.*)$" % name, cache.read(), re.MULTILINE)
    except FileNotFoundError:
        found = None
    return found.group(1) if found else ""


SANITIZER = cached("HANGDOG_SANITIZER")
RELEASE = not SANITIZER and cached("CMAKE_BUILD_TYPE") == "Release"
PATIENCE = 60 if RELEASE else 180  # seconds: what a test waits for something that must come
TOLERANCE_NS = 60 * MS if RELEASE else 1500 * MS  # of a duration, against the program's own clock


# ---- what was ignored ------------------------------------------------------------------------------------------

_ignored = {}


def ignore(key, what):
    """Says what of a busy machine is ignored, once for each key; main() prints how many these were."""
    if key not in _ignored:
        _ignored[key] = what
        print("ignored: " + what, file=sys.stderr)


# ---- waiting -------------------------------------------------------------------------------------------------

def wait_until(condition, what, limit=None):
    """The first true value of condition()."""
    end = time.monotonic() + (limit or PATIENCE)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("waited in vain for " + what)
        time.sleep(0.01)


def need_terminal():
    """Skips a test where no terminal can be made: in a root without /dev/pts."""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as error:
        raise unittest.SkipTest("no terminal can be made (is /dev/pts mounted?): %s" % error) from error


def full_pipe():
    """Its two ends: who writes to it waits until somebody reads."""
    ours, its = os.pipe()
    os.set_blocking(its, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(its, b"full" * 1024)
    os.set_blocking(its, True)
    return ours, its


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def state_of(pid):
    """The state letter of a process, "" when it is gone."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def children_of(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as children:
            return [int(child) for child in children.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def name_of(pid):
    try:
        with open("/proc/%d/comm" % pid, encoding="utf-8", errors="replace") as comm:
            return comm.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def arguments_of(pid, which=0):
    """Of the calls that a process's threads are in: the first ones, or others."""
    texts = []
    for path in glob.glob("/proc/%d/task/*/syscall" % pid):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            texts.append(file.read())
    return [text.split()[1 + which] for text in texts if len(text.split()) > 3]


def reporter_of(runner):
    """The process that prints, None when there is none."""
    return next((pid for pid in children_of(runner) if name_of(pid) == "hangdog-report"), None)


def reporter_writes(runner):
    """Whether the reporter is in a call with standard error, as one that waits for a reader."""
    reporter = reporter_of(runner)
    return reporter is not None and "0x2" in arguments_of(reporter)


def hangs_printed(text):
    """How many hangs have lines in what `hangdog run` printed: in full, or as a repeat."""
    return len(re.findall(r"(?m)^hangdog: (?:fatal hang|hang|slow launch) of ", text)) + text.count("hangdog: same hang again")


class Between(typing.NamedTuple):
    """A time that lies between two: what goes on between two calls of ours is not known."""
    least: int
    most: int

    def __rsub__(self, whole):
        return Between(whole - self.most, whole - self.least)

    def off(self, told):
        """By how much another time is out of it."""
        return told - min(max(told, self.least), self.most)


@functools.cache
def may_trace():
    """Whether programs may be traced here: a container may deny it. (Without strace the tests fail by themselves.)"""
    strace = "/usr/bin/strace"
    return not os.path.exists(strace) or subprocess.run([strace, "-o", "/dev/null", "/bin/true"], capture_output=True,
                                                        check=False).returncode == 0


# ---- one program ---------------------------------------------------------------------------------------------

class Program:
    """One program in a folder of its own: under `hangdog run`, or plain, to compare with."""

    def __init__(self, argv, options=(), watched=True, env=None, folder=None, terminal=None):
        self.folder = folder or os.path.realpath(tempfile.mkdtemp(prefix="hangdog-test-"))
        self.spool = os.path.join(self.folder, "spool")
        self.watched = watched
        self.starved_ns = self._delay_ns = 0
        head = [HANGDOG, "run", "--spool", self.spool, *options, "--"] if watched else []
        if terminal is not None:  # the program's controlling terminal
            head = ["/usr/bin/setsid", "--ctty", *head]
        self.output_path = os.path.join(self.folder, "stdout")
        self.errors_path = os.path.join(self.folder, "stderr")
        with open(self.output_path, "wb") as out, open(self.errors_path, "wb") as err:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen([*head, *argv], stdin=subprocess.DEVNULL if terminal is None else terminal,
                                            stdout=out, stderr=err, cwd=self.folder, env=environment(env))
        self._pid = None

    @property
    def pid(self):
        """Of the program itself. First asked while it runs; waits for its exec."""
        if not self._pid:
            self._pid = self.process.pid if not self.watched else wait_until(self._started, "the program")
        return self._pid

    def _started(self):
        own = os.readlink("/proc/%d/exe" % self.process.pid)
        for child in children_of(self.process.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if os.readlink("/proc/%d/exe" % child) != own:
                    return child
        if self.process.poll() is not None:
            raise AssertionError("ended with %d before it began: %s" % (self.process.returncode, self.errors))
        return None

    @property
    def output(self):
        with open(self.output_path, encoding="utf-8", errors="replace") as out:
            return out.read()

    @property
    def errors(self):
        with open(self.errors_path, encoding="utf-8", errors="replace") as err:
            return err.read()

    @property
    def told(self):
        """The lines that `hangdog run` itself says, without those of single hangs."""
        return re.findall(r"(?m)^hangdog: (?!(?:fatal hang|hang|slow launch) of ).*", self.errors)

    def wait(self, limit=None):
        return self.process.wait(limit or PATIENCE)

    def stop_for(self, seconds):
        """Stops the program; how long it was stopped."""
        before = time.monotonic_ns()
        os.kill(self.pid, signal.SIGSTOP)
        wait_until(lambda: state_of(self.pid) == "T", "the program's stop")
        begun = time.monotonic_ns()
        time.sleep(seconds)
        ends = time.monotonic_ns()
        os.kill(self.pid, signal.SIGCONT)
        return Between(ends - begun, time.monotonic_ns() - before)

    def delay_ns(self):
        """How long its main thread has been ready to run without a processor, as last known."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open("/proc/%d/schedstat" % self.pid, encoding="ascii") as figures:
                self._delay_ns = int(figures.read().split()[1])
        return self._delay_ns

    def names(self):
        """The spool's files, held ones too."""
        with contextlib.suppress(FileNotFoundError):
            return sorted(os.listdir(self.spool))
        return []

    def left_over(self):
        """What is nobody's report, nor how the last run ended."""
        return [name for name in self.names() if name.startswith(".") and not name.endswith(".last")]

    def reports(self, *kinds):
        """Whole documents in the spool, in the order in which they were begun; of `kinds`, or all."""
        found = []
        for name in self.names():
            if name.endswith(".json") and not name.startswith("."):
                with open(os.path.join(self.spool, name), encoding="utf-8") as file:
                    found.append(json.load(file))
        return [report for report in found if not kinds or report["kind"] in kinds]

    def wait_for_hang(self):
        """Until a hang's report was begun: shown, or held until the loop is sure."""
        wait_until(lambda: [n for n in self.names() if n.endswith(".held") or n.endswith(".json")],
                   "the report of a hang that lasts")

    def close(self):
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError, FileNotFoundError, AssertionError):
                os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
            self.process.kill()
            self.process.wait()
        for line in self.errors.splitlines():
            if re.search(r"(WARNING|ERROR|FATAL): \w+Sanitizer|: runtime error: ", line):
                print(line)  # scripts/run-tests looks for it
        shutil.rmtree(self.folder, ignore_errors=True)


def for_everybody(path):
    """Whether any user may go there: a home folder may be its owner's alone."""
    path = os.path.realpath(path)
    return all(os.stat(path[:i] or "/").st_mode & 0o001 for i in range(len(path) + 1) if path[i:i + 1] in ("/", ""))


def need_build_of_all():
    if not for_everybody(BUILD):
        raise unittest.SkipTest("other users may not enter " + BUILD)


def environment(more=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("XDG_") and k != "LD_PRELOAD"}
    env["LC_ALL"] = "C.UTF-8"
    env.update(more or {})
    return env


def runs_under_sanitizer(argv):
    """None when this program can run with the sanitizer's runtime alone, without Hangdog; else what it said."""
    runtime = os.environ.get("HANGDOG_SANITIZER_RUNTIME")
    if not SANITIZER or not runtime:
        return None
    done = subprocess.run(argv, env=environment({"LD_PRELOAD": runtime}), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)
    return None if done.returncode == 0 else "status %d: %s" % (done.returncode, done.stdout.decode()[-400:])


def undisturbed(session, *args):
    """A run of the session's program in which the machine gave it a processor most of the time, by the kernel's own
    count; the second run as it is."""
    program = session(*args)
    if program.starved_ns > 300 * MS:
        ignore(program.folder, "%.1f s without a processor: the program runs once more" % (program.starved_ns / S))
        program.close()
        program = session(*args)
    return program


class Together:
    """Calls that go on at the same time, ten at the most; the results by name, once all are there.

    Each drives a program that mostly waits. More of them leave none of two processors free for a monitor."""

    def __init__(self):
        self.results, self.errors, self.threads = {}, {}, []
        self.room = threading.Semaphore(10)

    def start(self, name, call, *args):
        def run():
            with self.room:
                try:
                    self.results[name] = call(*args)
                except BaseException:  # pylint: disable=broad-exception-caught
                    self.errors[name] = sys.exc_info()
        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        self.threads.append(thread)

    def join(self):
        for thread in self.threads:
            thread.join()
        return self

    def __getitem__(self, name):
        if name in self.errors:
            raise self.errors[name][1]
        return self.results[name]


class _Result(unittest.TextTestResult):
    """Knows whether any test came to its end: a file whose tests could all not run has not passed."""

    ran = False

    def addSuccess(self, test):
        self.ran = True
        super().addSuccess(test)

    def addSubTest(self, test, subtest, err):
        self.ran = True
        super().addSubTest(test, subtest, err)


class _Lines(_Result):
    """One line for each test, when it has ended."""

    def startTest(self, test):
        unittest.TestResult.startTest(self, test)


class _SideBySide(unittest.TestSuite):
    AT_A_TIME = 5

    def cases(self):
        for each in self:
            yield from each.cases() if isinstance(each, _SideBySide) else [each]

    def run(self, result, debug=False):
        with ThreadPoolExecutor(self.AT_A_TIME) as pool:
            list(pool.map(lambda case: case.run(result), self.cases()))
        return result


def main(suite=unittest.TestSuite, result=_Result):
    """Runs a module's tests. Exit status 77 when none of them could run here."""
    loader = unittest.TestLoader()
    loader.suiteClass = suite
    runner = unittest.TextTestRunner(resultclass=result, verbosity=2)
    told = unittest.main(testLoader=loader, testRunner=runner, exit=False).result
    print("ignored in this file: %d" % len(_ignored), file=sys.stderr)
    sys.exit(1 if not told.wasSuccessful() else 0 if told.ran else 77)


def main_side_by_side():
    """The same, a few at a time: nearly all of their time they wait."""
    main(_SideBySide, _Lines)


# ---- what must be true of a report ---------------------------------------------------------------------------

def schema_errors(report):
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
    except ImportError:
        return ["python3-jsonschema is not installed: scripts/install-dependencies test"]
    with open(os.path.join(SOURCE, "docs/report.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    del schema["$id"]  # no address: Debian 12's jsonschema would look "#/$defs/..." up there
    validator = jsonschema.Draft202012Validator(schema)
    return ["%s: %s" % ("/".join(str(part) for part in error.absolute_path), error.message)
            for error in validator.iter_errors(report)]


def false_ones(reports):
    """Of reports where no hang was expected. A machine whose disk is cold, or that has too much to do, makes true ones; a
    wait that is falsely called a hang has another cause."""
    found = []
    for report in reports:
        if report.get("cause", {}).get("kind") in ("disk", "page-fault", "starved"):
            ignore(report.get("id", id(report)), "a hang that the machine made: %s, %.1f s: %s" % (
                report["kind"], report["duration_ns"] / S, report["cause"]))
        else:
            found.append(report)
    return found


def symbolicated(program, report):
    """The report as `hangdog show --json` gives it: with functions."""
    done = subprocess.run([HANGDOG, "show", report["id"], "--spool", program.spool, "--json"], check=True,
                          stdout=subprocess.PIPE, env=environment(), timeout=PATIENCE)
    return json.loads(done.stdout)


def hot_functions(report):
    return [frame.get("function", "") for frame in report["hot_stack"]["frames"]]


def hot_modules(report):
    """Base names of the modules in the hot stack, innermost first."""
    return [os.path.basename(report["modules"][frame["module"]]["path"])
            for frame in report["hot_stack"]["frames"] if "module" in frame]


class RealCase(unittest.TestCase):
    """Programs that end with their test, and assertions about their reports."""

    maxDiff = None

    def program(self, *args, **kwargs):
        program = Program(*args, **kwargs)
        self.addCleanup(program.close)
        return program

    def folder(self):
        folder = os.path.realpath(tempfile.mkdtemp(prefix="hangdog-test-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def stalling_disk(self, folder):
        """A folder that stops to answer while a file `stall` is in the other one, which is what it shows."""
        behind, mounted = folder + "/behind", folder + "/mounted"
        for name in (behind, mounted):
            os.mkdir(name)
        # pylint: disable=consider-using-with
        disk = subprocess.Popen([os.path.join(BUILD, "tests/programs/stallfs"), behind, mounted],
                                stderr=subprocess.DEVNULL)
        self.addCleanup(disk.wait)
        self.addCleanup(subprocess.run, ["umount", "-l", mounted], check=False, stderr=subprocess.DEVNULL)
        wait_until(lambda: os.path.ismount(mounted) or disk.poll() is not None, "the mount")
        if not os.path.ismount(mounted):
            self.skipTest("no file system of a process's own can be mounted here (/dev/fuse, libfuse 3)")
        return behind, mounted

    def assert_valid(self, report):
        self.assertEqual([], schema_errors(report), "report %s is not of the schema" % report["id"])

    def assert_one_hang(self, program, cause):
        """Exactly one report of a hang, of this cause, and the session's; the first, symbolicated."""
        reports = program.reports()
        for report in reports:
            self.assert_valid(report)
        kinds = [report["kind"] for report in reports]
        self.assertEqual(["hang", "session"], sorted(kinds), program.errors)
        hang = symbolicated(program, next(r for r in reports if r["kind"] == "hang"))
        causes = [cause]
        if cause == "cpu" and program.starved_ns * 10 > hang["duration_ns"] * 4:
            causes.append("starved")  # the truth, on a machine that has too much to do
        if hang["cause"]["kind"] == "starved":
            ignore(hang["id"], "cause starved instead of %s: %s" % (cause, hang["cause"]))
        self.assertIn(hang["cause"]["kind"], causes, hang["cause"])
        self.assertTrue(hang["complete"])
        self.assertEqual(500 * MS, hang["threshold_ns"])
        self.assertEqual(program.pid, hang["app"]["pid"])
        self.assertEqual(program.pid, hang["loop"]["tid"])
        self.assertEqual("foreground", hang["loop"]["state"])
        session = next(r for r in reports if r["kind"] == "session")["session"]
        self.assertEqual(1, session["hangs"])
        self.assertGreater(session["launch_ns"], 0)
        self.assertEqual([], program.left_over(), "left over in the spool")
        return hang

    def assert_no_hang(self, program):
        """No report but the session's, and that was said."""
        for report in program.reports():
            self.assert_valid(report)
        reports = false_ones(program.reports())
        self.assertEqual(["session"], [r["kind"] for r in reports], program.errors)
        if reports == program.reports():
            self.assertRegex(program.told[-1], r": no hang of 500 ms or more(, started in [^;]+)?(; its .* not watched: .*)?$")

    def assert_duration(self, report, truth_ns):
        """The duration within 60 ms of the truth by the program's own clock."""
        truth = truth_ns if isinstance(truth_ns, Between) else Between(truth_ns, truth_ns)
        off = truth.off(report["duration_ns"])
        print("%s: %s %.1f ms, by the program's clock %.1f to %.1f ms: off by %+.1f ms" % (
            self.id().rsplit(".", 1)[1], report["cause"]["kind"], report["duration_ns"] / MS, truth.least / MS,
            truth.most / MS, off / MS))
        self.assertLessEqual(abs(off), TOLERANCE_NS, "%d ns was reported for %s" % (report["duration_ns"], truth))

    def assert_ran(self, report):
        """It had a processor, or wanted one: on a machine with too much to do."""
        self.assertIn(report["cause"]["kind"], ("cpu", "starved"))
        if report["cause"]["kind"] == "starved":
            ignore(report["id"], "cause starved instead of cpu: %s" % report["cause"])

    def assert_excluded(self, report, stopped):
        self.assertLessEqual(abs(stopped.off(report["excluded_ns"])), TOLERANCE_NS,
                             "%d ns was taken off for a stop of %s" % (report["excluded_ns"], stopped))

    def assert_in_hot_stack(self, name, report):
        self.assertTrue([f for f in hot_functions(report) if name in f],
                        "no %s in %s" % (name, list(zip(hot_functions(report), hot_modules(report)))))
