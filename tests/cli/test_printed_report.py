# SPDX-License-Identifier: MIT
"""What hangdog run tells a person: enough of a deep stack, commands that can be copied."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from support_side_by_side import PYTHON, SideBySide, loop
from support_run import BUILD, HANGDOG, MS, environment, main, schema_errors, wait_until

# Hangs in a function of its own, far below another one of its own.
DEEP = """
import copy, os, select, socket, time
class Slow:
    def __deepcopy__(self, memo):
        time.sleep(0.8)
        return self
def save_all():
    copy.deepcopy(document)
document = Slow()
for _ in range(20): document = [document]
r = socket.socketpair()
wait = lambda: [select.select(r, [], [], 0.1) for _ in range(20)]
wait()
save_all()
wait()
"""

# Its child is killed in mid-hang, and one that is forked later, and goes on, has the same number.
AGAIN = """
import os, select, socket, signal, time
r = socket.socketpair()
child = os.fork()
while child == 0:
    [select.select(r, [], [], 0.1) for _ in range(16)]
    time.sleep(600)
while not [name for name in os.listdir("spool") if name.endswith(".json")]: time.sleep(0.05)
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
time.sleep(2.5)
again = 0
while again != child:
    if again: os.kill(again, signal.SIGKILL), os.waitpid(again, 0)
    open("/proc/sys/kernel/ns_last_pid", "w").write(str(child - 1))
    again = os.fork()
    if again == 0: signal.pause()
open("child", "w").write(str(child))
os._exit(0)
"""

# Computes in functions one after the other; of one that blocks the signal that asks for its stack nobody
# knows more.
MASKED = """
import os, select, socket, signal, time
r = socket.socketpair()
def wait(): [select.select(r, [], [], 0.1) for _ in range(16)]
def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end: sum(range(10**4))
def unseen(seconds):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
    compute(seconds)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGURG])
wait()
for hang in HANGS:
    for function, seconds in hang: function(seconds)
    wait()
"""


def masked(*hangs):
    return MASKED.replace("HANGS", "[%s]" % ", ".join(hangs))


class Told(SideBySide):
    def script(self, text):
        folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "deep.py")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return [PYTHON, "-I", path]

    def beside_of_a_deep_stack_the_own_frames_are_shown_and_the_others_counted(self):
        program = self.start(self.script(DEEP))
        self.assertEqual(0, program.wait(), program.errors)
        headline, _, *frames = program.errors.split("\n")
        self.assertRegex(headline, r"\Ahangdog: hang of .* in Slow.__deepcopy__ \(deep\.py:5\), ")
        self.assertRegex(frames[0], r"^  > Slow.__deepcopy__  deep\.py:5 +in clock_nanosleep$")
        own = re.findall(r"(?m)^  [> ] (\S+) +deep\.py:\d+", program.errors)
        self.assertEqual(["Slow.__deepcopy__", "save_all", "<module>"], own, program.errors)
        hidden, command = re.search(r"(?m)^  \((\d+) interpreter and library frames hidden; --all-frames\)  more: (.*)$",
                                    program.errors).groups()
        self.assertGreater(int(hidden), 10)
        shown = subprocess.run(command + " --all-frames", shell=True, env=environment(), capture_output=True, text=True,
                               timeout=60, check=True).stdout
        functions = re.findall(r"(?m)^ +\d+%  (\S+)", shown)
        self.assertEqual(int(hidden) + len(own), len(functions), shown)
        for name in ("clock_nanosleep", "Slow.__deepcopy__", "deepcopy", "save_all", "<module>", "__libc_start_main", "_start"):
            self.assertIn(name, functions, shown)
        self.assertNotIn("hidden", shown)

    def beside_a_line_of_json_is_whole_whatever_the_program_writes_there(self):
        noise = "execimport threading; threading.Thread(target=lambda: [os.write(2, b'noise\\n') or time.sleep(0.0002)" \
                " for _ in iter(int, 1)], daemon=True).start()"
        program = self.start(loop(1.6, noise, "hang0.7", 0.5, "hang0.8", 0.5), ["--json"])
        self.assertEqual(0, program.wait())
        lines = [line for line in program.errors.splitlines() if line != "noise"]
        self.assertEqual(["hang", "hang", "session"], [json.loads(line)["kind"] for line in lines])

    def beside_a_file_of_json_has_each_report_and_the_text_stays(self):
        """The program has no descriptor of it. --quiet is for the text only."""
        fds = "execprint(sorted(os.listdir('/proc/self/fd'), key=int))"
        steps = [1.6, fds, "hang0.7", 0.5, "hang0.8", 0.5]
        folder = self.make_folder()
        pathlib.Path(folder, "out").write_text("old\n" * 9, encoding="ascii")
        plain = self.start(loop(*steps))
        quiet = self.start(loop(*steps), ["--json=out", "--quiet"], folder=folder)
        both = self.start(loop(*steps), ["--json=out"])
        for program in (plain, quiet, both):
            self.assertEqual(0, program.wait(), program.errors)
            self.assertEqual(plain.output, program.output)
        self.assertEqual("", quiet.errors)
        for program in (plain, both):
            self.assertEqual(1, program.errors.count("hangdog: hang of 7"), program.errors)
            self.assertEqual(1, program.errors.count("hangdog: same hang again: 8"), program.errors)
        self.assertRegex(both.told[-1], ": 2 hangs, ")
        for program in (quiet, both):
            lines = pathlib.Path(program.folder, "out").read_text(encoding="utf-8").splitlines()
            written = [json.loads(line) for line in lines]
            self.assertEqual(["hang", "hang", "session"], [report["kind"] for report in written])
            self.assertEqual({report["id"] for report in program.reports()}, {report["id"] for report in written})
            self.assertIn("<module>", [frame.get("function") for frame in written[0]["hot_stack"]["frames"]])
            for report in written:
                self.assertEqual([], schema_errors(report))

    def beside_a_file_of_json_that_is_full_is_said_once(self):
        program = self.start(loop("serves", 1.6, "hang0.7", 0.5), ["--json=/dev/full"])
        self.assertEqual(0, program.wait(), program.errors)
        self.assertEqual(1, len(program.reports("hang")))
        self.assertIn("hangdog: 2 reports are missing: cannot write '/dev/full': No space left on device", program.told)
        self.assertIn(": 1 hang, ", program.told[-1])

    def beside_time_that_an_image_of_the_program_was_stopped_is_not_used(self):
        now = "execopen(%r, 'w').write(str(time.monotonic_ns()))"
        second = loop(now % "second", 1.6, now % "ready", 4)
        begin = time.monotonic_ns()
        program = self.start(loop(1.6, "hang0.7", now % "ready", 4, "execos.remove('ready')", now % "first",
                                  "execos.execv(%r, %r)" % (second[0], second)))
        at = lambda name: int(pathlib.Path(program.folder, name).read_text(encoding="ascii"))
        stops = []
        for seen in ("ready", "second"):
            wait_until(pathlib.Path(program.folder, seen).exists, "the image")
            wait_until(pathlib.Path(program.folder, "ready").exists, "its loop")
            stops.append(program.stop_for(2).least)
        self.assertEqual(0, program.wait(), program.errors)
        lasted = [at("second") - begin, time.monotonic_ns() - at("first")]
        sessions = [report["session"] for report in program.reports("session")]
        self.assertEqual(2, len(sessions), program.errors)
        for i, session in enumerate(sessions):
            self.assertLess(session["used_ns"], lasted[i] - stops[i] + 1000 * MS)
            self.assertLess(session["busy_ns"] + session["idle_ns"], session["used_ns"] + 200 * MS)

    def beside_time_that_a_turn_was_stopped_is_not_busy(self):
        program = self.start(loop(1.6, "execopen('hangs', 'w')", "hang3", 1.6))
        wait_until(pathlib.Path(program.folder, "hangs").exists, "the turn")
        stop = program.stop_for(5)
        self.assertEqual(0, program.wait(), program.errors)
        ((session,),) = [[report["session"] for report in program.reports("session")]]
        self.assertLess(session["busy_ns"] + session["idle_ns"], session["used_ns"] + 200 * MS)
        self.assertLess(session["busy_ns"], stop.least)
        self.assertGreater(session["idle_ns"], 1500 * MS)

    def beside_hangs_beyond_the_caps_are_counted(self):
        for option in ("--reports-per-day", "--reports-per-fingerprint"):
            program = self.start(loop(2, "hang0.7", 0.5, "hang0.7", 0.5), [option, "1"])
            self.assertEqual(0, program.wait(), program.errors)
            asleep = [report for report in program.reports("hang") if report["cause"]["kind"] == "sleep"]
            ((session,),) = [[report["session"] for report in program.reports("session")]]
            self.assertEqual(1, len(asleep), program.errors)
            self.assertGreaterEqual(sum(held["count"] for held in session.get("suppressed", [])), 1, session)

    def beside_hangs_without_a_stack_are_not_the_same_hang(self):
        for options in [], ["--reports-per-fingerprint", "1"]:
            program = self.start(self.script(masked("[(unseen, 0.8)]", "[(unseen, 1.2)]")), options)
            self.assertEqual(0, program.wait(), program.errors)
            self.assertNotIn("repeat of", program.errors)
            self.assertNotIn("same hang again", program.errors)
            self.assertEqual(2, program.errors.count("(no stack: the thread did not answer;"), program.errors)
            for report in program.reports("hang"):
                self.assertEqual([], schema_errors(report))
                self.assertNotIn("repeat_of", report)
                self.assertNotIn("fingerprint", report)

    def beside_time_without_a_stack_is_told(self):
        program = self.start(self.script(masked("[(compute, 1), (unseen, 1)]")))
        self.assertEqual(0, program.wait(), program.errors)
        told = r"hang of \S+ s in compute \(deep\.py:\d+\), .*\n(?:.*\n)*  note (\d+)% not sampled"
        self.assertRegex(program.errors, told)
        without = int(re.search(told, program.errors)[1])
        seen = int(re.search(r"(?m)^    <module> +deep\.py:\d+ +(\d+)%$", program.errors)[1])
        self.assertGreaterEqual(without, 40, program.errors)
        self.assertTrue(99 <= seen + without <= 101, program.errors)

    def beside_the_last_line_names_the_runs_own_report(self):
        """Another program's, which is newer, is in the same spool."""
        write = os.path.join(BUILD, "tests", "programs", "write-report")
        program = self.start(loop(1.6, "hang0.7", 0.5, "execos.system('%s %%s/spool full' %% os.getcwd())" % write, 0.5))
        self.assertEqual(0, program.wait(), program.errors)
        *_, own, other = [r for r in program.reports() if r["kind"] != "session"]
        self.assertNotEqual(own["app"]["session"], other["app"]["session"])
        self.assertRegex(program.told[-1], ": 1 hang, ")
        (short,) = re.findall(r"(?m)^  \S+ \S+  1  .* ([0-9a-f]{6})$", program.errors)
        self.assertTrue(own["id"].endswith(short), program.errors)
        command = "%s show %s --spool %s" % (HANGDOG, short, program.spool)
        shown = subprocess.run(command + " --json", shell=True, env=environment(), capture_output=True, text=True,
                               timeout=60, check=True).stdout
        self.assertEqual(own["id"], json.loads(shown)["id"])

    def beside_a_child_that_died_in_a_hang_when_another_process_has_its_number(self):
        """In a namespace whose numbers are ours to give."""
        before = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
        may = 'test -w /proc/sys/kernel/ns_last_pid && echo 9 >/proc/sys/kernel/ns_last_pid'
        if subprocess.run([*before, "sh", "-c", may], capture_output=True, check=False).returncode != 0:
            self.skipTest("a user namespace, in which processes get the numbers that one asks for, is not allowed here")
        program = self.start([*before, HANGDOG, "run", "--follow", "--loop", "python3", "--spool", "spool", "--",
                              PYTHON, "-I", "-c", AGAIN], watched=False)
        self.assertEqual(0, program.wait(), program.errors)
        child = int(pathlib.Path(program.folder, "child").read_text(encoding="ascii"))
        self.assertEqual([child], [report["app"]["pid"] for report in program.reports("fatal-hang")], program.errors)
        self.assertRegex(program.told[0], "process %d of .* still runs" % child)
        self.assertNotIn("children", program.errors)

    def beside_a_signal_that_ended_a_hang_is_named(self):
        program = self.start(loop("serves", 2, "hang30"))
        program.wait_for_hang()
        os.kill(program.pid, signal.SIGABRT)
        self.assertEqual(-signal.SIGABRT, program.wait())
        (report,) = program.reports("fatal-hang")
        self.assertEqual([], schema_errors(report))
        self.assertEqual({"signal": "SIGABRT"}, report["crash"])
        self.assertIn("\n  end  killed by SIGABRT (abort, or a watchdog) while it hung\n", program.errors)

    def beside_a_number_is_the_same_wherever_it_is_told(self):
        program = self.start(loop("serves", 2, "execfor i in iter(int, 1): sum(range(10**5)); time.sleep(0.002)"), ["--json"])
        program.wait_for_hang()
        time.sleep(1)
        os.kill(program.pid, signal.SIGKILL)
        self.assertEqual(-signal.SIGKILL, program.wait())
        (report,) = program.reports("fatal-hang")
        (file,) = pathlib.Path(program.folder).rglob(report["id"] + ".json")
        (told,) = [line for line in program.errors.splitlines() if report["id"] in line]
        shown = subprocess.run([HANGDOG, "show", "--json", file], capture_output=True, text=True, timeout=60,
                               check=True).stdout
        shares = [set(re.findall(r'"share": ?([^,}\s]+)', text)) for text in (file.read_text(), told, shown)]
        self.assertEqual(shares[0], shares[1])
        self.assertEqual(shares[0], shares[2])
        self.assertLess(max(map(len, shares[0])), 9, shares[0])


if __name__ == "__main__":
    main()
