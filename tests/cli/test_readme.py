# SPDX-License-Identifier: MIT
"""What the README tells users to paste works: its library example and its recipes, as they are written there.

That of a systemd service is in test_systemd.py."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import textwrap
import unittest

from support_run import BUILD, HANGDOG, children_of, environment, main, name_of, wait_until
from support_x_server import x_server

SOURCE = pathlib.Path(os.environ["HANGDOG_SOURCE"])
README = (SOURCE / "README.md").read_text()
PYTHON_SERVER = """\
    #!/usr/bin/python3
    import asyncio, time

    async def main():
        for _ in range(8):
            await asyncio.sleep(0.05)
        time.sleep(0.9)
        for _ in range(8):
            await asyncio.sleep(0.05)

    asyncio.run(main())
    """
NODE_SERVER = """\
    const server = require('net').createServer().listen(0);
    function blocks() { for (const end = Date.now() + 900; Date.now() < end;); }
    setTimeout(blocks, 500);
    setTimeout(() => server.close(), 2000);
    """


def blocks(language, page="README.md"):
    return re.findall(rf"^```{language}\n(.*?)^```", (SOURCE / page).read_text(), re.MULTILINE | re.DOTALL)


def recipe(start):
    """The one line of a shell recipe that begins so."""
    (line,) = [line for block in blocks("sh") for line in block.splitlines() if line.startswith(start)]
    return line


class Readme(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hangdog-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "bin").mkdir()
        self.env = environment({"XDG_STATE_HOME": str(self.folder / "state"),
                                "PATH": f"{self.folder}/bin:{os.path.dirname(HANGDOG)}:{os.environ['PATH']}"})

    def script(self, name, text):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        path.chmod(0o755)

    def paste(self, line):
        return subprocess.run(line, shell=True, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=60)

    def hangs(self):
        """Reports of hangs in any spool of the test's folder, with names."""
        shown = [subprocess.run([HANGDOG, "show", path, "--json"], env=self.env, capture_output=True, text=True, timeout=60,
                                check=True).stdout for path in self.folder.glob("**/????????-*-*.json")]
        return [report for report in map(json.loads, shown) if report["kind"] == "hang"]

    def test_is_short(self):
        self.assertLessEqual(len(README.splitlines()), 150)

    def test_the_library_example_compiles_and_reports_its_hang(self):
        (text,) = blocks("c", "docs/start/library.md")
        (self.folder / "app.c").write_text(text)
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", SOURCE / "include", "app.c", "-o", "app",
                        os.path.join(BUILD, "lib/libhangdog.a"), "-pthread"], cwd=self.folder, check=True, timeout=60)
        with subprocess.Popen([self.folder / "app"], stdin=subprocess.PIPE, env=self.env) as app:
            wait_until(lambda: "hangdog" in self.threads(app.pid), "the watch")
            app.stdin.write(b"x")
            app.stdin.flush()
            wait_until(lambda: any(3e9 <= hang["duration_ns"] < 3.5e9 for hang in self.hangs()), "the report", 10)
            app.stdin.close()
            self.assertEqual(0, app.wait(10))

    @staticmethod
    def threads(pid):
        names = [pathlib.Path(f"/proc/{pid}/task/{tid}/comm").read_text().strip() for tid in os.listdir(f"/proc/{pid}/task")]
        return names

    @unittest.skipUnless(shutil.which("gedit") and shutil.which("Xvfb"), "gedit or Xvfb is not installed")
    def test_a_desktop_program_notifies(self):
        """All hangs of gedit are in its libraries: a long line stops Pango, then GTK, then GtkSourceView."""
        rows = [{"id": number, "name": f"row {number}", "value": number / 2, "tags": ["a", "b"]} for number in range(6000)]
        (self.folder / "long.json").write_text(json.dumps(rows))
        self.script("bin/notify-send", f'#!/bin/sh\nprintf "%s\\n" "$@" >>{self.folder}/notified\n')
        with x_server() as display:
            self.env = {**self.env, **display, "HOME": str(self.folder), "GSETTINGS_BACKEND": "memory"}
            with subprocess.Popen(recipe("hangdog run --on-hang") + " long.json", shell=True, cwd=self.folder, env=self.env,
                                  stderr=subprocess.DEVNULL) as run:
                try:
                    wait_until((self.folder / "notified").exists, "a notification")
                finally:
                    for pid in children_of(children_of(run.pid)[0]):
                        if name_of(pid) == "gedit":
                            os.kill(pid, signal.SIGTERM)
                run.wait(60)
        a_librarys = r"(?:fatal )?hang of (?:at least )?\S+ m?s in (?!main\b)\S+( \((from )?lib[^)]*\))?, gedit\[\d+\]"
        self.assertRegex((self.folder / "notified").read_text(), r"\AIt hung\n" + a_librarys)
        self.assertRegex(self.paste(recipe("hangdog list")).stdout, r"  gedit  (?!.*  main  )")
        self.assertRegex(self.paste(recipe("hangdog show latest")).stdout, a_librarys)

    def test_a_python_server_is_reported(self):
        self.script("server.py", PYTHON_SERVER)
        said = self.paste([line for block in blocks("sh") for line in block.splitlines() if "server.py" in line][0])
        self.assertEqual(0, said.returncode, said.stderr)
        (hang,) = self.hangs()
        self.assertTrue(0.9e9 <= hang["duration_ns"] < 1.4e9, hang)

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_a_node_server_is_reported_with_its_function(self):
        self.script("server.js", NODE_SERVER)
        said = self.paste([line for block in blocks("sh") for line in block.splitlines() if "server.js" in line][0])
        self.assertEqual(0, said.returncode, said.stderr)
        names = [frame.get("function") for hang in self.hangs() for frame in hang["hot_stack"]["frames"]]
        self.assertIn("blocks", names, said.stderr)

    @unittest.skipUnless(shutil.which("npm"), "npm is not installed")
    def test_npm_start_is_reported_by_the_packages_name(self):
        self.script("server.js", NODE_SERVER)
        (self.folder / "package.json").write_text('{"name": "shop", "version": "3", "scripts": {"start": "node server.js"}}')
        (line,) = [line for block in blocks("sh") for line in block.splitlines() if line.endswith("-- npm start")]
        said = self.paste(line)
        self.assertEqual(0, said.returncode, said.stderr)
        hangs = [report for report in self.hangs() if "blocks" in [frame.get("function") for frame in report["hot_stack"]["frames"]]]
        self.assertEqual([("shop", "1.4")], [(hang["app"]["name"], hang["app"]["version"]) for hang in hangs], said.stderr)

    @unittest.skipUnless(shutil.which("dpkg-query"), "no dpkg here")
    def test_the_container_has_the_commands_libraries(self):
        text = blocks("dockerfile", "docs/containers.md")[0]
        named = set(re.search(r"install -y ([\w .-]+)", text).group(1).split())
        self.assertIn('"--spool", "/reports", "--"', text)
        there = named | {"libc6"}
        for package in named:
            depends = subprocess.run(["dpkg-query", "-W", "-f", "${Depends}", package], capture_output=True, text=True,
                                     check=True).stdout
            there |= {depend.split()[0] for depend in depends.split(",")}
        needed = re.findall(r"NEEDED.*\[(.*?)\]", subprocess.run(["readelf", "-d", HANGDOG], capture_output=True, text=True,
                                                                 check=True).stdout)
        for library in needed:
            owners = subprocess.run(["dpkg-query", "-S", f"*/{library}"], capture_output=True, text=True, check=True).stdout
            self.assertTrue(there & {line.split(":")[0] for line in owners.splitlines()}, library)


if __name__ == "__main__":
    main()
