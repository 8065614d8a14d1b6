# SPDX-License-Identifier: MIT
"""Debian's Chromium without a window, led over a pipe by its DevTools protocol: a test sees the page as a person would."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
import unittest

from support_run import PATIENCE

CHROMIUM = "/usr/bin/chromium"
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
           "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"]


class Chromium:
    """The process; each Browser is a window of it, with a session storage of its own."""

    def __init__(self):
        if not os.path.exists(CHROMIUM):
            raise unittest.SkipTest("chromium is missing: scripts/install-dependencies test")
        self.folder = tempfile.mkdtemp(prefix="hangdog-browser-")
        its_in, self.to = os.pipe()
        self.fro, its_out = os.pipe()
        self.number, self.rest, self.events = 0, b"", []

        def ends():  # the protocol's descriptors are 3 and 4
            kept_in, kept_out = os.dup(its_in), os.dup(its_out)
            os.dup2(kept_in, 3)
            os.dup2(kept_out, 4)
        # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
        self.process = subprocess.Popen([CHROMIUM, *OPTIONS, "--user-data-dir=" + self.folder], preexec_fn=ends,
                                        close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={"HOME": self.folder, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"})
        os.close(its_in)
        os.close(its_out)

    def call(self, session, method, parameters):
        """The result of one call; events that come meanwhile are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next(PATIENCE)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError("%s: %s" % (method, answer["error"]))
                return answer["result"]

    def _next(self, seconds):
        while b"\0" not in self.rest:
            if not select.select([self.fro], [], [], seconds)[0]:
                raise AssertionError("the browser does not answer")
            piece = os.read(self.fro, 1 << 16)
            if not piece:
                raise AssertionError("the browser has ended")
            self.rest += piece
        line, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.fro)
        shutil.rmtree(self.folder, ignore_errors=True)


class Browser:
    """One page in a window of its own."""

    def __init__(self, chromium, width=1200, height=900, dark=False):
        self.chromium, self.session = chromium, None
        self.context = self.call("Target.createBrowserContext")["browserContextId"]
        page = self.call("Target.createTarget", url="about:blank", browserContextId=self.context)
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.resize(width, height)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def call(self, method, **parameters):
        return self.chromium.call(self.session, method, parameters)

    @property
    def events(self):
        return [event for event in self.chromium.events if event.get("sessionId") == self.session]

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def open(self, url):
        self.call("Page.navigate", url=url)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError("%s: %s" % (expression, result["exceptionDetails"]))
        return result["result"].get("value")

    def text(self):
        return self.value("document.body ? document.body.innerText : ''")

    def wait_for(self, words):
        """Until the page shows them; its text."""
        end = time.monotonic() + PATIENCE
        while words not in (text := self.text()):
            if time.monotonic() > end:
                raise AssertionError("waited in vain for %r; the page:\n%s" % (words, text))
            time.sleep(0.05)
        return text

    def press(self, key, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=False)["data"]))

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"]

    def faults(self):
        """Exceptions of scripts, and what a policy has blocked."""
        return [event["params"] for event in self.events
                if event["method"] == "Runtime.exceptionThrown" or
                (event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error" and
                 "status of 40" not in event["params"]["entry"]["text"])]

    def close(self):
        self.session = None
        self.call("Target.disposeBrowserContext", browserContextId=self.context)
