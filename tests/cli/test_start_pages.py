# SPDX-License-Identifier: MIT
"""The pages of docs/start: what they type is known to the shell and to the command, and their programs compile.

scripts/check-start types them into a fresh Debian, which takes minutes."""

import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

from support_run import BUILD, HANGDOG, main

SOURCE = pathlib.Path(os.environ["HANGDOG_SOURCE"])
PAGES = sorted((SOURCE / "docs/start").glob("*.md"))


def blocks(page, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


class StartPages(unittest.TestCase):
    def test_the_first_page_has_all(self):
        listed = re.findall(r"\]\((\w+\.md)\)", (SOURCE / "docs/start/README.md").read_text(encoding="utf-8"))
        self.assertEqual(sorted(listed), [page.name for page in PAGES if page.name != "README.md"])

    def test_the_shell_understands_each_line(self):
        for page in PAGES:
            for text in blocks(page, "sh"):
                subprocess.run(["bash", "-n"], input=text, text=True, check=True, timeout=20)

    def test_the_command_knows_each_option(self):
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            for line in re.findall(r"^hangdog .*|(?<=`)hangdog [^`]*", text, re.M):
                words = shlex.split(line.rstrip("&"), comments=True)
                if len(words) < 2 or words[1].startswith("-"):
                    continue
                ours = words[1:words.index("--")] if "--" in words else words[1:]
                help_page = subprocess.run([HANGDOG, ours[0], "--help"], capture_output=True, text=True, timeout=20, check=False)
                self.assertEqual(0, help_page.returncode, line)
                for option in [word for word in ours[1:] if word.startswith("--")]:
                    self.assertIn(option, help_page.stdout, f"{page.name}: {line}")

    def test_their_programs_compile(self):
        with tempfile.TemporaryDirectory(prefix="hangdog-test-") as folder:
            for page in PAGES:
                for text in blocks(page, "python"):
                    compile(text, str(page), "exec")
                for text in blocks(page, "c"):
                    app = pathlib.Path(folder, "app.c")
                    app.write_text(text, encoding="utf-8")
                    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-I", SOURCE / "include", app, "-o", app.with_suffix(""),
                                    pathlib.Path(BUILD, "lib/libhangdog.a"), "-pthread"], check=True, timeout=60)


if __name__ == "__main__":
    main()
