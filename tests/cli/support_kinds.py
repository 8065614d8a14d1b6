# SPDX-License-Identifier: MIT
#
# Each kind and each cause that a report can have: a small program that shows it, and its report as `hangdog show` prints it.
# test_kinds.py asserts them; scripts/kinds writes docs/kinds.md from them.

import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import typing
from concurrent.futures import ThreadPoolExecutor

from support_run import BUILD, HANGDOG, PATIENCE, environment, wait_until
from support_sentences import PIPE, SENTENCES

LINES = 12  # of a report on the page
PYTHON = "/usr/bin/python3"
LOOP = """import asyncio, gc, threading, time
async def main():
    for _ in range(12):
        await asyncio.sleep(0.05)
    %s
    await asyncio.sleep(0.2)
"""
GIL = LOOP % """threading.Thread(target=count_rows).start()
    time.sleep(0.01)""" + """def count_rows():
    sum(range(300000000))
asyncio.run(main())
"""
GC = LOOP % "free_cache()" + """cache = [[i] for i in range(200000)]
def free_cache():
    until = time.monotonic() + 0.9
    while time.monotonic() < until:
        gc.collect()
asyncio.run(main())
"""
TEXT = """import time, gi
gi.require_version("PangoCairo", "1.0")
from gi.repository import GLib, Pango, PangoCairo
def lay_out_table():
    layout, until = Pango.Layout(PangoCairo.FontMap.get_default().create_context()), time.monotonic() + 0.9
    while time.monotonic() < until:
        layout.set_text("a row of the table, " * 2000, -1)
        layout.get_pixel_size()
loop = GLib.MainLoop()
for ms in range(50, 600, 50):
    GLib.timeout_add(ms, lambda: False)
GLib.timeout_add(600, lay_out_table)
GLib.timeout_add(1800, loop.quit)
loop.run()
"""


class Shown(typing.NamedTuple):
    group: str  # kind, cause or sentence
    name: str
    test: str  # of the scenario
    command: str  # as the page has it
    start: typing.Optional[typing.Callable]  # in a folder: what is printed, and the report; None: no program can show it
    says: str = ""  # of a sentence: fits it


# ---- the ways to a report ----------------------------------------------------------------------------------------

def path_of(program):
    return os.path.join(BUILD, "tests/programs", program)


def report_in(spool, kind):
    """A report of that kind (any but the session's by default) as it is printed, and as JSON. A machine that has too much to do
    makes others: the longest counts."""
    found = []
    for path in glob.glob(os.path.join(spool, "*.json")):
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        if report["kind"] == kind or (kind is None and report["kind"] != "session"):
            found.append((report.get("duration_ns", 0), path, report))
    if not found:
        raise AssertionError("no report of kind %s in %s" % (kind, os.listdir(spool)))
    _, path, report = max(found, key=lambda entry: entry[0])
    return output("show", path), report


def output(*args):
    return subprocess.run([HANGDOG, *args], check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE,
                          env=environment()).stdout


def before_others():
    """A busy machine would leave the program less than 80 % of a CPU."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def watched(*argv, options=(), kind=None, first=False):
    """A program that nobody rebuilt, under `hangdog run`."""
    def start(folder):
        spool = os.path.join(folder, "spool")
        subprocess.run([HANGDOG, "run", "--quiet", "--spool", spool, *options, "--", *argv], check=False, timeout=PATIENCE,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd=folder,
                       env=environment(), preexec_fn=before_others if first else None)
        return report_in(spool, kind)
    return start


def linked(what, kind=None):
    """A program that links the library."""
    def start(folder):
        subprocess.run([path_of("kinds"), folder, what], check=True, timeout=PATIENCE)
        return report_in(folder, kind)
    return start


def on_a_disk_that_stalls(what):
    def start(folder):
        behind, mounted, spool = (os.path.join(folder, name) for name in ("behind", "mounted", "spool"))
        for path in (behind, mounted, spool):
            os.mkdir(path)
        with subprocess.Popen([path_of("stallfs"), behind, mounted], stderr=subprocess.DEVNULL) as disk:
            wait_until(lambda: os.path.ismount(mounted) or disk.poll() is not None, "the mount")
            if not os.path.ismount(mounted):
                return None
            try:
                subprocess.run([path_of("kinds"), spool, what, behind, mounted], check=True, timeout=PATIENCE)
            finally:
                subprocess.run(["umount", "-l", mounted], check=False, stderr=subprocess.DEVNULL)
        return report_in(spool, None)
    return start


def lays_out_text(folder):
    has_pango = subprocess.run([PYTHON, "-c", "import gi; gi.require_version('PangoCairo', '1.0')"], check=False,
                               stderr=subprocess.DEVNULL).returncode == 0
    return watched(PYTHON, "-c", TEXT, first=True)(folder) if has_pango else None


def killed_in_a_hang(folder):
    """By SIGKILL, a second after the hang's begin."""
    spool = os.path.join(folder, "spool")
    with subprocess.Popen([HANGDOG, "run", "--quiet", "--spool", spool, "--", path_of("burn"), "hang", "60"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()) as run:
        wait_until(lambda: glob.glob(os.path.join(spool, "*.json")), "the report of a hang that lasts")
        with open("/proc/%d/task/%d/children" % (run.pid, run.pid), encoding="ascii") as children:
            for child in children.read().split():
                with contextlib.suppress(FileNotFoundError), open("/proc/%s/comm" % child, encoding="utf-8") as comm:
                    if comm.read() == "burn\n":
                        os.kill(int(child), signal.SIGKILL)
    return report_in(spool, "fatal-hang")


def dumped(_):
    with subprocess.Popen([path_of("dump-target"), "deadlock"], stdout=subprocess.PIPE) as target:
        try:
            target.stdout.readline()
            text = wait_until(lambda: next(iter(re.findall("(?s).*deadlock:.*", output("dump", str(target.pid)))), None),
                              "the deadlock")
            return text, json.loads(output("dump", "--json", str(target.pid)))
        finally:
            target.kill()


RUN = "hangdog run -- "
KINDS = "kinds SPOOL "
LIBRARY = "tests/scenario/test_library_"
EVERY = [
    Shown("kind", "hang", LIBRARY + "hangs.c`: `a_hang_has_its_true_start_and_duration",
          RUN + "burn short 3", watched(path_of("burn"), "short", "3", first=True)),
    Shown("kind", "launch", LIBRARY + "hangs.c`: `a_block_before_the_first_wait_is_a_slow_launch", KINDS + "launch", linked("launch")),
    Shown("kind", "background-hang", LIBRARY + "states.c`: `in_the_background_another_threshold_and_another_kind",
          KINDS + "background", linked("background")),
    Shown("kind", "too-many-threads", "tests/cli/test_many_threads.py`: `test_eighty_threads_that_wait_for_work", RUN + "burn crowd 3",
          watched(path_of("burn"), "crowd", "3", first=True)),
    Shown("kind", "cpu", "tests/cli/test_cpu.py`: `test_a_loop_whose_short_turns_fill_a_cpu", "hangdog run --cpu 300ms -- burn main 2",
          watched(path_of("burn"), "main", "2", options=("--cpu", "300ms"), kind="cpu", first=True)),
    Shown("kind", "frame-drop", LIBRARY + "frames.c`: `a_long_frame_has_a_report", KINDS + "frame", linked("frame")),
    Shown("kind", "fatal-hang", "tests/cli/test_library.py`: `beside_one_that_is_killed_in_a_hang",
          RUN + "burn hang 60, and SIGKILL", killed_in_a_hang),
    Shown("kind", "crash", "tests/cli/test_crash.py`: `test_each_crash_has_a_report_and_happens", "hangdog run --crash -- crash heap",
          watched(path_of("crash"), "heap", options=("--crash",), kind="crash")),
    Shown("kind", "live", "tests/cli/test_dump.py`: `test_deadlock", "dump-target deadlock, and hangdog dump PID", dumped),
    Shown("kind", "pool-stall", "tests/cli/test_pool_stall.py`: `test_a_pool_of_the_programs_own", "hangdog run --loop pool -- pool 3",
          watched(path_of("pool"), "3", options=("--loop", "pool"), kind="pool-stall")),
    Shown("kind", "session", LIBRARY + "hangs.c`: `counts_what_a_cap_suppresses",
          RUN + "burn short 3", watched(path_of("burn"), "short", "3", kind="session")),
    Shown("cause", "cpu", "tests/real/test_asyncio.py`: `test_a_stop_in_a_computation_is_taken_off",
          RUN + "burn short 3", watched(path_of("burn"), "short", "3", first=True)),
    Shown("cause", "lock", LIBRARY + "locks.c`: `writes_the_owner_of_a_mutex_and_its_stack", KINDS + "lock", linked("lock")),
    Shown("cause", "disk", LIBRARY + "disk.c", "kinds SPOOL disk, in a file system that stalls",
          on_a_disk_that_stalls("disk")),
    Shown("cause", "network", LIBRARY + "kernel.c", KINDS + "network", linked("network")),
    Shown("cause", "sleep", "tests/real/test_asyncio.py`: `test_a_stop_in_a_sleep_is_taken_off",
          KINDS + "sleep", linked("sleep")),
    Shown("cause", "child", "tests/cli/test_dump.py`: `test_node_and_a_shells_child",
          KINDS + "child", linked("child")),
    Shown("cause", "page-fault", LIBRARY + "disk.c`: `memory_of_a_disk_that_stalls_is_a_page_fault",
          "kinds SPOOL page-fault, in a file system that stalls",
          on_a_disk_that_stalls("page-fault")),
    Shown("cause", "starved", "tests/cli/test_starved.py`: `test_who_computes_on_a_loaded_cpu_is_starved",
          KINDS + "starved", linked("starved")),
    Shown("cause", "ui", "tests/real/test_display.py", RUN + "python3, which lays out text by Pango", lays_out_text),
    Shown("cause", "output", "tests/unit/test_probe_blocked.c", RUN + "python3, which prints to a process that does not read",
          watched(PYTHON, "-c", PIPE)),
    Shown("cause", "gil", "tests/real/test_asyncio.py`: `test_the_interpreters_lock_is_told_and_no_other_one_as_that",
          RUN + "python3, a thread of which sums up a range in one call", watched(PYTHON, "-c", GIL)),
    Shown("cause", "gc", "tests/real/test_python_versions.py", RUN + "python3, which calls gc.collect()",
          watched(PYTHON, "-c", GC, first=True)),
    Shown("cause", "unknown", "tests/unit/test_cause.c", KINDS + "unknown", linked("unknown")),
]


EVERY += [Shown("sentence", one.name, "tests/cli/test_kinds.py", RUN + one.command,
                watched(PYTHON, "-c", one.program, first=True) if one.is_here() else lambda _: None, one.says)
          for one in SENTENCES]


def told_by(shown, report):
    if shown.group == "sentence":
        said = report.get("cause", {}).get("detail", "")
        return shown.name if re.search(shown.says, said) else said
    return report["kind"] if shown.group == "kind" else report["cause"]["kind"]


def try_once(shown):
    folder = os.path.realpath(tempfile.mkdtemp(prefix="hangdog-test-"))
    try:
        return shown.start(folder)
    except AssertionError as error:
        return error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_one(shown):
    """What is printed and the report, or an error; None: not here. A machine that has too much to do makes reports of its own:
    three tries."""
    found = None
    for _ in range(3 if shown.start else 0):
        found = try_once(shown)
        if found is None or (isinstance(found, tuple) and told_by(shown, found[1]) == shown.name):
            break
    return found


def run_every():
    """By (group, name)."""
    with ThreadPoolExecutor(5) as pool:
        return dict(zip([(shown.group, shown.name) for shown in EVERY], pool.map(run_one, EVERY)))


# ---- the page ------------------------------------------------------------------------------------------------------

PLACEHOLDERS = (
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b", "DATE TIME"),
    (r"\b\d\d:\d\d:\d\d\b", "TIME"),
    (r"\[\d+\]", "[PID]"),
    (r"\b(thread|pid|child) \d+\b", r"\1 PID"),
    (r"(?m)(?<= )\(\d+\)(?=[ ,]|$)", "(PID)"),
    (r"\bpts/\d+", "pts/NUMBER"),
    (r"(?m)^(  deadlock: |deadlock: )[\d >-]+$", r"\1PID -> PID -> PID"),
    (r"(?<=127\.0\.0\.1:)\d+", "PORT"),
    (r"0x[0-9a-f]+", "ADDRESS"),
    (r"(?<![\w.])(/[\w.+@-]+)+/(?=[\w.+@-])", "FOLDER/"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID"),
)


def for_page(text):
    """At most so many lines; what is another one in each run replaced."""
    for pattern, word in PLACEHOLDERS:
        text = re.sub(pattern, word, text)
    lines = [line.rstrip() for line in text.strip("\n").split("\n")]
    if len(lines) <= LINES:
        return lines
    del lines[LINES - 1:]
    while not lines[-1].startswith(" "):  # a title, or an empty line
        lines.pop()
    return [*lines, "  ..."]
