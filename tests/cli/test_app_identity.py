# SPDX-License-Identifier: MIT
#
# The app's name and version in the reports of programs that are only run: Python and Node, their children, npm, a
# program that is killed, and lists by version.

import json
import os
import shutil
import subprocess
import unittest

from support_run import HANGDOG, RealCase, main

HANG = """
import asyncio, os, time
async def main():
    await asyncio.sleep(.1)
    time.sleep(.6)
    await asyncio.sleep(.1)
if os.environ.get("FORKS"):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
asyncio.run(main())
"""
SERVER = "setTimeout(() => { const end = Date.now() + 600; while (Date.now() < end); }, 200); setTimeout(() => 0, 900)"


class AppIdentity(RealCase):
    def apps(self, folder, *argv, options=(), env=None):
        """{(kind, name, version, environment)} of the reports of a run."""
        spool = os.path.join(folder, "spool")
        shutil.rmtree(spool, ignore_errors=True)
        ran = subprocess.run([HANGDOG, "run", "--spool", spool, *options, "--", *argv], cwd=folder, capture_output=True,
                             text=True, env={**os.environ, **(env or {})}, timeout=60, check=False)
        self.errors = ran.stderr
        found = set()
        for name in os.listdir(spool):
            if name.endswith(".json") and not name.startswith("."):
                with open(os.path.join(spool, name), encoding="utf-8") as file:
                    report = json.load(file)
                app = report["app"]
                found.add((report["kind"], app["name"], app.get("version"), app.get("environment")))
        return found

    def folder_with(self, **files):
        folder = self.folder()
        for name, text in files.items():
            with open(os.path.join(folder, name.replace("_", ".")), "w", encoding="utf-8") as file:
                file.write(text)
        return folder

    def test_a_script_has_its_own_name_and_the_users_version(self):
        folder = self.folder_with(app_py=HANG)
        self.assertEqual({("hang", "app.py", None, None), ("session", "app.py", None, None)},
                         self.apps(folder, "/usr/bin/python3", "app.py"))
        self.assertRegex(self.errors, r"in main \(app\.py:5\), app\.py\[\d+\]")
        listed = subprocess.run([HANGDOG, "stats", "--by", "version", "--json", "--spool", os.path.join(folder, "spool")],
                                capture_output=True, text=True, check=True).stdout
        self.assertIsNone(json.loads(listed)[0].get("version"))  # not the interpreter's build-id
        self.assertEqual({("hang", "shop", "1.2", "staging"), ("session", "shop", "1.2", "staging")},
                         self.apps(folder, "/usr/bin/python3", "app.py", env={"FORKS": "1", "HANGDOG_VERSION": "1.1"},
                                   options=["-f", "--name", "shop", "--app-version", "1.2", "--environment", "staging"]))

    def test_a_forked_child_is_the_same_app(self):
        folder = self.folder_with(app_py=HANG)
        self.assertEqual({"app.py"}, {name for _, name, _, _ in self.apps(folder, "/usr/bin/python3", "app.py", options=["-f"],
                                                                         env={"FORKS": "1"})})

    def test_a_child_that_runs_a_script_has_its_name(self):
        folder = self.folder_with(app_py=HANG)
        found = self.apps(folder, "sh", "-c", "/usr/bin/python3 app.py; true", options=["-f"])
        self.assertIn(("hang", "app.py", None, None), found)

    @unittest.skipUnless(shutil.which("npm"), "there is no npm")
    def test_npm_starts_the_app_of_package_json(self):
        package = {"name": "@shop/api", "version": "2.3.4", "scripts": {"start": "node server.js"}}
        folder = self.folder_with(server_js=SERVER, package_json=json.dumps(package))
        found = self.apps(folder, "npm", "start", "--silent", options=["-f"])
        self.assertIn(("hang", "api", "2.3.4", None), found)
        self.assertEqual({("api", "2.3.4")}, {(name, version) for _, name, version, _ in found})
        found = self.apps(folder, "node", "server.js")
        self.assertEqual({("hang", "api", "2.3.4", None), ("session", "api", "2.3.4", None)}, found)

    def test_a_wrong_version_is_refused(self):
        ran = subprocess.run([HANGDOG, "run", "--app-version", "7" * 64, "true"], capture_output=True, text=True, check=False)
        self.assertEqual(125, ran.returncode)
        self.assertIn("at most 63 bytes", ran.stderr)


if __name__ == "__main__":
    main()
