# SPDX-License-Identifier: MIT
"""`hangdog export --send`: a small HTTP server keeps what comes; the readers of Sentry and OpenTelemetry check it."""

import http.server
import json
import os
import subprocess
import tempfile
import threading
import time
import unittest

from support_fleet import need_fleet, small_report
from support_readers import node, need_readers
from support_run import HANGDOG, PATIENCE, environment, free_port, main_side_by_side

PARSE = """
    const {parseEnvelope} = require("@sentry/core"), fs = require("fs");
    const [head, [[item, payload]]] = parseEnvelope(fs.readFileSync(process.argv[1]));
    console.log(JSON.stringify({head, item, event: JSON.parse(Buffer.from(payload).toString())}));"""
DECODE = """
    const {opentelemetry} = require("@opentelemetry/otlp-transformer/build/src/generated/root.js"), fs = require("fs");
    const Request = opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
    const read = Request.fromObject(JSON.parse(fs.readFileSync(process.argv[1])));
    console.log(JSON.stringify({problem: Request.verify(read), bodies: read.resourceLogs.map(
        one => one.scopeLogs[0].logRecords[0].body.stringValue)}));"""


class Server:
    """Answers with the next of `answers`, (status, headers, body), and in the end with 200."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []
        keeper = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                keeper.requests.append((time.monotonic(), self.path, dict(self.headers), body))
                status, headers, text = keeper.answers.pop(0) if keeper.answers else (200, {}, b"{}")
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(text))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


class Send(unittest.TestCase):
    def setUp(self):
        need_fleet()
        self.folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")
        self.addCleanup(self.folder.cleanup)
        self.spool = os.path.join(self.folder.name, "spool")
        os.makedirs(self.spool)

    def server(self, *answers):
        server = Server(*answers)
        self.addCleanup(server.close)
        return server

    def write(self, *functions):
        for function in functions:
            report = small_report(function)
            with open(os.path.join(self.spool, report["id"] + ".json"), "w", encoding="ascii") as file:
                json.dump(report, file)

    def send(self, form, url, *more, status=0, env=None):
        """What the command prints."""
        done = subprocess.run([HANGDOG, "export", "--format", form, "--send", url, "--spool", self.spool, *more], capture_output=True,
                              text=True, timeout=2 * PATIENCE, check=False, env=environment(env))
        self.assertEqual((status, ""), (done.returncode, done.stdout), done.stderr)
        return done.stderr

    def read(self, code, body):
        need_readers()
        path = os.path.join(self.folder.name, "body")
        with open(path, "wb") as file:
            file.write(body)
        return node(code, path)

    def dsn(self, server):
        return "http://0123abc@%s/42" % server.address


class Sentry(Send):
    def test_an_envelope_for_each_report(self):
        server = self.server()
        self.write("resize_image", "lookup")
        self.assertEqual("hangdog: 2 reports sent\n", self.send("sentry", self.dsn(server), "--all"))
        self.assertEqual(2, len(os.listdir(self.spool)), "reports stay")
        functions = set()
        for _, path, headers, body in server.requests:
            self.assertEqual(("/api/42/envelope/", "application/x-sentry-envelope"), (path, headers["Content-Type"]))
            self.assertRegex(headers["X-Sentry-Auth"], r"^Sentry sentry_key=0123abc, sentry_version=7, sentry_client=hangdog/\S+$")
            envelope = self.read(PARSE, body)
            self.assertEqual(("event", self.dsn(server)), (envelope["item"]["type"], envelope["head"]["dsn"]))
            functions.add(envelope["event"]["exception"]["values"][0]["stacktrace"]["frames"][-1]["function"])
        self.assertEqual({"resize_image", "lookup"}, functions)

    def test_an_answer_may_name_the_wait(self):
        server = self.server((429, {"Retry-After": "1"}, b""), (503, {}, b""), (200, {"X-Sentry-Rate-Limits": "1:error:key, 60:replay"}, b"{}"))
        self.write("resize_image", "lookup")
        self.send("sentry", self.dsn(server), "--all")
        times = [request[0] for request in server.requests]
        self.assertEqual(4, len(times))
        self.assertGreaterEqual(times[1] - times[0], 1)
        self.assertGreaterEqual(times[3] - times[2], 1)
        self.assertLess(times[3] - times[2], 50, "the limit of replays is not ours")
        self.assertEqual(server.requests[0][3], server.requests[2][3])

    def test_what_fails(self):
        server = self.server((400, {}, b"bad \x1b[31mDSN"))
        self.write("resize_image", "lookup")
        self.assertEqual("hangdog: cannot send: the answer is 400, bad ?[31mDSN\nhangdog: 0 reports sent\n",
                         self.send("sentry", self.dsn(server), "--all", status=1))
        self.assertEqual(1, len(server.requests))
        server = self.server(*[(500, {}, b"")] * 9)
        self.send("sentry", self.dsn(server), "--retries", "1", status=1)
        self.assertEqual(2, len(server.requests))
        self.assertIn("cannot send: Failed to connect", self.send("sentry", "http://k@127.0.0.1:%d/1" % free_port(), "--retries", "0", status=1))
        self.assertIn("want a DSN, as https://KEY@HOST/PROJECT", self.send("sentry", "http://127.0.0.1/1", status=1))
        for form, more in (("pprof", []), ("sentry", ["-o", "x"])):
            self.assertIn("hangdog export --help", self.send(form, self.dsn(server), *more, status=2))


class Otlp(Send):
    def test_one_request_for_all_reports(self):
        server = self.server()
        self.write("resize_image", "lookup")
        self.assertEqual("hangdog: 2 reports sent\n", self.send("otlp", "http://%s/" % server.address, "--all",
                                                               env={"OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b"}))
        ((_, path, headers, body),) = server.requests
        self.assertEqual(("/v1/logs", "application/json", "a b"), (path, headers["Content-Type"], headers["api-key"]))
        answer = self.read(DECODE, body)
        self.assertIsNone(answer["problem"])
        self.assertEqual(["hang of 1.5 s in lookup (shop.c:7)", "hang of 1.5 s in resize_image (shop.c:7)"], sorted(answer["bodies"]))

    def test_a_whole_address_and_a_part_that_is_refused(self):
        server = self.server((200, {}, b'{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"too old"}}'))
        self.write("resize_image", "lookup")
        self.assertEqual("hangdog: the collector refuses 1 report: too old\nhangdog: 1 report sent\n",
                         self.send("otlp", "http://%s/v1/logs" % server.address, "--all", status=1))
        self.assertEqual("/v1/logs", server.requests[0][1])


if __name__ == "__main__":
    main_side_by_side()
