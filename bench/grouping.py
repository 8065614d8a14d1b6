#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Groups of known bugs: programs with 78 bugs, each built in 24 ways, hang under `hangdog run`; their reports go to a collector.
Each false split and merge, then one line a figure: the share of reports in their bug's largest group, and groups that mix two bugs.
Two sets: of bugs that the rule was made on, and of bugs that only its last version has seen. A third, small one is for a test.
usage: bench/grouping.py [--build DIR] [--set right|held_out|small]... [--ways N] [--lanes N] [--keep DIR] [--score-only]"""

import argparse
import collections
import concurrent.futures
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import typing

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "grouping")


class Set(typing.NamedTuple):
    """The truth: a line an app; each event is a bug of its own."""
    compute: dict
    wait: dict  # these run side by side


SETS = {
    # The rule was made on these.
    "right": Set(
        {
            "editor": "search resize sort filter save verify theme scroll compile load browse paste insert print complete autosave",
            "viewer": "zoom arrange tag find blur thumb",
            "panel": "icons menu",
            "notes": "render index tree",
            "feed": "refresh filter",
        }, {
            "editor": "hover preview export build retry link sync quit project",
            "viewer": "album",
            "panel": "battery",
            "notes": "fetch",
            "feed": "hook",
        }),
    # These were written after it, and their truth before they ran.
    "held_out": Set(
        {
            "shop": "report rank pack undo redo open close send store price stock",
            "player": "scan tags seek skip lyrics titles covers",
            "bot": "reply history stats plan export spell",
            "site": "login signup page search cart archive",
        }, {
            "shop": "shelf",
            "player": "volume mute stop",
            "bot": "ask",
            "site": "wait",
        }),
    # Of both, for a test: pairs of bugs that share most of their path. None of a script: on a busy machine its start is a hang.
    "small": Set({"editor": "save verify theme scroll", "player": "lyrics titles seek", "panel": "battery"}, {}),
}
LTO, FP, NO_INLINE, SECTIONS = "-flto", "-fno-omit-frame-pointer", "-fno-inline", "-ffunction-sections"
# compiler, optimisation, names, one more option, version of the source
WAYS = [
    ("gcc", "-O0", "-g", "", 1), ("clang", "-O2", "-g", "", 1), ("gcc", "-O2", "-g", "", 2), ("gcc", "-O2", "symtab", "", 1),
    ("clang", "-O0", "-g", "", 3), ("gcc", "-O3", "-g", "", 4), ("clang", "-O2", "symtab", "", 2), ("gcc", "-Os", "-g", "", 5),
    ("gcc", "-O1", "-g", FP, 3), ("clang", "-O3", "-g", FP, 4), ("gcc", "-O2", "-g", LTO, 1), ("clang", "-O1", "-g", "", 5),
    ("gcc", "-O0", "symtab", "", 2), ("gcc", "-O2", "-g", NO_INLINE, 5), ("clang", "-Os", "-g", "", 2), ("gcc", "-O3", "symtab", FP, 3),
    ("gcc", "-O3", "-g", LTO, 5), ("clang", "-O2", "-g", LTO, 3), ("gcc", "-O2", "symtab", NO_INLINE, 4), ("clang", "-O3", "symtab", "", 5),
    ("gcc", "-Os", "symtab", "", 1), ("gcc", "-O2", "symtab", LTO, 2), ("clang", "-O0", "symtab", FP, 4), ("gcc", "-O1", "-g", SECTIONS, 2),
]
SOURCES = {"editor": ["editor.c", "editor_computes.c", "editor_waits.c"], "viewer": ["viewer.cc"], "panel": ["panel.c"],
           "shop": ["held_out/shop.cc"], "player": ["held_out/player.c"]}
LIBRARIES = {"editor": ["-lpthread", "-lresolv"], "viewer": ["-lpthread"], "panel": ["-l:libglib-2.0.so.0"],
             "shop": ["-lpthread", "-lz"], "player": ["-lpthread", "-l:libglib-2.0.so.0"]}
PYTHON, NODE = "/usr/bin/python3", "/usr/bin/node"
SCRIPTS = {"notes": (PYTHON, "notes.py"), "feed": (NODE, "feed.js"), "bot": (PYTHON, "held_out/bot.py"),
           "site": (NODE, "held_out/site.js")}
ADDED = {PYTHON: "def added_%d(text):\n    # moves what follows\n    return text.upper()\n",
         NODE: "function added%d(text) {\n    // moves what follows\n    return text.toUpperCase();\n}\n"}


def build_program(app, way, folder):
    compiler, level, names, option, version = way
    plus = SOURCES[app][0].endswith(".cc")
    compiler = {"gcc": "g++", "clang": "clang++"}[compiler] if plus else compiler
    flags = ["-std=c++17" if plus else "-std=gnu11", "-w", level, "-DVERSION=%d" % version]
    flags += ["-D_GNU_SOURCE"] + (["-g"] if names == "-g" else []) + ([option] if option else [])
    program = os.path.join(folder, app)
    subprocess.run([compiler, *flags, "-o", program, *(os.path.join(HERE, name) for name in SOURCES[app]), *LIBRARIES[app]], check=True)
    return [program]


def build_script(app, way, folder):
    interpreter, name = SCRIPTS[app]
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        parts = file.read().split("%s MORE\n" % ("#" if interpreter == PYTHON else "//"))
    version, text = way[4], parts[0]
    for i, part in enumerate(parts[1:]):
        text += "".join(ADDED[interpreter] % (10 * i + n) + "\n\n" for n in range(version - 1)) + part
    if version in (3, 5):
        text = text.replace("over", "isTimeUp")
    script = os.path.join(folder, os.path.basename(name))
    with open(script, "w", encoding="utf-8") as file:
        file.write(text)
    return [interpreter, script]


def build_all(ways, folder, apps):
    """{(app, number of the way): command}"""
    def one(app, number):
        into = os.path.join(folder, "way-%d" % number)
        os.makedirs(into, exist_ok=True)
        return (app, number), (build_program if app in SOURCES else build_script)(app, ways[number], into)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(pool.map(lambda job: one(*job), [(app, number) for app in apps for number in range(len(ways))]))


def bug_of(spool):
    """The id of the report of its bug: its first hang of that length, since a program may hang again when it ends. None: there is
    none, or it has no sample: on a busy machine a program may hang before the monitor looks for the first time."""
    hangs = []
    for name in os.listdir(spool) if os.path.isdir(spool) else []:
        if name.endswith(".json"):
            with open(os.path.join(spool, name), encoding="utf-8") as file:
                report = json.load(file)
            if report["kind"] == "hang" and report["duration_ns"] >= 150000000:
                hangs.append((report["started_at"], report["id"], report["samples"]["taken"]))
    _, bug, samples = min(hangs, default=("", "", 0))
    return bug if samples > 0 else None


def run_one(build, command, app, event, spool, scratch):
    """The id of its bug's report, None where there was none in three tries."""
    for _ in range(3):
        shutil.rmtree(spool, ignore_errors=True)
        subprocess.run([os.path.join(build, "bin/hangdog"), "run", "--quiet", "--threshold", "60ms", "--interval", "10ms", "--name", app,
                        "--spool", spool, "--", *command, event], check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env={**os.environ, "EDITOR_FOLDER": scratch}, timeout=60)
        bug = bug_of(spool)
        if bug is not None:
            return bug
    return None


def run_all(build, commands, bugs, ways, folder, lanes):
    """{id of a report: (bug, number of the way)}"""
    truth, missing = {}, []
    def one(job):
        app, event, number = job
        spool = os.path.join(folder, "runs", "%s-%s-%d" % (app, event, number))
        return job, run_one(build, commands[app, number], app, event, spool, folder)
    for waits, count in ((False, lanes), (True, 6)):
        jobs = [(app, event, number) for app, event, w in bugs if w == waits for number in range(len(ways))]
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            for (app, event, number), bug in pool.map(one, jobs):
                if bug is not None:
                    truth[bug] = ("%s %s" % (app, event), number)
                else:
                    missing.append("%s %s, %s" % (app, event, " ".join(map(str, ways[number]))))
    return truth, missing


def collect(build, truth, folder):
    """Sends the reports of the truth to a collector with a new store."""
    spool, store = os.path.join(folder, "spool"), os.path.join(folder, "store.db")
    os.makedirs(spool)
    for run in sorted(os.listdir(os.path.join(folder, "runs"))):
        for name in os.listdir(os.path.join(folder, "runs", run)):
            if name.endswith(".json") and name[:-5] in truth:
                shutil.copy(os.path.join(folder, "runs", run, name), spool)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = "127.0.0.1:%d" % free.getsockname()[1]
    hangdog, log = os.path.join(build, "bin/hangdog"), os.path.join(folder, "log")
    with open(log, "wb") as to, subprocess.Popen([hangdog, "serve", "--listen", address, "--store", store], stdout=to, stderr=to) as server:
        key = ""
        while server.poll() is None and not key:
            time.sleep(0.1)
            with open(log, encoding="utf-8") as text:
                if "collecting at" not in text.read():
                    continue
            with open(store + ".first-keys", encoding="utf-8") as text:
                key = text.read().partition("HANGDOG_KEY=")[2].partition(" ")[0]
        subprocess.run([hangdog, "upload", "--to", "http://" + address, "--spool", spool], env={**os.environ, "HANGDOG_KEY": key}, check=True)
        server.terminate()
    return store


LEAST = {"small": 95}  # of 48 reports a busy machine may spoil two


def score(figure, store, truth, ways, missing):
    """The set's figures. True where they meet their targets."""
    with sqlite3.connect(store) as db:
        grouped = dict(db.execute("SELECT id, grouped FROM report"))
        path = dict(db.execute("SELECT fingerprint, path FROM grouped"))
    of_bug, of_group = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    places = collections.defaultdict(list)
    for report, (bug, number) in truth.items():
        group = grouped.get(report)
        of_bug[bug][group] += 1
        of_group[group][bug] += 1
        places[bug, group].append(" ".join(map(str, ways[number])))
    right = sum(groups.most_common(1)[0][1] for groups in of_bug.values())
    merged = {group: bugs for group, bugs in of_group.items() if len(bugs) > 1}
    lone = sum(len(groups) == 1 for groups in of_bug.values())
    for bug, groups in sorted(of_bug.items()):
        for group, count in groups.most_common()[0 if len(groups) > 1 else 1:]:
            print("split: %s, %d reports: %s" % (bug, count, path.get(group, "?").strip().replace("\n", " | ")))
            if group != groups.most_common(1)[0][0]:
                print("         by " + "; ".join(places[bug, group]))
    for group, bugs in merged.items():
        print("merge: %s: %s" % (dict(bugs), path.get(group, "?").strip().replace("\n", " | ")))
    for run in missing:
        print("without a report: " + run)
    share, least = 100 * right / max(1, len(truth)), LEAST.get(figure, 98)
    part = "" if figure == "right" else figure + "_"
    for name, value, unit, target, ok in (
            (figure, round(share, 2), "%", least, share >= least),
            (part + "merged", len(merged), "groups", 0, not merged),
            (part + "whole", lone, "bugs", None, True), (part + "bugs", len(of_bug), "bugs", None, True),
            (part + "reports", len(truth), "reports", None, True)):
        print(json.dumps({"name": "grouping." + name, "value": value, "unit": unit, "target": target, "ok": ok, "peer": None,
                          "peer_value": None}), flush=True)
    return share >= least and not merged


def measure(figure, o, folder):
    """True where the set's figures meet their targets."""
    build, ways, chosen = os.path.abspath(o.build), WAYS[:o.ways], SETS[figure]
    bugs = [(app, event, waits) for waits, table in ((False, chosen.compute), (True, chosen.wait)) for app in table
            for event in table[app].split()]
    truth_file = os.path.join(folder, "truth.json")
    if not o.score_only:
        os.makedirs(folder, exist_ok=True)
        commands = build_all(ways, folder, sorted({app for app, _, _ in bugs}))
        truth, missing = run_all(build, commands, bugs, ways, folder, o.lanes)
        with open(truth_file, "w", encoding="utf-8") as file:
            json.dump([truth, missing], file)
        collect(build, truth, folder)
    with open(truth_file, encoding="utf-8") as file:
        truth, missing = json.load(file)
    return score(figure, os.path.join(folder, "store.db"), truth, ways, missing)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--set", choices=SETS, action="append")
    parser.add_argument("--ways", type=int, default=len(WAYS))
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("--keep")
    parser.add_argument("--score-only", action="store_true")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        return 0 if all([measure(figure, o, os.path.join(o.keep or folder, figure)) for figure in o.set or ("right", "held_out")]) else 1


if __name__ == "__main__":
    sys.exit(main())
