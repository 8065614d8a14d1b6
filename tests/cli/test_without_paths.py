# SPDX-License-Identifier: MIT
"""--without-paths: no folder of the user's and no peer is in a report, and the hang is named all the same."""

import pathlib
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


if __name__ == "__main__":
    main()
