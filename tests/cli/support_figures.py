# SPDX-License-Identifier: MIT
#
# What must be true of the figures of every report: no part of a hang is longer than the hang.

import re

IMPOSSIBLE = re.compile(r"(?<![\w.-])-\d+(\.\d+)? ?(us|ms|s|min|h|samples?|hangs?|waits?|times?|turns?|threads?)\b|\d{4}%")


def wrong_tree(tree, duration_ns):
    nodes = tree["nodes"]
    below = [0] * len(nodes)
    roots = 0
    for node in nodes:
        if node["parent"] < 0:
            roots += node["time_ns"]
        else:
            below[node["parent"]] += node["time_ns"]
    yield from ("tree node %d has %d ns of %d" % (i, node["time_ns"], duration_ns)
                for i, node in enumerate(nodes) if node["time_ns"] > duration_ns)
    yield from ("the callees of tree node %d have %d ns, it has %d" % (i, below[i], node["time_ns"])
                for i, node in enumerate(nodes) if below[i] > node["time_ns"])
    if roots > duration_ns:
        yield "the roots of the tree have %d ns of %d" % (roots, duration_ns)


def wrong_timeline(timeline, duration_ns, until_ns):
    before_ns = 0
    for i, sample in enumerate(timeline):
        if sample["at_ns"] < before_ns:
            yield "sample %d is at %d ns, the one before ends at %d" % (i, sample["at_ns"], before_ns)
        before_ns = sample["at_ns"] + sample["for_ns"]
        if before_ns > until_ns:
            yield "sample %d, at %d ns for %d, ends after %d" % (i, sample["at_ns"], sample["for_ns"], until_ns)
    all_ns = sum(sample["for_ns"] for sample in timeline)
    if all_ns > duration_ns:
        yield "the samples have %d ns of %d" % (all_ns, duration_ns)


def shares(value, name=""):
    if isinstance(value, dict):
        for key, part in value.items():
            yield from shares(part, key)
    elif isinstance(value, list):
        for part in value:
            yield from shares(part)
    elif name == "share":
        yield value


def wrong_figures(report):
    """What is wrong with a report of a hang, a launch, a long frame: sentences."""
    duration_ns = report["duration_ns"]
    samples, cause, monitor = (report.get(name, {}) for name in ("samples", "cause", "monitor"))
    parts = {"hot_stack": report.get("hot_stack", {}).get("duration_ns", 0),
             "background": report.get("loop", {}).get("background_ns", 0),
             "pauses": monitor.get("pause_total_ns", 0),
             **{name: cause.get(name, 0) for name in ("run_delay_ns", "throttled_ns", "memory_stall_ns", "cpu_stall_ns", "io_stall_ns")}}
    wrong = ["%s: %d ns of %d" % (name, ns, duration_ns) for name, ns in parts.items() if ns > duration_ns]
    wrong += wrong_tree(samples.get("tree", {"nodes": []}), duration_ns)
    wrong += wrong_timeline(samples.get("timeline", []), duration_ns, duration_ns + report.get("excluded_ns", 0))
    wrong += ["a share of %s" % share for share in shares(report) if not 0 <= share <= 1]
    # jiffies of 10 ms are the kernel's figures of a thread
    wrong += ["thread %d used %s%% of a CPU" % (thread["tid"], thread["cpu_percent"])
              for thread in report.get("threads", []) if thread.get("cpu_percent", 0) > 110]
    if monitor.get("pause_max_ns", 0) > monitor.get("pause_total_ns", 0):
        wrong.append("the longest pause is %d ns, all are %d" % (monitor["pause_max_ns"], monitor["pause_total_ns"]))
    return wrong
