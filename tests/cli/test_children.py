# SPDX-License-Identifier: MIT
"""The last line of a run says what was not watched: children with a loop, pages of a browser, a program that never started."""

import contextlib
import os
import shutil
import signal
import subprocess
import unittest

from support_run import HANGDOG, children_of, environment, free_port, main, wait_until
from support_side_by_side import SideBySide

LOOP = "import select, socket\nserver = [socket.create_server(('127.0.0.1', 0))]\nfor _ in range(40): select.select(server, [], [], 0.1)\n"
SERVER = "const server = require('net').createServer().listen(0); setTimeout(() => server.close(), 2500);\n"
WSGI = "def app(environ, start):\n    start('200 OK', [])\n    return [b'']\n"
PAGE = "<script>setInterval(() => { for (const end = Date.now() + 900; Date.now() < end;); }, 1500)</script>\n"


class Children(SideBySide):
    def said(self, *words, options=(), seconds=None, grown=0, **files):
        """What Hangdog prints of the run of these words, in a folder with these files; a signal ends it these seconds after the program
        has so many children."""
        folder = self.make_folder()
        os.chmod(folder, 0o755)
        for name, text in files.items():
            with open(os.path.join(folder, name.replace("__", ".")), "w", encoding="ascii") as file:
                file.write(text)
        words = [word.replace("FOLDER", folder) for word in words]
        env = environment({"XDG_STATE_HOME": os.path.join(folder, "state"), "PATH": os.environ["PATH"]})
        with subprocess.Popen([HANGDOG, "run", *options, "--", *words], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
            if seconds is not None:
                wait_until(lambda: run.poll() is not None or sum(len(children_of(pid)) for pid in children_of(run.pid)) >= grown, "its children")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    run.wait(seconds)
                with contextlib.suppress(ProcessLookupError):
                    run.send_signal(signal.SIGINT)
            lines = [line for line in run.communicate(timeout=90)[1].splitlines() if line.startswith("hangdog: ")]
        return lines[-1].replace(HANGDOG, "hangdog").replace(folder, "FOLDER")

    @unittest.skipUnless(shutil.which("npm"), "npm is not installed")
    def beside_npm_does_not_hide_its_server(self):
        said = self.said("npm", "start", options=["--threshold", "5s", "--launch", "30s"], package__json='{"scripts": {"start": "node server.js"}}', server__js=SERVER)
        self.assertRegex(said, r"^hangdog: npm ran for \S+ s: no hang of 5\.0 s or more, started in [^;]+; its child node \(server\.js\) was not watched: "
                               r"hangdog run --follow -- npm start$")

    @unittest.skipUnless(shutil.which("gunicorn"), "gunicorn is not installed")
    def beside_a_prefork_servers_workers_have_the_loops(self):
        said = self.said("gunicorn", "-w", "2", "-b", "127.0.0.1:%d" % free_port(), "app:app", seconds=5, grown=2, app__py=WSGI)
        self.assertRegex(said, r"; its (2 children, as gunicorn, were|child gunicorn was) not watched: hangdog run --follow -- gunicorn -w 2 ")

    @unittest.skipUnless(shutil.which("sudo") and os.geteuid() == 0, "no sudo, or not root")
    def beside_sudo_has_the_watch_within(self):
        said = self.said("sudo", "-u", "nobody", "/usr/bin/python3", "FOLDER/app.py", app__py=LOOP)
        self.assertRegex(said, r"; its child python3 \(app\.py\) was not watched: sudo -u nobody hangdog run -- /usr/bin/python3 FOLDER/app\.py$")

    @unittest.skipUnless(shutil.which("chromium") and not os.environ.get("HANGDOG_SANITIZER"), "chromium is not installed")
    def beside_a_browsers_pages_are_not_said_to_be_well(self):
        for follow in ([], ["--follow"]):
            said = self.said("chromium", "--no-sandbox", "--headless", "--user-data-dir=FOLDER/profile", "--remote-debugging-port=0",
                             "FOLDER/page.html", options=["--threshold", "20s", *follow], seconds=8, page__html=PAGE)
            self.assertRegex(said, r"hangs of its pages cannot be seen: .* All stacks of one that hangs: hangdog dump PID$")

    def beside_a_child_that_is_short_is_not_named(self):
        said = self.said("sh", "-c", "sleep 0.1; python3 -c 'pass'")
        self.assertNotIn("not watched", said)
        said = self.said("python3", "app.py", options=["--threshold", "9s"], app__py=LOOP)
        self.assertRegex(said, r"^hangdog: \S+ ran for \S+ s: no hang of 9\.0 s or more, started in [^;,]+$")

    def beside_hangdogs_own_threads_are_not_waited_for(self):
        for words in (["cat"], ["true"], ["ls"]):
            said = self.said(*words)
            self.assertRegex(said, r"; the main thread(, its only one,)? (spent |never called )", said)
            self.assertNotIn("another thread", said)

    def beside_messages_that_lack_sense(self):
        run = lambda *words: subprocess.run([HANGDOG, "run", *words], env=environment(), capture_output=True, text=True, check=False).stderr
        self.assertRegex(run(), r"^hangdog: which program\? try: ")
        self.assertEqual("hangdog: cannot run '/etc/passwd': it is no program\n", run("/etc/passwd"))
        script = os.path.join(self.make_folder(), "script")
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n")
        self.assertEqual("hangdog: cannot run '%s': not executable; try: chmod +x %s\n" % (script, script), run(script))

    def test_a_program_that_died_at_its_start_is_said_to_have(self):
        self.assertRegex(self.said("python3", "-c", "import no_such_module"),
                         r"^hangdog: python3 ended with status 1 after \S+ m?s, before it waited: no event loop, so hangs could not be seen$")
        self.assertRegex(self.said("sh", "-c", "kill -SEGV $$"), r"^hangdog: sh was killed by SIGSEGV after ")


if __name__ == "__main__":
    main()
