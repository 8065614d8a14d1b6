# SPDX-License-Identifier: MIT
"""speedscope itself, in a real browser, opens what `hangdog export` writes: its own format, pprof, collapsed stacks."""

import http.server
import json
import os
import subprocess
import tempfile
import threading
import unittest
import urllib.parse

from support_browser import Browser, Chromium
from support_fleet import WRITE_REPORT
from support_readers import package
from support_run import HANGDOG, PATIENCE, environment, main, wait_until
from test_export import NAMES, hostile_report


class Server(http.server.SimpleHTTPRequestHandler):
    """The files of speedscope's package, and below /file/ those of a folder."""

    folder = None

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, directory=package("speedscope/dist/release"), **more)

    def translate_path(self, path):
        return os.path.join(self.folder, os.path.basename(path)) if path.startswith("/file/") else super().translate_path(path)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class Speedscope(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        package("speedscope")
        chromium = Chromium()
        cls.addClassCleanup(chromium.close)
        folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")  # pylint: disable=consider-using-with
        cls.addClassCleanup(folder.cleanup)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.chromium, cls.folder, cls.url = chromium, folder.name, "http://127.0.0.1:%d/" % server.server_address[1]
        Server.folder = folder.name

    def page(self, form, report, words):
        """The text of speedscope's table of functions for a report's watched thread, once it has these words."""
        name = "%s.%s" % (self.id(), form)
        subprocess.run([HANGDOG, "export", "--format", form, "-o", os.path.join(self.folder, name), report], check=True,
                       timeout=2 * PATIENCE, env=environment())
        browser = Browser(self.chromium)
        self.addCleanup(browser.close)
        browser.open("%sindex.html#profileURL=%s" % (self.url, urllib.parse.quote(self.url + "file/" + name, "")))
        browser.wait_for("Sandwich")

        def text():
            browser.press("3", 51, "3")
            return words in browser.text() and browser.text()
        found = wait_until(text, "%r in speedscope" % words, 20)
        self.assertEqual([], browser.faults())
        self.assertEqual([], [url for url in browser.requests() if not url.startswith((self.url, "data:", "about:", "blob:"))])
        return found

    def test_the_times_of_functions(self):
        spool = os.path.join(self.folder, "spool")
        subprocess.run([WRITE_REPORT, spool, "full"], check=True, capture_output=True, timeout=PATIENCE)
        (name,) = [name for name in os.listdir(spool) if name.endswith(".json")]
        # pprof and collapsed stacks have all threads in one profile: another thread has one sample of 50 ms there.
        for form, total in (("speedscope", "1.20s"), ("pprof", "1.25s"), ("collapsed", "1,250,000,000")):
            with self.subTest(form):
                text = self.page(form, os.path.join(spool, name), "inlined_step")
                self.assertRegex(text, r"(?m)^%s \(.*\)\n\t.*\n\tinlined_step$" % total)
                for function in ("main", "hot_function", "other_function"):
                    self.assertRegex(text, r"(?m)^\t%s$" % function)

    def test_a_hostile_report(self):
        path = os.path.join(self.folder, "hostile.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump(hostile_report(), file)
        for form in ("speedscope", "pprof"):
            with self.subTest(form):
                self.page(form, path, NAMES[2])


if __name__ == "__main__":
    main()
