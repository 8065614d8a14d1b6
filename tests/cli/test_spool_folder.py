# SPDX-License-Identifier: MIT
#
# A spool in a folder of another user, who puts links in its place and in that of reports. Root's runner works in the
# folder that it opened. The attack runs in a mount namespace where all but a folder of its own is read-only.

import json
import os
import pathlib
import subprocess
import sys
import unittest

from support_run import HANGDOG, environment, main

FOLDER = "/tmp/hangdog-spool-folder"
OTHER = 65534
HOME, VICTIM = pathlib.Path(FOLDER, "home"), pathlib.Path(FOLDER, "victim")
SPOOL = HOME / "spool"
FREEZE = """
import asyncio, os, sys, time
def freeze(): time.sleep(0.9)
async def serve():
    for _ in range(5): await asyncio.sleep(0.1)
    freeze()
    await asyncio.sleep(0.5)
    if "exchange" in sys.argv:
        os.rename("{home}/spool", "{home}/moved"); os.symlink("{victim}", "{home}/spool")
        os.kill(os.getpid(), 9)
if "drops" in sys.argv:
    os.setgid({other}); os.setuid({other})
asyncio.run(serve())
""".format(home=HOME, victim=VICTIM, other=OTHER)


def run(*options, program=()):
    return subprocess.run([HANGDOG, "run", *options, "--", "/usr/bin/python3", "-c", FREEZE, *program], cwd=FOLDER,
                          env=environment(), capture_output=True, text=True, timeout=60, check=False)


def others_link():
    link = HOME / "link"
    link.symlink_to(VICTIM)
    os.lchown(link, OTHER, OTHER)
    done = run("--spool", link)
    return {"said": done.stderr, "victim": os.listdir(VICTIM)}


def own_link():
    (HOME / "link").symlink_to(SPOOL)
    SPOOL.mkdir()
    run("--spool", HOME / "link")
    return {"reports": len(list(SPOOL.glob("*.json")))}


def exchange():
    run("--spool", SPOOL, program=["exchange"])
    return {"victim": os.listdir(VICTIM), "reports": len(list((HOME / "moved").glob("*.json")))}


def command():
    """What the command is given of a report of root's, of another user's, and of a link that took its place."""
    told = {}
    for name, arguments, before in (("own", (), ""), ("others", ("drops",), ""),
                                    ("link", ("drops",), 'rm "$1"; ln -s %s/secret "$1"; ' % FOLDER)):
        SPOOL.mkdir(exist_ok=True)
        os.chown(SPOOL, OTHER, OTHER)
        out = pathlib.Path(FOLDER, "out-" + name)
        pathlib.Path(FOLDER, "secret").write_text("secret")
        # the program's user exchanges the file as soon as there is one
        exchanger = subprocess.Popen(["sh", "-c", "until set -- %s/*.json && test -f \"$1\"; do :; done; %s:" % (SPOOL, before)])
        run("--spool", SPOOL, "--on-hang", 'echo "$1" > %s; cat "$1" >> %s' % (out, out), program=arguments)
        exchanger.wait()
        told[name] = out.read_text() if out.exists() else ""
        for path in SPOOL.iterdir():
            path.unlink()
    return told


class SpoolFolder(unittest.TestCase):
    def attack(self, name):
        script = ("mount -o remount,bind,ro / && mount -t tmpfs tmpfs /tmp && mkdir %s && exec %s -B %s %s"
                  % (FOLDER, sys.executable, os.path.abspath(__file__), name))
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=300,
                              env=environment({"PYTHONPATH": os.path.dirname(os.path.abspath(sys.modules["support_run"].__file__))}),
                              check=False)
        if "mount:" in done.stderr or "unshare:" in done.stderr:
            self.skipTest("no mount namespace here: " + done.stderr.strip())
        return json.loads(done.stdout.splitlines()[-1])

    def setUp(self):
        if os.getuid() != 0:
            self.skipTest("only root makes a mount namespace, and has rights to lose")

    def test_another_users_link_is_not_followed(self):
        seen = self.attack("others_link")
        self.assertEqual([], seen["victim"])
        self.assertIn("cannot use the spool '%s/link': another user's link leads there; name its folder" % HOME, seen["said"])
        self.assertIn("hang of ", seen["said"])  # the program is watched all the same

    def test_roots_own_link_is(self):
        self.assertEqual({"reports": 2}, self.attack("own_link"))

    def test_a_link_that_takes_the_spools_place_while_the_program_runs(self):
        self.assertEqual({"victim": [], "reports": 2}, self.attack("exchange"))

    def test_the_command_reads_a_copy_of_another_users_report(self):
        told = self.attack("command")
        self.assertRegex(told["own"], r"\A%s/[^\n]*\.json\n\{" % SPOOL)
        self.assertRegex(told["others"], r'\A/proc/self/fd/3\n\{"format":"hangdog-report/1"')
        self.assertNotIn("secret", told["link"])


if __name__ == "__main__":
    attacks = {"others_link": others_link, "own_link": own_link, "exchange": exchange, "command": command}
    if sys.argv[1:] and sys.argv[1] in attacks:
        HOME.mkdir()
        VICTIM.mkdir()
        os.chown(HOME, OTHER, OTHER)
        print(json.dumps(attacks[sys.argv[1]]()))
    else:
        main()
