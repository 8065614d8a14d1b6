# SPDX-License-Identifier: MIT
"""Images as docs/containers.md and docs/Dockerfile make them: their programs run in a root with the named packages and no others."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.request

from support_image import dpkg, in_image, installed, make_image, named_packages
from support_run import BUILD, SANITIZER, SOURCE, free_port, main, wait_until
from test_readme import NODE_SERVER, blocks

DOCKERFILE = pathlib.Path(SOURCE, "docs/Dockerfile").read_text(encoding="utf-8")
PAGE = "docs/containers.md"
FLEET = os.path.join(BUILD, "libexec/hangdog")


def words_of(text, key):
    return json.loads(re.findall("^%s (.*)$" % key, text, re.MULTILINE)[-1])


def needed(path):
    said = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    return [name for name in re.findall(r"NEEDED.*\[(.*?)\]", said) if not name.startswith("libc.so")]


@unittest.skipUnless(shutil.which("dpkg-query"), "no dpkg here")
class Packages(unittest.TestCase):
    @unittest.skipUnless(os.path.isdir(FLEET), "built without the fleet")
    def test_the_message_names_debians_package_of_each_library(self):
        table = dict(re.findall(r'\{"(\S+)",\s*"(\S+)"\}', pathlib.Path(SOURCE, "cli/fleet/fleet.c").read_text(encoding="utf-8")))
        for program in ("hangdog-upload", "hangdog-serve"):
            for library in needed(os.path.join(FLEET, program)):
                owners = {line.split(":")[0] for line in dpkg("-S", "*/" + library).splitlines()}
                self.assertIn(library, table)
                self.assertTrue({table[library], table[library] + "t64"} & owners, (library, owners))


@unittest.skipIf(SANITIZER, "the programs need the sanitizer's runtime")
@unittest.skipUnless(os.geteuid() == 0 and shutil.which("dpkg-query"), "an image is made by root, of Debian's packages")
@unittest.skipUnless(os.path.isdir(FLEET), "built without the fleet")
class Container(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hangdog-test-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def image(self, name, packages):
        return make_image(self.folder / name, packages)

    def done(self, root, *words, **options):
        run = in_image(root, words, **options)
        said = run.communicate(timeout=60)
        return run.returncode, *said

    def collector(self):
        """The address of one that runs as docs/Dockerfile says, and its key for sending."""
        final = DOCKERFILE.rsplit("\nFROM ", 1)[1]
        root, port = self.image("collector", named_packages(final)), free_port()
        (root / "var/lib/hangdog-collector").mkdir()
        words = [word.replace("0.0.0.0:8437", "127.0.0.1:%d" % port) for word in words_of(final, "CMD")]
        new_key = self.done(root, *words, "--new-key", "send")
        key = re.search(r"hds_[0-9a-f]+", new_key[1] + new_key[2]).group()
        run = in_image(root, words)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        address = "http://127.0.0.1:%d" % port

        def answers():
            with urllib.request.urlopen(address + "/healthz", timeout=5) as answer:
                return answer.status == 200

        def is_up():
            try:
                return answers()
            except OSError:
                return run.poll() is not None
        wait_until(is_up, "the collector")
        self.assertIsNone(run.poll(), "it has ended")
        return address, key

    @unittest.skipUnless("nodejs" in installed() and shutil.which("node") == "/usr/bin/node", "no package nodejs is installed")
    def test_the_pages_image_watches_and_sends(self):
        (text,) = blocks("dockerfile", PAGE)
        root = self.image("app", ["nodejs", *named_packages(text)])
        (root / "reports").mkdir()
        (root / "server.js").write_text(re.sub("^ +", "", NODE_SERVER, flags=re.MULTILINE))
        words = [*words_of(text, "ENTRYPOINT"), *words_of(text, "CMD")]
        status, out, err = self.done(root, *words)
        self.assertEqual(0, status, out + err)
        self.assertRegex(err, r"hangdog: hang of .* in blocks")
        (report,) = [report for report in (json.loads(path.read_text()) for path in (root / "reports").glob("*.json")) if report["kind"] == "hang"]
        self.assertEqual("shop", report["app"]["name"])
        address, key = self.collector()
        status, out, err = self.done(root, "hangdog", "upload", "--spool", "/reports", "--to", address, env={"HANGDOG_KEY": key})
        self.assertEqual(0, status, out + err)
        self.assertIn("2 reports sent", out + err)

    def test_a_missing_library_has_its_package(self):
        root = self.image("small", [name for name in named_packages(blocks("dockerfile", PAGE)[0]) if not name.startswith(("libcurl", "ca-"))])
        missing = "libcurl.so.4" if not list((root / "usr/lib").glob("**/libcurl.so.4")) else None
        if missing is None:
            self.skipTest("libcurl4 is needed by an essential package here")
        for command in (["upload", "--to", "http://127.0.0.1:1"], ["serve"]):
            status, out, err = self.done(root, "hangdog", *command, env={"HANGDOG_KEY": "hds_0"})
            self.assertEqual((1, ""), (status, out))
            self.assertRegex(err, r"\Ahangdog: cannot start hangdog-%s: this system lacks .*libcurl\.so\.4.*; try: apt-get install .*libcurl4" % command[0])
        self.assertEqual(0, self.done(root, "hangdog", "--version")[0])


if __name__ == "__main__":
    main()
