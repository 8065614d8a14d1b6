#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Labels of programs that do not link the library: the hang's report names the request, though others come in between, and
# though a task of the request blocks the loop.

import glob
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

from support_run import BUILD, HANGDOG, SANITIZER, SOURCE, environment, main, wait_until

PYTHON = "/usr/bin/python3"
LABELS = os.path.join(BUILD, "labels")
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def has(*modules):
    return subprocess.run([PYTHON, "-c", "import " + ", ".join(modules)], capture_output=True, timeout=60, check=False).returncode == 0


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def get(port, path, headers=None):
    with urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:%d%s" % (port, path), headers=headers or {}), timeout=30) as answer:
        return answer.read()


def answers(port):
    try:
        return get(port, "/quick")
    except OSError:
        return None


@unittest.skipIf(SANITIZER, "the addon is not instrumented")
class Labels(unittest.TestCase):
    def hang_of(self, argv, port):
        """The report of the one hang of this server, which gets /slow and between its start and its hang /quick."""
        with tempfile.TemporaryDirectory() as folder:
            env = environment({"PYTHONPATH": LABELS + ":" + os.path.join(SOURCE, "tests/real")})
            with subprocess.Popen([HANGDOG, "run", "-q", "--spool", folder, "--", *argv], env=env) as program:
                try:
                    wait_until(lambda: answers(port), "an answer")
                    for _ in range(20):
                        get(port, "/quick")
                    slow = threading.Thread(target=get, args=(port, "/slow", {"traceparent": TRACE}))
                    slow.start()
                    time.sleep(0.05)
                    get(port, "/quick")
                    slow.join()
                    get(port, "/quick")
                finally:
                    program.send_signal(signal.SIGTERM)
            reports = [json.load(open(name, encoding="utf-8")) for name in glob.glob(folder + "/**/*.json", recursive=True)]  # pylint: disable=consider-using-with
        hangs = [report for report in reports if report["kind"] == "hang"]
        self.assertEqual(1, len(hangs), [report["kind"] for report in reports])
        return hangs[0]

    def check(self, argv, port):
        report = self.hang_of(argv, port)
        self.assertEqual(("GET /slow", TRACE), (report.get("label"), report.get("traceparent")))

    def uvicorn(self, loop):
        port = free_port()
        self.check([PYTHON, "-m", "uvicorn", "--loop", loop, "--port", str(port), "--log-level", "error", "support_labels_asgi:app"], port)

    @unittest.skipUnless(has("uvicorn", "starlette"), "no uvicorn: scripts/install-dependencies test")
    def test_a_task_of_asyncio_has_the_label_of_its_request(self):
        self.uvicorn("asyncio")

    @unittest.skipUnless(has("uvicorn", "starlette", "uvloop"), "no uvloop: scripts/install-dependencies test")
    def test_a_task_of_uvloop_has_the_label_of_its_request(self):
        self.uvicorn("uvloop")

    @unittest.skipUnless(os.access("/usr/bin/node", os.X_OK), "no node: scripts/install-dependencies test")
    def test_what_a_request_of_node_awaits_has_its_label(self):
        port = free_port()
        self.check(["/usr/bin/node", os.path.join(SOURCE, "tests/real/support_labels_node.js"), LABELS + "/hangdog_labels.js", str(port)], port)

    @unittest.skipUnless(os.access("/usr/bin/node", os.X_OK), "no node: scripts/install-dependencies test")
    def test_without_hangdog_the_modules_do_nothing(self):
        node = "const { run } = require('%s/hangdog_labels.js'); console.log(run('x', undefined, () => 7))" % LABELS
        self.assertEqual("7\n", subprocess.run(["/usr/bin/node", "-e", node], capture_output=True, text=True, timeout=60, check=True).stdout)
        python = "import asyncio, hangdog_labels as h; before = asyncio.BaseEventLoop.call_soon; h.label('x'); assert asyncio.BaseEventLoop.call_soon is before"
        subprocess.run([PYTHON, "-c", python], env=environment({"PYTHONPATH": LABELS}), timeout=60, check=True)


if __name__ == "__main__":
    main()
