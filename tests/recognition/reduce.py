# SPDX-License-Identifier: MIT
"""From the recorder's log and the marks to a recording: small numbers instead of addresses, one letter of truth."""
import re

SHORT_NS = 50_000_000
LINES_MAX = 1500
FRAMES = 5
# What the rule before the present one knew: `side_by_side` replays it.
OLD_REQUESTS = {"xcb_wait_for_reply", "xcb_wait_for_reply64", "xcb_wait_for_special_event", "xcb_request_check", "xcb_writev",
                "xcb_flush", "xcb_connect_to_fd", "_XReply", "_XSend", "_XFlush", "wl_display_roundtrip",
                "wl_display_roundtrip_queue"}
LETTER = {"start": "S", "idle": "I", "busy": "B", "none": "N", "over": "O"}
FIELDS = re.compile(r"^w (\d+) (\d+) (\d+) (\d+) (-?\d+) (\w+) (-?\d+)(?: closed=(\S*))? set=(\S*) kinds=(\S*) asks=(\d) enclosed=(\d)"
                    r" root=(\d) place=(\w+) sp=(\w+) stack=(.*)$")


class Wait:
    def __init__(self, line):
        m = FIELDS.match(line)
        if m is None:
            raise ValueError(f"not a wait: {line[:80]}")
        self.begin, self.end, self.cpu_begin, self.cpu_end, self.result = (int(m[i]) for i in range(1, 6))
        self.function = m[6]
        self.timeout_us = int(m[7])
        self.closed = m[8].split(",") if m[8] else []
        self.set = m[9].split(",") if m[9] else []
        self.kinds = m[10]
        self.asks = int(m[11])
        self.enclosed = m[12]
        self.whole = int(m[13])
        self.place = m[14]
        self.sp = int(m[15], 16)
        self.frames = [f.rsplit(":", 1)[0] for f in m[16].split(";")]
        if self.asks == 1 and not OLD_REQUESTS & {f.rpartition("=")[2] for f in self.frames}:
            self.asks = 3


class Truth:
    """The state that the marks give for a moment: the innermost mark around it, else what holds since."""

    def __init__(self, text):
        self.events = []
        for line in text.splitlines():
            at, kind, state, *_ = line.split()
            self.events.append((int(at), kind, LETTER[state]))
        self.events.sort(key=lambda e: e[0])

    def at(self, ns):
        base, inner = "S", []
        for at, kind, letter in self.events:
            if at > ns:
                break
            if kind == "from":
                base = letter
            elif kind == "begin":
                inner.append(letter)
            elif inner:
                inner.pop()
        return inner[-1] if inner else base


def read_log(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return [Wait(line.rstrip("\n")) for line in f if line.startswith("w ")]


class Numbers:
    """Small numbers in the order of first sight."""

    def __init__(self):
        self.of = {}

    def __call__(self, key):
        return self.of.setdefault(key, len(self.of) + 1)


def object_name(numbers, text):
    return ("E" if text[0] in "eTS" else "") + str(numbers(text))


def short_name(frame):
    """Module and function, or module and address where the function is not exported."""
    place, _, function = frame.partition("=")
    return place.rpartition("+")[0] + "=" + function if function else place


def same_kind(a, b):
    return (a["key"] == b["key"] and a["short"] and b["short"] and b["blocked"] < 1000)


def lines_of(waits, truth, plan):
    objects, places = Numbers(), Numbers()
    top = max((w.sp for w in waits), default=0)
    first = waits[0].begin if waits else 0
    out, pending, before = [], None, None

    def flush():
        if pending is not None:
            out.append("w {begin} {blocked} {took} {n} {timeout} {truth} {asks} {place} {set} {kinds}".format(**pending))

    for w in waits:
        known = len(places.of)
        place = places(w.place)
        letter = plan.truth(w, truth.at(w.begin)) if plan.truth else truth.at(w.begin)
        objs = ",".join(object_name(objects, t) for t in w.set) or "-"
        gap = 0 if before is None else max(0, (w.begin - before.end) - (w.cpu_begin - before.cpu_end))
        timeout = -1 if w.timeout_us < 0 else (0 if w.timeout_us == 0 else max(1, w.timeout_us // 1000))
        now = {"begin": (w.begin - first) // 1000, "blocked": gap // 1000, "took": (w.end - w.begin) // 1000,
               "n": 1, "timeout": timeout, "truth": letter, "asks": w.asks, "place": place, "set": objs, "kinds": w.kinds}
        now["short"] = w.end - w.begin < SHORT_NS and (timeout != 0 or w.end - w.begin < 1_000_000)
        now["key"] = (letter, w.asks, place, objs, w.kinds, timeout == 0)
        closed = [object_name(objects, t) for t in w.closed if t in objects.of]
        if pending is not None and same_kind(pending, now) and not closed:
            pending["took"] += now["took"]
            pending["blocked"] += now["blocked"]
            pending["n"] += 1
        else:
            flush()
            pending = now
            out.extend(["c " + ",".join(closed)] if closed else [])
        if len(places.of) > known:
            frames = ";".join(short_name(f) for f in w.frames[:FRAMES])
            depth = len(w.frames) if w.whole else 0
            out.append(f"p {place} {top - w.sp} {depth} {w.function} {frames} {w.enclosed}")
        before = w
        if len(out) >= LINES_MAX:
            break
    flush()
    return out


def reduce_run(run, plan):
    waits = read_log(run.log) if run.log.exists() else []
    truth = Truth(run.marks.read_text(encoding="ascii"))
    lines = lines_of(waits, truth, plan)
    head = ["# SPDX-License-Identifier: MIT",
            f"# program: {plan.what}",
            f"# versions: {plan.versions()}",
            f"# done: {plan.did}",
            *(f"# ran: {c}" for c in run.commands()),
            f"# made by: tests/recognition/record.py {run.name}",
            *([f"# wrong: {plan.wrong}"] if plan.wrong else []),
            f"# waits: {len(waits)}" + (", cut" if len(lines) >= LINES_MAX else "")]
    return "\n".join(head + lines) + "\n"
