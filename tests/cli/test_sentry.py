# SPDX-License-Identifier: MIT
"""Programs with Sentry's clients, unmodified, send errors and hangs to the collector: they are in its groups."""

import gzip
import json
import os
import subprocess
import tempfile
import time
import unittest
import uuid
import zlib

from support_fleet import Collector, need_fleet, shared_collector
from support_readers import NODE, READERS, package
from support_run import PATIENCE, main_side_by_side, wait_until

# The loop is blocked for 2 s; Sentry's client sees it after 600 ms.
NODE_PROGRAM = """
    const Sentry = require("@sentry/node");
    Sentry.init({dsn: process.argv[1], release: "shop@1.2", integrations: [
        Sentry.anrIntegration({captureStackTrace: true, anrThreshold: 600})]});
    function chargeCard() { throw new TypeError("no card"); }
    function checkout() { try { chargeCard(); } catch (error) { Sentry.captureException(error); } }
    function resizeImage() { for (const end = Date.now() + 2000; Date.now() < end;) Math.sqrt(end); }
    function onRequest() { resizeImage(); }
    setTimeout(checkout, 300);
    setTimeout(onRequest, 1500);
    setTimeout(() => Sentry.captureMessage("hello"), 3800);
    setTimeout(async () => { await Sentry.close(5000); process.exit(0); }, 4000);
"""
PYTHON_PROGRAM = """
import sys
import sentry_sdk
sentry_sdk.init(sys.argv[1], release="till@7")

def print_receipt():
    raise OSError("no paper")

try:
    print_receipt()
except OSError as error:
    sentry_sdk.capture_exception(error)
sentry_sdk.flush(20)
"""


def dsn_of(collector, project=1):
    return "http://%s@127.0.0.1:%d/%d" % (collector.send_key, collector.port, project)


def event(function="lookup", **more):
    """An error as a client sends it."""
    frames = [{"function": "main", "filename": "/srv/app.js", "lineno": 3, "in_app": True},
              {"function": function, "filename": "/srv/app.js", "lineno": 9, "in_app": True},
              {"function": "parse", "filename": "/srv/vendor/parse.js", "lineno": 1, "in_app": False}]
    return {"event_id": uuid.uuid4().hex, "timestamp": time.time(), "platform": "node", "release": "mail@3",
            "exception": {"values": [{"type": "Error", "value": "x", "stacktrace": {"frames": frames}}]}, **more}


def envelope(*items):
    lines = [b"{}"]
    for kind, content in items:
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        lines += [json.dumps({"type": kind, "length": len(content)}).encode(), content]
    return b"\n".join(lines) + b"\n"


class Sentry(unittest.TestCase):
    def setUp(self):
        need_fleet()
        self.collector = shared_collector()

    def group(self, function):
        groups = [group for group in self.collector.get("overview?days=400")["groups"] if group["function"] == function]
        return groups[0] if groups else None

    def reports_of(self, function):
        reports = self.collector.get("groups/" + self.group(function)["fingerprint"])["reports"]
        return [self.collector.get("reports/" + report["id"]) for report in reports]

    def post(self, body, path="/api/1/envelope/", key=None, **headers):
        auth = "Sentry sentry_version=7, sentry_key=%s, sentry_client=test/1" % (key or self.collector.send_key)
        status, head, answer = self.collector.request("POST", path, body, {"X-Sentry-Auth": auth, **headers})
        return status, json.loads(answer), head

    def test_node(self):
        package("@sentry/node/package.json")
        with tempfile.TemporaryDirectory(prefix="hangdog-test-") as folder:
            path = os.path.join(folder, "shop.js")
            with open(path, "w", encoding="utf-8") as file:
                file.write(NODE_PROGRAM.replace("process.argv[1]", "process.argv[2]"))
            done = subprocess.run([NODE, path, dsn_of(self.collector)], capture_output=True, text=True, timeout=3 * PATIENCE,
                                  check=False, env={"PATH": "/usr/bin:/bin", "NODE_PATH": os.path.join(READERS, "node_modules")})
            self.assertEqual(0, done.returncode, done.stderr)
            wait_until(lambda: self.group("resizeImage"), "the hang")
            (hang,) = self.reports_of("resizeImage")
            (error,) = self.reports_of("chargeCard")
            self.assertEqual(("hang", 600 * 10 ** 6), (hang["kind"], hang["duration_ns"]))
            functions = [frame["function"] for frame in hang["hot_stack"]["frames"]]
            self.assertEqual(["resizeImage", "onRequest"], functions[:2])
            self.assertEqual((path, "javascript", True), tuple(hang["hot_stack"]["frames"][0][name] for name in
                                                               ("file", "language", "in_app")))
            self.assertEqual(("error", {"type": "TypeError", "what": "no card", "handled": True}), (error["kind"], error["error"]))
        for report in (hang, error):
            self.assertEqual(("shop", "1.2"), (report["app"]["name"], report["app"]["version"]))
            text = self.collector.request("GET", "/api/v1/reports/%s/text" % report["id"], key=self.collector.read_key)[2].decode()
            self.assertIn(report["hot_stack"]["frames"][0]["function"], text)
            self.assertRegex(text, r"\A(hang of 600 ms|error) in ")
        self.assertEqual(600, self.group("resizeImage")["total_ms"])

    def test_python(self):
        done = subprocess.run(["/usr/bin/python3", "-c", PYTHON_PROGRAM, dsn_of(self.collector)], capture_output=True, text=True,
                              timeout=PATIENCE, check=False, env={"PATH": "/usr/bin:/bin"})
        if "No module named 'sentry_sdk'" in done.stderr:
            self.skipTest("python3-sentry-sdk is not installed")
        self.assertEqual(0, done.returncode, done.stderr)
        wait_until(lambda: self.group("print_receipt"), "the error")
        (report,) = self.reports_of("print_receipt")
        self.assertEqual(("OSError", "python", "till"), (report["error"]["type"], report["hot_stack"]["frames"][0]["language"],
                                                        report["app"]["name"]))

    def test_what_comes_twice_is_there_once(self):
        once = event("sent_twice")
        for _ in range(2):
            status, answer, _ = self.post(envelope(("event", once)))
            self.assertEqual((200, once["event_id"]), (status, answer["id"]))
        self.assertEqual(1, self.group("sent_twice")["count"])

    def test_encodings_and_the_older_address(self):
        for number, (pack, encoding) in enumerate(((gzip.compress, "gzip"), (zlib.compress, "deflate"), (bytes, "identity"))):
            body = pack(envelope(("event", event("packed"))))
            self.assertEqual(200, self.post(body, **{"Content-Encoding": encoding})[0], encoding)
            self.assertEqual(number + 1, self.group("packed")["count"])
        self.assertEqual(415, self.post(b"", **{"Content-Encoding": "br"})[0])
        self.assertEqual(200, self.post(json.dumps(event("stored")).encode(), "/api/23/store/")[0])
        self.assertEqual(1, self.group("stored")["count"])

    def test_the_apps_own_functions_name_the_group(self):
        self.post(envelope(("event", event("of_the_app"))))
        (report,) = self.reports_of("of_the_app")
        self.assertEqual(["parse", "of_the_app", "main"], [frame["function"] for frame in report["hot_stack"]["frames"]])

    def test_hangs_of_other_clients(self):
        for function, kind, exception in (
                ("on_ios", "hang", {"type": "App Hanging", "value": "App hanging between 2.0 and 2.1 seconds.", "mechanism": {"type": "AppHang"}}),
                ("on_android", "hang", {"type": "ApplicationNotResponding", "value": "ANR for at least 5000 ms.", "mechanism": {"type": "ANR"}}),
                ("of_native", "fatal-hang", {"type": "Fatal App Hang", "value": "", "mechanism": {"type": "AppHang", "data": {"duration_ms": 2510}}})):
            sent = event(function)
            sent["exception"]["values"][0].update(exception)
            self.assertEqual(200, self.post(envelope(("event", sent)))[0])
            (report,) = self.reports_of(function)
            self.assertEqual((kind, {"on_ios": 2000, "on_android": 5000}.get(function, 2510) * 10 ** 6),
                             (report["kind"], report["duration_ns"]))

    def test_native_frames_have_module_and_offset(self):
        sent = event("x", platform="native", debug_meta={"images": [
            {"type": "elf", "code_id": "F1C3BCC0279865FE", "image_addr": "0x5000", "image_size": 4096, "code_file": "/opt/shop"}]})
        sent["exception"]["values"][0]["stacktrace"]["frames"] = [
            {"instruction_addr": "0x9999999"}, {"instruction_addr": "0x5010", "function": "sell", "package": "/opt/shop", "in_app": True}]
        sent["exception"]["values"][0]["mechanism"] = {"type": "signalhandler", "handled": False, "meta": {"signal": {"name": "SIGSEGV"}}}
        self.assertEqual(200, self.post(envelope(("event", sent)))[0])
        (report,) = self.reports_of("sell")
        self.assertEqual({"path": "/opt/shop", "base": "0x5000", "size": 4096, "build_id": "f1c3bcc0279865fe"}, report["modules"][0])
        self.assertEqual(("0x10", 0), (report["hot_stack"]["frames"][0]["offset"], report["hot_stack"]["frames"][0]["module"]))
        self.assertEqual(("crash", "SIGSEGV"), (report["kind"], report["crash"]["signal"]))

    def test_sessions_and_other_items(self):
        session = {"sid": str(uuid.uuid4()), "started": "2026-01-31T12:00:00.5Z", "timestamp": "2026-01-31T12:00:02Z", "duration": 7200,
                   "status": "exited", "attrs": {"release": "clock@4"}}
        before = self.metric("items_ignored_total")
        status, answer, _ = self.post(envelope(("session", {**session, "status": "ok"}), ("session", session), ("transaction", {"a": 1}),
                                               ("attachment", b"\x00\xff\nx"), ("event", {"event_id": "0" * 32, "message": "hello"})))
        self.assertEqual((200, "0" * 32), (status, answer["id"]))
        self.assertEqual(4, self.metric("items_ignored_total") - before)
        self.assertEqual(7200 * 10 ** 9, self.collector.get("reports/" + session["sid"])["session"]["used_ns"])

    def metric(self, name):
        text = self.collector.request("GET", "/metrics")[2].decode()
        return int(next(line.split()[1] for line in text.splitlines() if line.startswith("hangdog_collector_%s " % name)))

    def test_what_is_none_is_refused(self):
        for body in (b"", b"[]", b"{}\n{\"length\":3}\nabc", b"{}\n{\"type\":\"event\",\"length\":99}\nabc", b"{}\n{\"type\":\"event\",\"length\":-1}\n",
                     b"{}\nno JSON\n", envelope(*[("attachment", b"")] * 101), envelope(("event", b"{")), envelope(("event", b"[" * 5000))):
            self.assertIn(self.post(body)[0], (400, 413), body[:60])
        bad_id = event(event_id="../../etc/passwd")
        status, answer, _ = self.post(envelope(("event", bad_id)))
        self.assertEqual(400, status)
        self.assertIn("/id is no UUID", answer["detail"])
        self.assertEqual(401, self.post(envelope(("event", event())), key="hds_" + "0" * 32)[0])
        self.assertEqual(401, self.post(envelope(("event", event())), key=self.collector.read_key)[0])
        self.assertEqual(405, self.post(b"", "/api/x/envelope/")[0])

    def test_members_of_other_types(self):
        odd = [None, 7, -1, 1e300, "x", "\U0001f600" * 500, [], [1], {}, {"values": 3}, {"frames": "x"}, True]
        base = event("odd")
        for name in ("timestamp", "platform", "release", "exception", "threads", "contexts", "user", "sdk", "debug_meta", "stacktrace"):
            for value in odd:
                status, _, _ = self.post(envelope(("event", {**base, "event_id": uuid.uuid4().hex, name: value})))
                self.assertIn(status, (200, 400), (name, value))
        for name in ("type", "value", "mechanism", "stacktrace", "thread_id"):
            for value in odd:
                sent = event("odd")
                sent["exception"]["values"][0][name] = value
                self.assertIn(self.post(envelope(("event", sent)))[0], (200, 400), (name, value))

    def own_collector(self, *options):
        self.collector = Collector(*options)
        self.addCleanup(self.collector.close)

    def test_what_unpacks_to_too_much(self):
        self.own_collector()  # the CPU time of unpacking counts against its key's rate
        self.assertEqual(413, self.post(gzip.compress(b" " * (80 << 20)), **{"Content-Encoding": "gzip"})[0])

    def test_a_key_over_its_rate(self):
        self.own_collector("--rate", "2")
        answers = [self.post(envelope(("event", event()))) for _ in range(8)]
        limited = [head for status, _, head in answers if status == 429]
        self.assertGreaterEqual(len(limited), 2)
        self.assertEqual(limited[0]["Retry-After"] + "::key", limited[0]["X-Sentry-Rate-Limits"])


if __name__ == "__main__":
    main_side_by_side()
