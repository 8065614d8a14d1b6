# SPDX-License-Identifier: MIT
"""--without-paths: no folder of the user's and no peer is in a report, and the hang is named all the same."""

import pathlib
import re
import socket
import subprocess
import threading

from support_run import main
from test_cli import HANGDOG, Command, run

ASK = """
import asyncio, socket, sys
def ask_the_database():
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
        s.recv(1)
async def serve():
    for _ in range(5):
        await asyncio.sleep(0.1)
    ask_the_database()
    await asyncio.sleep(0.2)
asyncio.run(serve())
"""


class WithoutPaths(Command):
    def text_of_reports(self, *options):
        place = self.path / "of-anna"
        place.mkdir(exist_ok=True)
        script = place / "shop.py"
        script.write_text(ASK, encoding="utf-8")
        spool = self.path / ("spool%d" % len(options))
        with socket.create_server(("127.0.0.1", 0)) as server:
            def answer_late():
                peer, _ = server.accept()
                threading.Event().wait(0.9)
                peer.sendall(b"x")
                peer.close()
            late = threading.Thread(target=answer_late)
            late.start()
            port = server.getsockname()[1]
            done = subprocess.run([HANGDOG, "run", *options, "--spool", spool, "--", "/usr/bin/python3", script,
                                   str(port)], capture_output=True, text=True, timeout=60, check=True)
            late.join()
        shown = run("show", "latest", "--spool", spool)
        written = "".join(path.read_text(encoding="utf-8") for path in pathlib.Path(spool).iterdir())
        return done.stderr + shown.stdout + written, "127.0.0.1:%d" % port

    def test_what_is_left_out_and_what_stays(self):
        whole, peer = self.text_of_reports()
        self.assertIn("of-anna/shop.py", whole)
        self.assertIn(peer, whole)
        less, peer = self.text_of_reports("--without-paths")
        for word in ("of-anna", peer):
            self.assertNotIn(word, less)
        for word in ("ask_the_database", '"shop.py"', '"/usr/bin/python3', "network"):
            self.assertIn(word, less)

    def test_the_help_says_what_stays(self):
        help_text = " ".join(run("run", "--help").stdout.split())
        self.assertNotIn("no paths, peers", help_text)
        self.assertIn("no folders of yours and no peers in reports", help_text)

    def test_all_paths_that_stay_are_of_the_system(self):
        spool = self.path / "of-system"
        script = self.path / "sleeps.py"
        script.write_text(ASK.replace("ask_the_database()\n    await", "__import__('time').sleep(0.8)\n    await"), encoding="utf-8")
        run("run", "--without-paths", "--spool", spool, "--", "/usr/bin/python3", script, "0")
        text = "".join(path.read_text(encoding="utf-8") for path in spool.glob("*.json"))
        self.assertIn('"kind":"hang"', text.replace(" ", ""))
        paths = set(re.findall(r'"(/[^"]*)"', text))
        self.assertEqual([], [path for path in paths if not path.startswith(("/usr/", "/lib/", "/lib64/", "/opt/"))])


if __name__ == "__main__":
    main()
