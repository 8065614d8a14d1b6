# SPDX-License-Identifier: MIT
#
# The table of docs/loops.md: a program for each loop, a run for each cell. tests/loops/loops.h says what the cases do.

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import typing

from support_run import BUILD, HANGDOG, MS, PATIENCE, SOURCE, TOLERANCE_NS, environment, schema_errors
from support_x_server import x_server

CASES = ("io", "timer", "idle", "nested", "two", "quiet", "cost")
NOT_POSSIBLE = 77


class Loop(typing.NamedTuple):
    name: str
    program: str  # below build/tests/loops, or a script of tests/loops
    header: str
    hook: str
    package: str = ""  # what the program needs in order to be built
    lies: tuple = ()  # cases in which the hook sees nothing: the textbook's
    display: bool = False


LOOPS = (
    Loop("hand-written `epoll`", "epoll", "epoll.h", "the wait is called between two marks"),
    Loop("hand-written `poll`, C++", "cxx", "hangdog.hpp", "the wait is a function of the program, called between two marks"),
    Loop("GLib", "glib", "glib.h", "the context's poll function", "libglib2.0-dev"),
    Loop("GTK 3", "gtk3", "glib.h", "the same, on the default context", "libgtk-3-dev", display=True),
    Loop("GTK 4", "gtk4", "glib.h", "the same", "libgtk-4-dev", display=True),
    Loop("libuv", "uv", "uv.h", "a prepare handle that waits in libuv's place", "libuv1-dev"),
    Loop("libuv, textbook", "uv-textbook", "uv.h, but `uv_run()`", "prepare and check handles", "libuv1-dev", lies=("io",)),
    Loop("libevent 2.1", "libevent", "libevent.h", "the backend's function that waits", "libevent-dev"),
    Loop("libev", "ev", "ev.h", "prepare and check watchers, last and first by priority", "libev-dev"),
    Loop("sd-event", "sd_event", "sd_event.h", "the loop's three steps, called one by one", "libsystemd-dev"),
    Loop("Qt 5", "qt5", "qt.hpp", "the poll function of GLib's context", "qtbase5-dev"),
    Loop("Qt 6", "qt6", "qt.hpp", "the same", "qt6-base-dev"),
    Loop("Qt 6 without GLib", "qt-without-glib", "qt.hpp", "`aboutToBlock`, and the first event that Qt delivers", "qt6-base-dev"),
    Loop("Qt 6, textbook", "qt-textbook", "hangdog.hpp", "`aboutToBlock` and `awake`", "qt6-base-dev", lies=("io", "timer", "idle", "nested", "two")),
    Loop("SDL 2", "sdl", "sdl.h", "functions in place of SDL's", "libsdl2-dev", display=True),
    Loop("libuv, by its waits", "uv-waits", "waits.h", "`epoll_pwait`, interposed at link time", "libuv1-dev"),
    Loop("asyncio", "asyncio_loop.py", "hangdog.py", "the selector's `select`"),
)


class NotHere(Exception):
    """The program was not built, or has no display."""


class Cell(typing.NamedTuple):
    text: str
    faults: list
    reason: str = ""  # why the case is not possible


def command_of(loop, case, spool):
    program = os.path.join(BUILD, "tests/loops", loop.program)
    if loop.program.endswith(".py"):
        return ["/usr/bin/python3", os.path.join(SOURCE, "tests/loops", loop.program), case, spool]
    if not os.path.exists(program):
        raise NotHere("%s is not built; try: apt-get install %s" % (program, loop.package))
    return [program, case, spool]


def hangs_of(spool):
    """The reports of hangs, with functions, oldest first. What the machine's load made is left out."""
    reports = []
    for name in sorted(os.listdir(spool)):
        if name.endswith(".json"):
            shown = subprocess.run([HANGDOG, "show", "--json", os.path.join(spool, name)], env=environment(), check=True, capture_output=True,
                                   text=True, timeout=PATIENCE)
            report = json.loads(shown.stdout)
            if report["kind"] not in ("session", "launch") and report["cause"]["kind"] != "starved":
                reports.append(report)
    return reports


def ms(nanoseconds):
    return "%.0f ms" % (nanoseconds / MS)


def faults_of(report, truth_ns):
    """Whether a report shows the block, and shows it truly."""
    names = [frame.get("function") or "" for frame in report["hot_stack"]["frames"]]
    if not any("block" in name for name in names):
        yield "blames %s" % names
    if not 0 <= report["duration_ns"] - truth_ns <= TOLERANCE_NS:
        yield "has %s of %s" % (ms(report["duration_ns"]), ms(truth_ns))
    yield from schema_errors(report)


def hang_cell(loop, case, reports, truths):
    if case in loop.lies:
        return Cell("**not seen**" if not reports else "seen", ["a report"] if reports else [])
    names = sorted(report["loop"]["name"] for report in reports)
    expected = ["main", "second"] if case == "two" else ["main"]
    faults = [] if names == expected else ["reports of %s" % names]
    for report, truth_ns in zip(sorted(reports, key=lambda report: report["duration_ns"]), sorted(truths)):
        faults += faults_of(report, truth_ns)
    return Cell(", ".join(ms(report["duration_ns"]) for report in reports), faults)


def cost_cell(output):
    """A watch that adds less than the rounds are apart has no figure."""
    added, spread, plain = (int(word) / 1000 for word in output.split())
    return Cell("%s of %.2f µs" % ("%+.2f" % added if added > spread else "< noise,", plain), [])


def run_case(loop, case, turns=None):
    """The cell of one loop and one case. A window has an X server to itself: other windows wake it."""
    if loop.display and not shutil.which("Xvfb"):
        raise NotHere("no X server; try: apt-get install xvfb")
    spool = tempfile.mkdtemp(prefix="hangdog-test-")
    try:
        with x_server() if loop.display else contextlib.nullcontext({}) as display:
            env = environment({"HANGDOG_BUILD": BUILD, "HANGDOG_SOURCE": SOURCE, **display, **({"TURNS": str(turns)} if turns else {})})
            done = subprocess.run(command_of(loop, case, spool), env=env, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
        if done.returncode == NOT_POSSIBLE:
            return Cell("–", [], done.stdout.strip())
        if done.returncode != 0:
            return Cell("", ["status %d: %s" % (done.returncode, done.stderr)])
        if case == "quiet":
            return Cell(done.stdout.strip(), [] if done.stdout == "0\n" and not hangs_of(spool) else ["%s wake-ups, or a report" % done.stdout.strip()])
        return cost_cell(done.stdout) if case == "cost" else hang_cell(
            loop, case, hangs_of(spool), [int(line) for line in done.stdout.split()])
    finally:
        shutil.rmtree(spool, True)
