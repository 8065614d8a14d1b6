# SPDX-License-Identifier: MIT
"""`hangdog export`: each format is read by a reader that others wrote. One report is of a real hang, one is hostile."""

import atexit
import datetime
import json
import os
import pty
import re
import shutil
import subprocess
import tempfile
import threading
import unittest
import uuid

from support_fleet import WAITS_FOR_LOCK, small_report
from support_readers import FirefoxProfiler, node, package
from support_run import HANGDOG, PATIENCE, Program, environment, main_side_by_side, need_terminal

APP = WAITS_FOR_LOCK + """
wait(8)
lookup()
wait(6)
"""
NAMES = ["a;b 7", "two\nlines\r\n", "<script>alert(1)</script>", "quote\" back\\slash", "caf\u00e9 \U0001f600 \u2028", "\x1b[31mred\x7f\u009b",
         "\u202exe.\u2066gnp", ""]


def export(*arguments, status=0):
    """What `hangdog export` writes, as bytes."""
    done = subprocess.run([HANGDOG, "export", *map(str, arguments)], capture_output=True, timeout=2 * PATIENCE, check=False,
                          env=environment())
    if done.returncode != status:
        raise AssertionError("status %d: %s" % (done.returncode, done.stderr.decode(errors="replace")))
    return done.stdout if status == 0 else done.stderr.decode()


def hostile_report():
    """Names that are syntax in each format, numbers out of range, indices of nothing."""
    frames = [{"pc": "0x%x" % (0x1010 + i), "module": 0, "function": name, "file": "/src/%s.c" % name, "line": i}
              for i, name in enumerate(NAMES)]
    frames += [{"pc": "none", "module": 10 ** 6, "function": 7, "line": -1}, {}, {"pc": "0xffffffffffffffff", "offset": "0x-1"}]
    deep = [{"pc": "0x1", "function": "deep"}] * 10000
    nodes = [{"frame": 0, "parent": -1, "time_ns": 2 ** 62}, {"frame": 1, "parent": 0, "time_ns": 2 ** 61},
             {"frame": 99, "parent": 1, "time_ns": -5}, {"frame": 2, "parent": 3, "time_ns": 2 ** 62}, {"frame": -1, "parent": 7}]
    return small_report(
        app={"name": "shop;\n<b>", "pid": -1, "version": "1 2\n3"}, duration_ns=2 ** 63 - 1, started_at="never",
        loop={"name": "ma;in\n 5", "tid": 71}, modules=[{"path": "/opt/s;h\"op\n", "base": "0x-1", "size": -4, "build_id": "xyz"}, 7],
        hot_stack={"frames": frames}, cause={"kind": "cpu", "detail": "<i>\n"},
        samples={"interval_ns": -1, "tree": {"frames": frames[:4], "nodes": nodes}, "stacks": [{"frames": frames}, {"frames": deep}, 7],
                 "timeline": [{"at_ns": 0, "for_ns": 2 ** 62, "stack": 0}, {"at_ns": -9, "for_ns": 2 ** 62, "stack": 1},
                              {"at_ns": 2 ** 62, "for_ns": 2 ** 62, "stack": 99}, {"stack": -1}, 7]},
        threads=[{"tid": 72, "name": "w;\n1", "stack": {"frames": frames}}, {"tid": -3, "stack": {"frames": deep}}, {"tid": 4}, "x"])


class Spool:
    """A spool with the report of a real hang, and one with the hostile report."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="hangdog-test-")
        app = os.path.join(self.folder, "shop.py")
        with open(app, "w", encoding="ascii") as file:
            file.write(APP)
        self.program = Program(["/usr/bin/python3", app])
        self.program.wait()
        (self.report,) = self.program.reports("hang")
        self.real = self.program.spool
        self.hostile = os.path.join(self.folder, "hostile")
        os.makedirs(self.hostile)
        report = hostile_report()
        with open(os.path.join(self.hostile, report["id"] + ".json"), "w", encoding="ascii") as file:
            json.dump(report, file)

    def close(self):
        self.program.close()
        shutil.rmtree(self.folder, ignore_errors=True)


_SHARED, _LOCK = [], threading.Lock()


def shared_spool():
    """One that the tests share; it ends with them."""
    with _LOCK:
        if not _SHARED:
            _SHARED.append(Spool())
            atexit.register(_SHARED[0].close)
        return _SHARED[0]


class Export(unittest.TestCase):
    def setUp(self):
        self.spool = shared_spool()

    def real(self, form, *more):
        return export("--format", form, "--spool", self.spool.real, *more)

    def hostile(self, form, *more):
        text = export("--format", form, "--spool", self.spool.hostile, *more)
        if form != "pprof":  # its texts are not for a terminal
            self.assertEqual([], re.findall("[\x7f\u202a-\u202e\u2066-\u2069]", text.decode()))
        return text

    def assert_hang(self, ns):
        """The time of `lookup` is the hang's, to two samples."""
        self.assertAlmostEqual(ns / 1e9, self.spool.report["duration_ns"] / 1e9, delta=0.3)


class Text(Export):
    def test_a_report_as_text(self):
        text = self.real("text").decode()
        self.assertRegex(text, r"(?m)^Process: +shop\.py \[\d+\]$")
        self.assertRegex(text, r"(?m)^Cause: +waited for ")
        self.assertRegex(text, r"(?m)^Thread \d+ .*\n( +\d+  .*\n)+ +1[0-5]\d\d  lookup .*shop\.py:\d+")
        self.assertIn("compact_log (shop.py:", text)
        self.assertRegex(text, r"(?m)^ +0x[0-9a-f]+ - +0x[0-9a-f]+  libc\.so\.6 <[0-9a-f]{40}> /")
        self.assertEqual(text, export("--spool", self.spool.real).decode(), "text is what is usual")

    def test_a_hostile_report_has_no_line_of_its_own(self):
        text = self.hostile("text").decode()
        self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\x7f]|(?m:^lines)")
        self.assertIn("<script>alert(1)</script>", text)


class Collapsed(Export):
    def read(self, text):
        """{stack: ns}, as flamegraph.pl reads it: the last word of a line is the count."""
        stacks = {}
        for line in text.decode().split("\n")[:-1]:
            match = re.fullmatch(r"([^\x00-\x1f]+) (\d+)", line)
            self.assertIsNotNone(match, line)
            self.assertNotIn(match[1], stacks)
            stacks[tuple(match[1].split(";"))] = int(match[2])
        return stacks

    def test_a_hang(self):
        stacks = self.read(self.real("collapsed"))
        self.assert_hang(sum(ns for stack, ns in stacks.items() if "lookup" in stack))
        others = {stack[1] for stack in stacks if "compact_log" in stack}
        self.assertEqual(1, len(others))
        self.assertEqual(set(), others & {stack[1] for stack in stacks if "lookup" in stack}, "threads are apart")
        self.assertEqual({"shop.py"}, {stack[0] for stack in stacks})
        self.assertEqual({"_start"}, {stack[2] for stack in stacks if "lookup" in stack}, "the outermost comes first")

    def test_a_hostile_report(self):
        stacks = self.read(self.hostile("collapsed"))
        (stack,) = [stack for stack in stacks if stack[1] == "ma:in? 5" and "a:b 7" in stack]
        self.assertEqual(("shop:?<b>", "ma:in? 5"), stack[:2])
        self.assertEqual(len(NAMES) + 3, len(stack) - 2)
        self.assertIn("<script>alert(1)</script>", stack)
        self.assertIn("two?lines??", stack)


class Speedscope(Export):
    """Against the schema of speedscope's package."""

    def read(self, text):
        import jsonschema  # pylint: disable=import-outside-toplevel
        profile = json.loads(text)
        folder = package("speedscope/dist/release")
        with open(os.path.join(folder, "file-format-schema.json"), encoding="utf-8") as file:
            jsonschema.validate(profile, json.load(file))
        for one in profile["profiles"]:
            self.assertEqual(len(one["samples"]), len(one["weights"]))
            self.assertGreaterEqual(min(one["weights"]), 0)
            self.assertTrue(all(0 <= i < len(profile["shared"]["frames"]) for stack in one["samples"] for i in stack))
        return profile

    def test_a_hang(self):
        profile = self.read(self.real("speedscope"))
        names = [frame["name"] for frame in profile["shared"]["frames"]]
        main, *others = profile["profiles"]
        self.assert_hang(sum(ns for stack, ns in zip(main["samples"], main["weights"]) if names.index("lookup") in stack))
        self.assertEqual(main["endValue"], sum(main["weights"]))
        self.assertEqual({"_start"}, {names[stack[0]] for stack in main["samples"] if stack}, "the outermost comes first")
        self.assertIn(names.index("compact_log"), [i for other in others for stack in other["samples"] for i in stack])
        self.assertRegex(main["name"], r"^shop\.py, \w+: hang of 1\.\d s$")

    def test_a_hostile_report(self):
        names = {frame["name"] for frame in self.read(self.hostile("speedscope"))["shared"]["frames"]}
        self.assertLessEqual(set(NAMES) - {""}, names)


class Pprof(Export):
    """By pprof-format's decoder."""

    READ = """
        const {Profile} = require("pprof-format"), zlib = require("zlib"), fs = require("fs");
        const p = Profile.decode(zlib.gunzipSync(fs.readFileSync(process.argv[1])));
        const text = i => p.stringTable.strings[Number(i)], by = list => new Map(list.map(one => [Number(one.id), one]));
        const functions = by(p.function), locations = by(p.location), mappings = by(p.mapping);
        const frame = id => {
            const l = locations.get(Number(id)), f = functions.get(Number(l.line[0].functionId)), m = mappings.get(Number(l.mappingId));
            return {name: text(f.name), file: text(f.filename), line: Number(l.line[0].line), module: m && text(m.filename),
                    buildId: m && text(m.buildId), inside: !m || l.address >= m.memoryStart && l.address < m.memoryLimit};
        };
        console.log(JSON.stringify({
            types: p.sampleType.map(t => text(t.type) + "/" + text(t.unit)), time: String(p.timeNanos), first: text(0),
            samples: p.sample.map(s => ({frames: s.locationId.map(frame), value: s.value.map(Number), labels: Object.fromEntries(
                s.label.map(l => [text(l.key), text(l.str) || Number(l.num)]))}))}));"""

    def read(self, data):
        path = os.path.join(self.spool.folder, self.id() + ".pb.gz")
        with open(path, "wb") as file:
            file.write(data)
        return node(self.READ, path)

    def test_a_hang(self):
        profile, report = self.read(self.real("pprof")), self.spool.report
        self.assertEqual((["samples/count", "hang/nanoseconds"], ""), (profile["types"], profile["first"]))
        self.assertTrue(profile["time"].startswith(str(int(datetime.datetime.fromisoformat(report["started_at"][:19] + "+00:00").timestamp()))))
        hung = [s for s in profile["samples"] if "lookup" in [f["name"] for f in s["frames"]]]
        self.assert_hang(sum(s["value"][1] for s in hung))
        self.assertEqual({report["loop"]["tid"]}, {s["labels"]["tid"] for s in hung})
        self.assertEqual({report["id"]}, {s["labels"]["report"] for s in hung})
        self.assertEqual("_start", hung[0]["frames"][-1]["name"], "the innermost comes first")
        (frame,) = [f for f in hung[0]["frames"] if f["name"] == "lookup"]
        self.assertTrue(frame["file"].endswith("shop.py") and frame["line"] == 19, frame)
        for sample in profile["samples"]:
            for frame in sample["frames"]:
                self.assertTrue(frame["inside"], frame)
        self.assertIn(report["app"]["build_id"], {f["buildId"] for f in hung[0]["frames"]})
        (other,) = [s for s in profile["samples"] if "compact_log" in [f["name"] for f in s["frames"]]]
        self.assertNotEqual(report["loop"]["tid"], other["labels"]["tid"])

    def test_a_hostile_report(self):
        profile = self.read(self.hostile("pprof"))
        names = {frame["name"] for sample in profile["samples"] for frame in sample["frames"]}
        self.assertLessEqual(set(NAMES) - {""}, names)
        self.assertIn("shop;\n<b>", {sample["labels"]["app"] for sample in profile["samples"]})
        self.assertEqual(1000, max(len(sample["frames"]) for sample in profile["samples"]))

    def test_no_bytes_on_a_terminal(self):
        need_terminal()
        main, terminal = pty.openpty()
        done = subprocess.run([HANGDOG, "export", "--format", "pprof", "--spool", self.spool.real], stdout=terminal, stderr=subprocess.PIPE,
                              text=True, check=False, timeout=PATIENCE, env=environment())
        os.close(terminal)
        os.close(main)
        self.assertEqual(1, done.returncode)
        self.assertIn("; try: hangdog export --format pprof -o hang.pb.gz\n", done.stderr)


class Firefox(Export):
    """By the Firefox Profiler's own command."""

    def load(self, text):
        path = os.path.join(self.spool.folder, self.id() + ".json")
        with open(path, "wb") as file:
            file.write(text)
        profiler = FirefoxProfiler(path)
        self.addCleanup(profiler.close)
        return profiler

    def test_a_hang(self):
        profiler, report = self.load(self.real("firefox")), self.spool.report
        threads = profiler.ask("thread", "list")["threads"]
        (main,) = [thread for thread in threads if thread["tid"] == report["loop"]["tid"]]
        functions = {f["name"]: f for f in profiler.ask("thread", "functions", "--thread", main["threadHandle"])["functions"]}
        self.assert_hang(functions["lookup"]["totalSamples"] * 1e6)
        self.assertNotIn("compact_log", functions)
        (other,) = [thread for thread in threads if thread is not main]
        self.assertIn("compact_log", {f["name"] for f in profiler.ask("thread", "functions", "--thread", other["threadHandle"])["functions"]})
        (marker,) = profiler.ask("thread", "markers", "--list", "--thread", main["threadHandle"])["byType"]
        self.assertEqual("hang", marker["markerName"])
        self.assert_hang(marker["durationStats"]["max"] * 1e6)
        self.assertRegex(marker["topMarkers"][0]["label"], "^waited for ")
        meta = profiler.ask("profile", "meta")
        self.assertEqual(report["started_at"][:23] + "Z", meta["startTimeFormatted"])
        self.assertGreaterEqual(meta["context"]["rootRange"]["end"] * 1e6, report["duration_ns"])

    def test_a_hostile_report(self):
        profiler = self.load(self.hostile("firefox"))
        names = {f["name"] for f in profiler.ask("thread", "functions", "--thread", "t-0")["functions"]}
        self.assertLessEqual(set(NAMES) - {""}, names)


class Sentry(Export):
    """By @sentry/core, the parser of Sentry's own SDK."""

    READ = """
        const {parseEnvelope} = require("@sentry/core"), fs = require("fs");
        const [head, items] = parseEnvelope(fs.readFileSync(process.argv[1]));
        console.log(JSON.stringify({head, items}));"""

    def read(self, data):
        path = os.path.join(self.spool.folder, self.id() + ".envelope")
        with open(path, "wb") as file:
            file.write(data)
        envelope = node(self.READ, path)
        ((head, payload),) = envelope["items"]
        self.assertEqual("event", head["type"])
        self.assertEqual(head["length"], len(payload["data"]))
        event = json.loads(bytes(payload["data"]))
        self.assertEqual(envelope["head"]["event_id"], event["event_id"])
        self.assertRegex(event["event_id"], "^[0-9a-f]{32}$")
        return event

    def test_a_hang(self):
        event, report = self.read(self.real("sentry")), self.spool.report
        (exception,) = event["exception"]["values"]
        self.assertRegex(exception["value"], r"^hang of 1\.\d s in lookup \(shop\.py:19\)$")
        self.assertEqual(("AppHang", True), (exception["mechanism"]["type"], exception["mechanism"]["handled"]))
        self.assert_hang(exception["mechanism"]["data"]["duration_ms"] * 1e6)
        frames = exception["stacktrace"]["frames"]
        own = [frame for frame in frames if frame["in_app"]]
        self.assertEqual("lookup", own[-1]["function"], "the innermost comes last")
        self.assertEqual(("python", 19, "shop.py"), (own[-1]["platform"], own[-1]["lineno"], own[-1]["filename"]))
        self.assertEqual(report["id"].replace("-", ""), event["event_id"])
        self.assertEqual(["hangdog", "AppHang", report["fingerprint"]], event["fingerprint"])
        current, *others = event["threads"]["values"]
        self.assertEqual((exception["thread_id"], True), (current["id"], current["current"]))
        self.assertIn("compact_log", [f["function"] for other in others for f in other.get("stacktrace", {"frames": []})["frames"]])
        for image in event["debug_meta"]["images"]:
            self.assertEqual(str(uuid.UUID(bytes_le=bytes.fromhex(image["code_id"])[:16])), image["debug_id"])
        spans = [(int(i["image_addr"], 16), int(i["image_addr"], 16) + i["image_size"]) for i in event["debug_meta"]["images"]]
        for frame in frames:
            if "instruction_addr" in frame:
                self.assertTrue(any(a <= int(frame["instruction_addr"], 16) < b for a, b in spans), frame)

    def test_a_hostile_report(self):
        event = self.read(self.hostile("sentry"))
        names = {frame["function"] for frame in event["exception"]["values"][0]["stacktrace"]["frames"]}
        self.assertLessEqual(set(NAMES) - {""}, names)
        self.assertNotIn("hang.loop", event["tags"], "a tag has one line")
        self.assertLessEqual(len(self.hostile("sentry")), 1 << 20)


class Otlp(Export):
    """By OpenTelemetry's own protocol: a member that it does not know would be lost."""

    READ = """
        const {opentelemetry} = require("@opentelemetry/otlp-transformer/build/src/generated/root.js"), fs = require("fs");
        const Request = opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
        const request = JSON.parse(fs.readFileSync(process.argv[1]));
        const read = Request.decode(Request.encode(Request.fromObject(request)).finish());
        console.log(JSON.stringify({problem: Request.verify(read), read: Request.toObject(read, {longs: String, json: true})}));"""

    def read(self, data):
        path = os.path.join(self.spool.folder, self.id() + ".json")
        with open(path, "wb") as file:
            file.write(data)
        answer = node(self.READ, path)
        self.assertIsNone(answer["problem"])
        request = json.loads(data)
        for resource in request["resourceLogs"]:
            for record in resource["scopeLogs"][0]["logRecords"]:
                self.assertEqual("app.hang", record.pop("eventName"))  # newer than this package
        self.assertEqual(request, answer["read"])
        ((resource,),) = [answer["read"]["resourceLogs"]]
        (record,) = resource["scopeLogs"][0]["logRecords"]
        return record, [{one["key"]: next(iter(one["value"].values())) for one in attributes}
                        for attributes in (record["attributes"], resource["resource"]["attributes"])]

    def test_a_hang(self):
        (record, (attributes, resource)), report = self.read(self.real("otlp")), self.spool.report
        self.assertRegex(record["body"]["stringValue"], r"^hang of 1\.\d s in lookup \(shop\.py:19\)$")
        self.assertEqual(("shop.py", str(report["app"]["pid"])), (resource["service.name"], resource["process.pid"]))
        self.assertEqual(report["duration_ns"] / 1e9, attributes["app.hang.duration"])
        self.assertRegex(attributes["exception.stacktrace"], r"(?m)^at lookup \(shop\.py:19\)$")
        self.assertEqual(("lookup", "19"), (attributes["code.function.name"], attributes["code.line.number"]))
        self.assertTrue(record["timeUnixNano"].endswith(report["started_at"][20:29]))

    def test_a_hostile_report(self):
        _, (attributes, resource) = self.read(self.hostile("otlp"))
        self.assertEqual("shop;\n<b>", resource["service.name"])
        self.assertIn("at <script>alert(1)</script> (", attributes["exception.stacktrace"])


    def test_a_pool_stall_names_its_pool(self):
        path = os.path.join(self.spool.folder, "pool.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump(small_report("query", kind="pool-stall", pool={"name": "libuv", "threads": 4}), file)
        (record,) = json.loads(export("--format", "otlp", path))["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
        self.assertRegex(record["body"]["stringValue"], r"^pool stall of \S+ m?s: all 4 threads of libuv's pool in query ")


class Prometheus(Export):
    """By parse-prometheus-text-format."""

    READ = """
        const parse = require("parse-prometheus-text-format"), fs = require("fs");
        console.log(JSON.stringify((parse.default || parse)(fs.readFileSync(process.argv[1], "utf8"))));"""

    def read(self, data):
        path = os.path.join(self.spool.folder, self.id() + ".prom")
        with open(path, "wb") as file:
            file.write(data)
        return {metric["name"]: metric for metric in node(self.READ, path)}

    def test_a_spool(self):
        metrics, report = self.read(self.real("prometheus")), self.spool.report
        (one,) = metrics["hangdog_spool_hang_seconds"]["metrics"]
        origin = {name: report["host"][member] for name, member in (("host", "name"), ("unit", "unit")) if member in report["host"]}
        self.assertEqual({"app": "shop.py", "kind": "hang", "cause": report["cause"]["kind"], **origin},
                         {name: value for name, value in one["labels"].items() if name != "container"})
        self.assert_hang(float(one["value"]) * 1e9)
        (session,) = self.spool.program.reports("session")
        (turns,) = metrics["hangdog_spool_turn_seconds"]["metrics"]
        self.assertEqual(str(session["session"]["turns"]), turns["buckets"]["+Inf"])
        counts = [int(value) for _, value in sorted(turns["buckets"].items(), key=lambda item: float(item[0].replace("+", "")))]
        self.assertEqual(sorted(counts), counts)

    def test_a_hostile_report(self):
        (one,) = self.read(self.hostile("prometheus"))["hangdog_spool_reports"]["metrics"]
        self.assertEqual("shop;?<b>", one["labels"]["app"])


class Selection(Export):
    def test_named_reports_and_a_whole_spool(self):
        report = self.spool.report
        one = self.real("speedscope")
        self.assertEqual(one, self.real("speedscope", report["id"]))
        self.assertEqual(one, self.real("speedscope", report["id"][-6:]))
        for options in (["--all"], ["--app", "shop.py"], ["--since", "1h"]):
            self.assertEqual(one, self.real("speedscope", *options))
        path = os.path.join(self.spool.folder, "out.json")
        self.assertEqual(b"", self.real("speedscope", "-o", path))
        with open(path, "rb") as file:
            self.assertEqual(one, file.read())

    def test_errors(self):
        for arguments, words in ((["--app", "shpo"], "cannot export: none of 2 reports"), (["-o", "/dev/full"], "cannot write /dev/full"),
                                 (["zzz"], "no report 'zzz'"), (["-o", "/no/such"], "cannot write /no/such")):
            self.assertIn(words, export("--spool", self.spool.real, *arguments, status=1))
        self.assertIn("--format", export("--format", "svg", status=2))


if __name__ == "__main__":
    main_side_by_side()
