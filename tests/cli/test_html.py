# SPDX-License-Identifier: MIT
"""`hangdog show --html FILE` in a real browser: the file shows the report with its pictures, loads nothing and has no error.
A hostile report does nothing there, and nothing in the dashboard. HANGDOG_SCREENSHOTS names a folder for pictures of both."""

import copy
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

from support_browser import Browser, Chromium
from support_fleet import Collector, need_fleet, sample_report, small_report
from support_run import HANGDOG, PATIENCE, SANITIZER, SOURCE, environment, main

sys.path.append(os.path.join(SOURCE, "scripts"))
import words_def  # pylint: disable=wrong-import-position

DASHBOARD = os.path.join(SOURCE, "build/dashboard/app.js")
TAKEN = "document.documentElement.dataset.taken='yes';alert(1);fetch('http://127.0.0.1:9/')"
MARKUP = "</script ><script>%s</script><!--<img src=//127.0.0.1:9/x onerror=\"%s\"><svg/onload=%s>&lt;b>`${%s}`" % (4 * (TAKEN,))
HIDDEN = "a\u202egnp.exe\u2066\u0001\u001b[31m\u0085\u2028\u2029\ufeff\u200b"
PAINT_SECONDS = 2 if not SANITIZER else 20
# Colours of a canvas: one would be an empty one.
COLOURS = """(() => [...document.querySelectorAll('.picture canvas')].map((c) => {
  const {data} = c.getContext('2d').getImageData(0, 0, c.width, c.height);
  return new Set(new Uint32Array(data.buffer)).size;
}))()"""


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000000Z", time.gmtime())


def frame(name, **more):
    return {"pc": "0x1010", "module": 0, "function": name, "file": "/src/%s.c" % name, "line": 7, **more}


def hostile_report(frames=10000, samples=2000):
    """Markup in every text, characters that nobody sees, a very deep stack, numbers without measure."""
    text = MARKUP + HIDDEN
    deep = [frame("%s %d" % (text if i < 10 else "deep", i), share=1e308) for i in range(frames)]
    huge, long = 2 ** 63 - 1, 315 * 10 ** 15  # a collector takes up to ten years
    return small_report(
        text, started_at=now(), duration_ns=long, threshold_ns=huge, complete=False,
        app={"name": text, "version": text, "environment": text, "executable": text, "pid": huge, "tags": {text: text}},
        host={"os": "linux", "arch": "x86_64", "os_version": text, "kernel": text, "cpus": huge, "memory_bytes": huge},
        process={"cpu_percent": 1e308, "rss_bytes": huge, "thread_count": huge}, loop={"name": text, "tid": 7},
        cause={"kind": "lock", "detail": text, "share": 1, "syscall": text, "path": text, "peer": text, "lock_owner_tid": 9, "deadlock": [9, 9]},
        modules=[{"path": "/" + text, "base": "0x1000", "size": huge}],
        hot_stack={"frames": deep, "samples": huge, "duration_ns": huge, "share": 1},
        samples={"taken": huge, "interval_ns": huge, "stacks": [{"frames": [frame(text)]}],
                 "timeline": [{"at_ns": i * 1000, "for_ns": huge, "stack": i % 3, "state": "blocked", "syscall": text} for i in range(samples)],
                 "tree": {"frames": [frame(text), frame("deep")],
                          "nodes": [{"frame": i % 2, "parent": i - 1, "time_ns": huge - i, "samples": huge} for i in range(frames)]}},
        threads=[{"tid": 9, "name": text, "state": text, "syscall": text, "waits_for_tid": 9, "stack": {"frames": [frame(text)]}},
                 {"tid": 8, "name": "", "error": text}])


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")  # pylint: disable=consider-using-with
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.report = sample_report()
        frames = [*cls.report["hot_stack"]["frames"], *cls.report["samples"]["tree"]["frames"]]
        cls.names = ["decode_row", "resize_image", "on_click"]
        for at, entry in enumerate(frames):
            entry.update(function=cls.names[at % 3], file="/src/shop.c", line=10 + at)
        cls.chromium = Chromium()
        cls.addClassCleanup(cls.chromium.close)

    def write(self, report, *options):
        path, page = os.path.join(self.folder, self.id() + ".json"), os.path.join(self.folder, self.id() + ".html")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        done = subprocess.run([HANGDOG, "show", "--no-symbols", "--html", page, *options, path], env=environment(), timeout=2 * PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False)
        if "built without the dashboard" in done.stderr:  # and offered nowhere: test_installed.py
            self.assertEqual(1, done.returncode)
            self.assertIn("make dashboard", done.stderr)
            self.assertFalse(os.path.exists(page))
            self.skipTest("this hangdog has no page: scripts/build-dashboard, then build again")
        return page, done

    def open(self, report, **size):
        page, done = self.write(report)
        self.assertEqual((0, "", ""), (done.returncode, done.stdout, done.stderr))
        return self.browser("file://" + page, "Where the time went", **size)

    def browser(self, url, words, **size):
        browser = Browser(self.chromium, **size)
        self.addCleanup(browser.close)
        browser.call("Performance.enable", timeDomain="threadTicks")
        browser.open(url)
        browser.wait_for(words)
        return browser

    def assert_harmless(self, browser, own="file://"):
        faults = browser.faults() + [event for event in browser.events if event["method"] == "Page.javascriptDialogOpening"]
        self.assertEqual([], faults)
        self.assertEqual([], [url for url in browser.requests() if not url.startswith((own, "data:", "about:", "blob:"))])
        self.assertIsNone(browser.value("document.documentElement.dataset.taken || null"))
        self.assertEqual(0, browser.value("document.querySelectorAll('main img, main script, main iframe, main svg[onload]').length"))

    def picture(self, browser, name):
        folder = os.environ.get("HANGDOG_SCREENSHOTS")
        if folder:
            browser.screenshot(os.path.join(folder, name + ".png"))

    def worked(self, browser):
        """The seconds of a CPU that the page took so far: other programs do not count."""
        seconds = {metric["name"]: metric["value"] for metric in browser.call("Performance.getMetrics")["metrics"]}["TaskDuration"]
        print("%s: the page took %.2f s" % (self.id().rsplit(".", 1)[1], seconds))
        return seconds

    def assert_hostile_paints(self, browser, own="file://"):
        painted = browser.value("new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(true))))")
        self.assertTrue(painted)
        self.assertLess(self.worked(browser), PAINT_SECONDS)
        browser.value("for (const d of document.querySelectorAll('details')) d.open = true")
        browser.value("new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(true))))")
        for colours in browser.value(COLOURS):
            self.assertGreater(colours, 2, "a picture is blank")
        for selector in (".flame canvas", ".timeline canvas"):
            browser.value("document.querySelector('%s')?.focus()" % selector)
            for key in ("ArrowDown", "ArrowRight", "End"):
                browser.press(key)
        self.assertFalse(browser.value("[...document.querySelectorAll('main *')].some((e) => e.children.length === 0 && /[\\u202e\\u2066\\u0001\\u001b]/.test(e.textContent))"))
        self.assert_harmless(browser, own)


class Html(Pages):
    def test_a_file_that_needs_no_server(self):
        for name, size in (("html", {"height": 1500}), ("html-dark", {"height": 1500, "dark": True}), ("html-phone", {"width": 360, "height": 1500})):
            with self.subTest(name):
                browser = self.open(self.report, **size)
                text = browser.text()
                for words in (*self.names, "slept in clock_nanosleep", "What the thread did over time", "As hangdog show prints it", "main (watched)"[:4]):
                    self.assertIn(words, text)
                for colours in browser.value(COLOURS):
                    self.assertGreater(colours, 2, "a picture is blank")
                self.assertEqual(2, browser.value("document.querySelectorAll('canvas').length"))
                self.assertLessEqual(browser.value("document.documentElement.scrollWidth"), size.get("width", 1200))
                self.assert_harmless(browser)
                self.assertEqual(1, len([url for url in browser.requests() if url.startswith("file://")]))
                self.picture(browser, name)

    def test_the_words_of_kinds_and_causes(self):
        """Each is what words.def says, as the command prints it, and in its colour."""
        words = words_def.words(SOURCE)
        for row in words["cause"][-3:] + words["cause"][:1]:  # the newest ones, and one that was always there
            with self.subTest(row["word"]):
                browser = self.open({**self.report, "cause": {"kind": row["word"], "share": 1}})
                badge = browser.value("(() => { const b = document.querySelector('.cause'); return [b.innerText, getComputedStyle(b).color,"
                                      " getComputedStyle(document.documentElement).getPropertyValue('--%s')] })()" % row["colour"])
                red, green, blue = (int(badge[2][i:i + 2], 16) for i in (1, 3, 5))
                self.assertEqual([row["label"], "rgb(%d, %d, %d)" % (red, green, blue)], badge[:2])
        for kind, noun in (("too-many-threads", "Hang"), ("frame-drop", "Long frame"), ("fatal-hang", "Fatal hang"), ("crash", "Crash")):
            with self.subTest(kind):
                browser = self.open({**self.report, "kind": kind})
                self.assertRegex(browser.value("document.querySelector('h1').innerText"), r"\A%s of [\d.]+ m?s in " % noun)

    def test_the_keyboard_walks_the_flame_graph(self):
        browser = self.open(self.report)
        says = "document.querySelector('.flame .picture-says').innerText"
        browser.value("document.querySelector('.flame canvas').focus()")
        seen = [browser.value(says)]
        for key in ("ArrowDown", "ArrowDown", "Enter"):
            browser.press(key, 13 if key == "Enter" else 0)
            seen.append(browser.value(says))
        self.assertEqual(3, len(set(seen)), seen)
        self.assertRegex(seen[0], r"· [\d.]+ m?s, 100 %")
        self.assertFalse(browser.value("document.querySelector('.flame .picture-bar button').disabled"))
        browser.press("Escape", 27)
        self.assertTrue(browser.value("document.querySelector('.flame .picture-bar button').disabled"))
        browser.value("(() => { const s = document.querySelector('.flame input'); s.value = 'decode'; s.dispatchEvent(new Event('input')); })()")
        self.assertRegex(browser.value("document.querySelector('.flame output').innerText"), r"[1-9]\d* found, \d+ % of the time")
        browser.value("document.querySelector('.flame details').open = true")
        browser.wait_for("In it or below")
        self.assert_harmless(browser)

    def test_a_hostile_report_in_a_file(self):
        browser = self.open(hostile_report())
        self.assertIn("</script ><script>", browser.text())
        self.assertIn("\\u{202e}", browser.text())
        self.assert_hostile_paints(browser)

    def test_many_samples_in_a_file(self):
        report = copy.deepcopy(self.report)
        report["samples"]["timeline"] = [{"at_ns": 2000 * i, "for_ns": 2000, "stack": 0, "state": "running"} for i in range(100000)]
        browser = self.open(report)
        self.assertLess(self.worked(browser), PAINT_SECONDS)
        self.assert_harmless(browser)
        os.unlink(os.path.join(self.folder, self.id() + ".html"))
        report["samples"]["timeline"] *= 10
        page, done = self.write(report)
        self.assertEqual(1, done.returncode)
        self.assertIn("is not a Hangdog report: too large", done.stderr)
        self.assertFalse(os.path.exists(page))

    def test_what_it_refuses(self):
        _, done = self.write(self.report, "--json")
        self.assertEqual(2, done.returncode)
        self.assertIn("--json and --html exclude each other", done.stderr)
        report = os.path.join(self.folder, "kept.json")
        with open(report, "w", encoding="utf-8") as file:
            json.dump(small_report("f"), file)
        done = subprocess.run([HANGDOG, "show", "--html", report], env=environment(), timeout=PATIENCE, capture_output=True, text=True, check=False)
        self.assertEqual(2, done.returncode)
        self.assertIn("--html wants the page to write, such as hang.html; ", done.stderr)
        self.assertTrue(os.path.getsize(report) > 0)
        broken = os.path.join(self.folder, "broken.json")
        with open(broken, "wb") as file:
            file.write(json.dumps(small_report("NAME")).encode().replace(b"NAME", b"a\xff\xfe"))
        page = os.path.join(self.folder, "broken.html")
        for arguments, words in (((page, broken), "unable to decode byte 0xff"), (("/nowhere/x.html", os.path.join(self.folder, self.id() + ".json")), "cannot write /nowhere/x.html")):
            done = subprocess.run([HANGDOG, "show", "--html", *arguments], env=environment(), timeout=PATIENCE, capture_output=True, encoding="utf-8", check=False)
            self.assertEqual(1, done.returncode)
            self.assertIn(words, done.stderr)
        self.assertFalse(os.path.exists(page))


class Layouts(unittest.TestCase):
    """The pure parts of the pictures: web/tests/run.mjs runs their unit tests by node."""

    def test_layouts(self):
        if not os.path.exists(os.path.join(SOURCE, "web/node_modules/esbuild")):
            self.skipTest("esbuild is missing: scripts/build-dashboard")
        done = subprocess.run(["/usr/bin/node", os.path.join(SOURCE, "web/tests/run.mjs")], timeout=4 * PATIENCE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        self.assertEqual(0, done.returncode, done.stdout)


class Dashboard(Pages):
    def test_a_hostile_report_in_the_dashboard(self):
        need_fleet()
        if not os.path.exists(DASHBOARD):
            self.skipTest("there is no dashboard: scripts/build-dashboard")
        collector = Collector()
        self.addCleanup(collector.close)
        report = hostile_report(frames=2000)  # 2 MiB are the most of what Hangdog did not write
        status, answer = collector.send([report, small_report(started_at=now())])
        self.assertEqual((200, 2), (status, answer.get("accepted")), str(answer)[:500])
        (fingerprint,) = [group["fingerprint"] for group in collector.groups() if "<script>" in group["function"] or "deep" in group["function"]]
        for address, words in (("#/", "</script"), ("#/group/" + fingerprint, "Where the time went"), ("#/report/" + report["id"], "Where the time went")):
            with self.subTest(address):
                browser = self.browser("%s/#key=%s" % (collector.url, collector.read_key), "shop")
                browser.value("location.hash = '%s'" % address)
                browser.wait_for(words)
                self.assert_hostile_paints(browser, collector.url + "/")

    def test_what_the_collector_refuses(self):
        collector = Collector()
        self.addCleanup(collector.close)
        bytes_ = json.dumps(small_report("NAME")).encode().replace(b"NAME", b"a\xff\xfe")
        many = small_report(samples={"timeline": [{"at_ns": 0, "for_ns": 1}] * 10 ** 6})
        for name, body in (("bytes that are no UTF-8", bytes_), ("a million samples", json.dumps(many).encode())):
            with self.subTest(name):
                try:
                    status, answer = collector.send(body)
                except (BrokenPipeError, ConnectionResetError):  # refused while it comes
                    continue
                print(name, status, str(answer)[:200])
                self.assertIn(status, (200, 400, 413, 422))
                self.assertEqual(0, answer.get("accepted", 0))
        self.assertEqual([], collector.groups())


if __name__ == "__main__":
    main()
