# SPDX-License-Identifier: MIT
"""Plans for the programs of tests/real: first tries, sick and desktop programs, freezes without an end, programs without a loop.

Their freezes come from what they print. Outside of a freeze they idle: a wait of 50 ms or more is the loop's, and a shorter one is
not judged.
"""
import contextlib
import os
import pathlib
import pty
import shlex
import sys
import threading
import time

from plans import plan
from plans_scripts import x_server
from plans_servers import in_terminal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "real"))
import support_seen  # noqa: E402
import test_desktop  # noqa: E402
import test_first_tries  # noqa: E402
import test_freezes  # noqa: E402
import test_no_loop  # noqa: E402
import test_sick  # noqa: E402

JUDGED_NS, FROZEN_S, END_S = 50_000_000, 1, 120
EARLY_NS, LATE_NS = 10_000_000, 50_000_000  # how far what a program prints may be from what it says
WAIT_MIN_MS = 60  # a loop's wait in a sick program, so that it is judged


def seen_truth(wait, letter):
    if any(frame.endswith("=Tcl_Sleep") for frame in wait.frames):
        return "B"  # Tcl sleeps by select, also in a freeze that is too short for a mark
    return "S" if wait.end - wait.begin < JUDGED_NS else letter


def mark_freezes(run, tried, froze, lasts_since_ns):
    """The loop waits again at a freeze's end, and what is printed then arrives later: a mark ends before. A short freeze needs
    none, since it waits for nothing. The loop begins to wait as long before the first freeze as the schedule says."""
    first_ms = next((int(step) for step in tried.arguments.split() if step.isdigit()), None)
    first_ns = min([at_ns - took_ns for at_ns, took_ns in froze] + [lasts_since_ns or time.monotonic_ns()])
    idle_ns = first_ns - first_ms * 1_000_000 - EARLY_NS if first_ms else 0
    with open(run.marks, "a", encoding="ascii") as marks:
        marks.write(f"{idle_ns} from idle -\n")
        for at_ns, took_ns in froze:
            if took_ns > 10 * LATE_NS:
                marks.write(f"{at_ns - took_ns - EARLY_NS} begin busy -\n{at_ns - LATE_NS} end busy -\n")
        if lasts_since_ns:
            marks.write(f"{lasts_since_ns - LATE_NS} begin busy -\n")


def lines_of(terminal):
    """Until the program ends."""
    with open(terminal, encoding="utf-8") as lines, contextlib.suppress(OSError):
        yield from lines


def drive_seen(run, tried, ends=True):
    if os.path.splitext(tried.source)[1] in (".c", ".cc"):
        support_seen.build(tried.source, str(run.folder))
    argv = support_seen.command(tried, str(run.folder), str(run.folder))
    why = support_seen.lacks(tried, argv)
    if why:
        raise RuntimeError(why)
    ours, its = pty.openpty()  # a program writes to a terminal line by line
    process = run.record(argv, stdout=its)
    os.close(its)
    freezes, froze, lasts_since_ns = 0, [], 0
    watchdog = threading.Timer(END_S, process.kill)
    watchdog.start()
    for line in lines_of(ours):
        at_ns, words = time.monotonic_ns(), line.split()
        freezes += words[:1] == ["freezes"]
        if words[:1] == ["froze"]:
            froze.append((at_ns, int(words[1])))
        if not ends and freezes == tried.arguments.count(":"):
            lasts_since_ns = at_ns
            time.sleep(FROZEN_S)
            process.kill()
    watchdog.cancel()
    if process.wait() != 0 and ends:
        raise RuntimeError(f"it ended with {process.returncode}")
    mark_freezes(run, tried, froze, lasts_since_ns)


def add_seen(kind, what, tries, ends=True, on_x=False):
    for key, tried in tries.items():
        def drive(run, tried=tried):
            if on_x:
                x_server(run)
                run.env.update(NO_AT_BRIDGE="1", GTK_A11Y="none", DBUS_SESSION_BUS_ADDRESS="disabled:")
            drive_seen(run, tried, ends)
        plan(f"{kind}-{key.replace('_', '-')}", f"tests/real/test_{what}.py: {key}", tried.arguments or "freezes for 2 s",
             truth=seen_truth)(drive)


def longer(tried):
    """The same share of time blocked, and waits that are long enough."""
    steps = tried.arguments.split()
    factor = max(1, WAIT_MIN_MS / int(steps[0]))
    scaled = [f"{round(int(step) * factor)}" if ":" not in step else f"{step.split(':')[0]}:{round(int(step.split(':')[1]) * factor)}"
              for step in steps]
    return tried._replace(arguments=" ".join(scaled))


add_seen("first", "first_tries", test_first_tries.TRIES)
add_seen("sick", "sick", {key: longer(tried) for key, tried in test_sick.TRIES.items()})
add_seen("desktop", "desktop", test_desktop.TRIES, on_x=True)
add_seen("freeze", "freezes", {key: each.tried for key, each in test_freezes.FREEZES.items()}, ends=False)


def add_no_loop(key, line, text):
    @plan(f"no-loop-{key.replace('_', '-')}", f"tests/real/test_no_loop.py: {key}", "no loop")
    def drive(run):
        run.mark("from idle -" if key == "tail" else "from none -")  # tail waits for inotify as a loop does
        test_no_loop.fill(str(run.folder), text)
        with contextlib.ExitStack() as stack:
            others = stack.enter_context(test_no_loop.others(str(run.folder)))
            typed = line
            for word, value in others.items():
                typed = typed.replace(word, str(value))
            argv = shlex.split(typed)
            if key in test_no_loop.ON_A_TERMINAL:
                process, terminal = in_terminal(run, argv, env={"TERM": "vt100"})
                stack.callback(os.close, terminal)
            else:
                process = run.record(argv)
            process.wait(END_S)


HAVE_A_LOOP_FIRST = ("asyncio_first", "glib_first")
for each, (typed_line, script) in test_no_loop.SCRIPTS.items():
    if each not in HAVE_A_LOOP_FIRST:
        add_no_loop(each, typed_line, script)
for each, typed_line in [*test_no_loop.COMMANDS.items(), *test_no_loop.ON_A_TERMINAL.items()]:
    add_no_loop(each, typed_line, None)
