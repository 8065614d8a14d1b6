# SPDX-License-Identifier: MIT
"""A collector of its own for a test, and what the tests of the fleet send to it."""

import atexit
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest
import uuid

from support_run import BUILD, HANGDOG, PATIENCE, environment, free_port, wait_until

WRITE_REPORT = os.path.join(BUILD, "tests/programs/write-report")
# The start of a program whose lookup() waits for a lock, which its thread holds for 1.2 s in compact_log().
WAITS_FOR_LOCK = """
import select, socket, sys, threading, time
loop = [socket.create_server(("127.0.0.1", 0))]
lock = threading.Lock()

def wait(times):
    for _ in range(times):
        select.select(loop, [], [], 0.1)

def compact_log(ready):
    with lock:
        ready.set()
        time.sleep(1.2)

def lookup():
    ready = threading.Event()
    threading.Thread(target=compact_log, args=(ready,)).start()
    ready.wait()
    with lock:
        pass
"""
SERVE = os.path.join(BUILD, "libexec/hangdog/hangdog-serve")


def need_fleet():
    if not os.path.exists(SERVE):
        raise unittest.SkipTest("built without the collector (HANGDOG_BUILD_FLEET)")


class Collector:
    """`hangdog serve` on a port of its own. It keeps port, store and keys when it starts again."""

    command = [HANGDOG]

    def __init__(self, *options):
        need_fleet()
        self.folder = tempfile.mkdtemp(prefix="hangdog-test-")
        self.store = os.path.join(self.folder, "store.db")
        self.port = free_port()
        self.url = "http://127.0.0.1:%d" % self.port
        self.send_key = self.read_key = self.admin_key = None
        self.starts = 0
        self.more = {}  # environment of the next start
        self.start(*options)

    def start(self, *options):
        self.starts += 1
        self.log = os.path.join(self.folder, "log-%d" % self.starts)
        with open(self.log, "wb") as log:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen(
                [*self.command, "serve", "--listen", "127.0.0.1:%d" % self.port, "--store", self.store, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment(self.more))
        wait_until(lambda: "collecting at " in self.text() or self.process.poll() is not None, "the collector's start")
        if self.process.poll() is not None:
            raise AssertionError("the collector ended with %d: %s" % (self.process.returncode, self.text()))
        found = re.search(r"first keys, .* are in (.*), for its owner only", self.text())
        if found:
            with open(found.group(1), encoding="ascii") as file:
                self.read_key, self.send_key, self.admin_key = re.findall(r"hd[sra]_[0-9a-f]{32}", file.read())

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def request(self, method, path, body=None, headers=None, key=None):
        """(status, headers, body) of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            head = {"Authorization": "Bearer " + key} if key else {}
            connection.request(method, path, body, {**head, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def send(self, body, encoding=None, lines=False, key=None):
        """(status, answer) of POST /api/v1/reports; `body`: a report, a list of them, or bytes."""
        headers = {"Content-Type": "application/x-ndjson" if lines or isinstance(body, list) else "application/json"}
        if encoding:
            headers["Content-Encoding"] = encoding
        if isinstance(body, list):
            body = b"".join(json.dumps(report).encode() + b"\n" for report in body)
        elif isinstance(body, dict):
            body = json.dumps(body).encode()
        status, _, answer = self.request("POST", "/api/v1/reports", body, headers, key or self.send_key)
        return status, json.loads(answer)

    def get(self, path):
        """The JSON of an address below /api/v1/, None where there is nothing."""
        status, _, body = self.request("GET", "/api/v1/" + path, key=self.read_key)
        if status == 404:
            return None
        if status != 200:
            raise AssertionError("%s: status %d, %s" % (path, status, body))
        return json.loads(body)

    def groups(self):
        return self.get("overview")["groups"]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Its exit status after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        for start in range(1, self.starts + 1):
            with open(os.path.join(self.folder, "log-%d" % start), encoding="utf-8", errors="replace") as log:
                for line in log:
                    if re.search(r"(WARNING|ERROR|FATAL): \w+Sanitizer|: runtime error: ", line):
                        print(line)  # scripts/run-tests looks for it
        shutil.rmtree(self.folder, ignore_errors=True)


_SHARED, _LOCK = [], threading.Lock()


def shared_collector():
    """One that the tests of a file share; it ends with them."""
    with _LOCK:
        if not _SHARED:
            _SHARED.append(Collector())
            atexit.register(_SHARED[0].close)
        return _SHARED[0]


def sample_report():
    """A whole report, as the library writes it."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([WRITE_REPORT, folder, "full"], check=True, capture_output=True, timeout=PATIENCE)
        (name,) = [name for name in os.listdir(folder) if name.endswith(".json")]
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return json.load(file)


def small_report(function="resize_image", **more):
    """A report with one frame, of the least size that has a group."""
    report = {"format": "hangdog-report/1", "id": str(uuid.uuid4()), "kind": "hang", "complete": True,
              "started_at": "2026-01-31T12:00:00.000000000Z", "duration_ns": 1500000000,
              "app": {"name": "shop", "version": "1.2", "pid": 71, "session": str(uuid.uuid4())},
              "host": {"os": "linux", "arch": "x86_64"}, "process": {}, "cause": {"kind": "cpu"},
              "modules": [{"path": "/opt/shop/shop", "base": "0x1000", "size": 4096}],
              "hot_stack": {"frames": [{"pc": "0x1010", "module": 0, "function": function, "file": "/src/shop.c", "line": 7}]}}
    report.update(more)
    return report
