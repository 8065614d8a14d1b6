# SPDX-License-Identifier: MIT
"""From two programs that hang to one group each on the collector: upload, what it removes, what it leaves, and when it comes back."""

import http.server
import json
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from support_fleet import WAITS_FOR_LOCK, Collector, shared_collector, small_report
from support_run import HANGDOG, PATIENCE, Program, Together, environment, free_port, main_side_by_side, wait_until

KILLS = int(os.environ.get("HANGDOG_KILLS") or 20)  # 200 by hand
APP = WAITS_FOR_LOCK + """
def resize_image():
    time.sleep(1.2)

wait(8)
for _ in range(2):
    {"lookup": lookup, "resize_image": resize_image}[sys.argv[1]]()
    wait(6)
"""


def upload(collector, spool, *options, status=0, url=None, key=None):
    """What `hangdog upload` prints."""
    done = subprocess.run([HANGDOG, "upload", "--to", url or collector.url, "--spool", spool, *options], capture_output=True,
                          text=True, timeout=2 * PATIENCE, check=False,
                          env=environment({"HANGDOG_KEY": key or collector.send_key}))
    if done.returncode != status:
        raise AssertionError("status %d: %s%s" % (done.returncode, done.stdout, done.stderr))
    return done.stderr


def write(spool, *reports):
    os.makedirs(spool, exist_ok=True)
    for report in reports:
        with open(os.path.join(spool, report["id"] + ".json"), "w", encoding="utf-8") as file:
            json.dump(report, file)


def names(spool):
    return sorted(name for name in os.listdir(spool) if name.endswith(".json"))


class HungPrograms(unittest.TestCase):
    def test_two_hung_programs_are_two_groups(self):
        collector = Collector()
        self.addCleanup(collector.close)
        folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, folder, True)
        app = os.path.join(folder, "shop.py")
        with open(app, "w", encoding="ascii") as file:
            file.write(APP)
        together, programs = Together(), {}
        for name in ("lookup", "resize_image"):
            programs[name] = Program(["/usr/bin/python3", app, name])
            self.addCleanup(programs[name].close)
            together.start(name, programs[name].wait)
        together.join()
        for name, program in programs.items():
            self.assertEqual(2, len(program.reports("hang")), program.errors)
            upload(collector, program.spool)
            self.assertEqual([], program.reports(), "reports that the collector has are still in the spool")
        groups = {group["function"]: group for group in collector.groups()}
        self.assertEqual(["resize_image"], [name for name in groups if name == "resize_image"], groups)
        self.assertEqual((2, "sleep"), (groups["resize_image"]["count"], groups["resize_image"]["cause"]))
        self.assertEqual(2, sum(group["count"] for name, group in groups.items() if name != "resize_image"))
        self.assertEqual(2, collector.get("overview")["used"][0]["runs"])
        group = collector.get("groups/" + groups["resize_image"]["fingerprint"])
        self.assertIn("own resize_image", group["path"])
        stack = collector.get("groups/%s/stack" % group["fingerprint"])
        self.assertIn("resize_image", [node["name"] for node in stack["nodes"] if node["own"]])


class Upload(unittest.TestCase):
    def setUp(self):
        self.collector = shared_collector()
        self.folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.spool = os.path.join(self.folder, "spool")

    def test_what_is_acknowledged_is_removed(self):
        reports = [small_report("removed") for _ in range(250)]
        write(self.spool, *reports)
        self.assertEqual("hangdog: 250 reports sent\n", upload(self.collector, self.spool))
        self.assertEqual([], names(self.spool))
        write(self.spool, *reports[:2])
        self.assertEqual("hangdog: 0 reports sent, 2 the collector had already\n", upload(self.collector, self.spool, "--keep"))
        self.assertEqual(2, len(names(self.spool)))

    def test_what_is_refused_stays_and_is_named(self):
        bad = small_report("refused", duration_ns=9 * 10 ** 18)
        write(self.spool, bad, small_report("refused"))
        said = upload(self.collector, self.spool, status=1)
        self.assertIn("/duration_ns is more than ten years", said)
        self.assertIn("1 report sent", said)
        self.assertEqual([bad["id"] + ".json"], names(self.spool))

    def test_a_hang_that_lasts_is_sent_later(self):
        report = small_report("lasting", complete=False)
        write(self.spool, report)
        self.assertEqual("hangdog: 0 reports sent; 1 left until its hang has ended\n", upload(self.collector, self.spool))
        report["complete"] = True
        write(self.spool, report)
        self.assertEqual("hangdog: 1 report sent\n", upload(self.collector, self.spool))

    def test_an_uploader_that_is_killed_loses_nothing(self):
        collector = Collector()
        self.addCleanup(collector.close)
        reports = [small_report("interrupted") for _ in range(600)]
        write(self.spool, *reports)
        words = [HANGDOG, "upload", "--to", collector.url, "--spool", self.spool, "-q"]
        for kill in range(KILLS):
            with subprocess.Popen(words, env=environment({"HANGDOG_KEY": collector.send_key})) as uploader:
                time.sleep(0.02 + 0.01 * (kill % 40))
                uploader.kill()
        upload(collector, self.spool)
        self.assertEqual([], names(self.spool))
        (group,) = collector.get("overview?days=400")["groups"]
        self.assertEqual(600, group["count"])

    def test_errors(self):
        write(self.spool, small_report())
        for options, words in (({"key": "hds_" + "0" * 32}, "does not know this key"), ({"key": "a\nb"}, "the key is none"),
                               ({"url": "ftp://127.0.0.1"}, "want http://"), ({"url": "file:///etc/passwd"}, "want http://")):
            self.assertIn(words, upload(self.collector, self.spool, status=1, **options))
        self.assertIn("cannot send", upload(self.collector, self.spool, "--retries", "0", status=1,
                                            url="http://127.0.0.1:%d" % free_port()))
        self.assertEqual(1, len(names(self.spool)))

    def test_it_comes_back_when_the_collector_does(self):
        collector = Collector()
        self.addCleanup(collector.close)
        collector.kill()
        write(self.spool, small_report("late"))
        back = threading.Timer(1, collector.start)
        back.start()
        self.assertIn("1 report sent", upload(collector, self.spool, "--retries", "8"))
        back.join()
        self.assertEqual([], names(self.spool))

    def answering(self, *answers, certificate=None):
        """A server that gives one answer after the other: (status, headers, body); the times of its requests."""
        times, left = [], list(answers)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                self.rfile.read(int(self.headers["Content-Length"]))
                times.append(time.monotonic())
                status, headers, body = left.pop(0) if len(left) > 1 else left[0]
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate + ".crt", certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return "%s://127.0.0.1:%d" % ("https" if certificate else "http", server.server_address[1]), times

    def test_retry_after_is_obeyed(self):
        url, times = self.answering((429, {"Retry-After": "1"}, b"{}"), (503, {}, b"{}"),
                                    (200, {}, b'{"accepted":1,"repeated":0,"refused":[]}'))
        write(self.spool, small_report())
        upload(self.collector, self.spool, url=url)
        self.assertEqual(3, len(times))
        self.assertGreaterEqual(times[1] - times[0], 1)
        self.assertEqual([], names(self.spool))

    def test_what_is_no_acknowledgement_removes_nothing(self):
        for answer in ((200, {}, b"<html>Welcome</html>"), (200, {}, b"{}"), (200, {}, b'{"accepted":2,"repeated":0,"refused":[]}'),
                       (302, {"Location": self.collector.url + "/"}, b""), (500, {}, b'{"accepted":1,"repeated":0,"refused":[]}')):
            url, _ = self.answering(answer)
            write(self.spool, small_report())
            before = names(self.spool)
            upload(self.collector, self.spool, "--retries", "0", url=url, status=1)
            self.assertEqual(before, names(self.spool), answer)

    def test_what_a_clock_or_a_limit_refused_is_sent_again(self):
        refused = b'{"accepted":0,"repeated":0,"refused":[{"index":0,"at":"/started_at","reason":"is in the future","retry_after":1}]}'
        url, times = self.answering((400, {}, refused), (400, {}, refused), (200, {}, b'{"accepted":1,"repeated":0,"refused":[]}'))
        write(self.spool, small_report())
        with subprocess.Popen([HANGDOG, "upload", "--to", url, "--spool", self.spool, "--watch", "--every", "1s"], stderr=subprocess.PIPE,
                              text=True, env=environment({"HANGDOG_KEY": self.collector.send_key})) as watch:
            try:
                wait_until(lambda: not names(self.spool) or len(times) == 1 and time.monotonic() - times[0] > 5, "the report to be sent")
                self.assertEqual([], names(self.spool), "it was not sent again within 5 s")
            finally:
                watch.terminate()
                said = watch.stderr.read()
        self.assertEqual(1, said.count("refuses"), said)

    def test_one_that_is_too_large_keeps_no_others(self):
        url, _ = self.answering((413, {}, b"{}"), (413, {}, b"{}"), (200, {}, b'{"accepted":1,"repeated":0,"refused":[]}'))
        write(self.spool, small_report(), small_report())
        said = upload(self.collector, self.spool, "--retries", "0", url=url, status=1)
        self.assertIn("too large", said)
        self.assertEqual(1, len(names(self.spool)), said)

    def test_a_certificate_that_no_authority_signed_is_refused(self):
        openssl, pem = "/usr/bin/openssl", os.path.join(self.folder, "pem")
        if not os.path.exists(openssl):
            self.skipTest("openssl is missing")
        subprocess.run([openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", pem,
                        "-out", pem + ".crt", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True,
                       capture_output=True, timeout=PATIENCE)
        url, times = self.answering((200, {}, b'{"accepted":1,"repeated":0,"refused":[]}'), certificate=pem)
        write(self.spool, small_report())
        self.assertIn("certificate", upload(self.collector, self.spool, "--retries", "0", status=1, url=url))
        self.assertEqual([], times)
        self.assertEqual("hangdog: 1 report sent\n", upload(self.collector, self.spool, "--ca", pem + ".crt", url=url))

    def test_watch_sends_each_new_report_and_ends(self):
        os.makedirs(self.spool)
        with subprocess.Popen([HANGDOG, "upload", "--to", self.collector.url, "--spool", self.spool, "--watch", "--every", "1s"],
                              stderr=subprocess.PIPE, text=True,
                              env=environment({"HANGDOG_KEY": self.collector.send_key})) as watch:
            try:
                for _ in range(2):
                    report = small_report("watched")
                    write(self.spool, report)
                    wait_until(lambda: not names(self.spool), "the report to be sent")
                    self.assertIsNotNone(self.collector.get("reports/" + report["id"]))
                watch.send_signal(signal.SIGTERM)
                self.assertEqual(0, watch.wait(PATIENCE), watch.stderr.read())
            finally:
                watch.kill()


if __name__ == "__main__":
    main_side_by_side()
