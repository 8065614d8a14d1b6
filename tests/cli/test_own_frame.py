# SPDX-License-Identifier: MIT
"""Which frame of a hot stack stands for the hang: whose code it is, by its file, its name and its module."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["HANGDOG_BUILD"])
HANGDOG = BUILD / "bin/hangdog"
WRITE_REPORT = BUILD / "tests/programs/write-report"
LIBC, PROGRAM = range(2)
POLL = {"module": LIBC, "function": "poll"}


def python(function, file):
    """A function that python3, the program, runs."""
    return {"module": PROGRAM, "function": function, "file": file, "line": 7, "inlined": True, "language": "python"}


def own(*frames):
    """The function that stands for a hang in these, innermost first; all have the whole of its time."""
    with tempfile.TemporaryDirectory() as folder:
        out = subprocess.run([WRITE_REPORT, folder, "full"], check=True, capture_output=True, text=True).stdout
        file = pathlib.Path(folder) / (out.strip() + ".json")
        report = json.loads(file.read_text())
        report["modules"] = [{"path": path, "base": "0x0", "size": 4096}
                             for path in ("/usr/lib/x86_64-linux-gnu/libc.so.6", "/opt/app/bin/app")]
        report["app"] = {**report["app"], "name": "app", "executable": "/opt/app/bin/app"}
        report["app"].pop("build_id", None)
        report["hot_stack"]["frames"] = [{"pc": "0x10", "offset": "0x10", "share": 1, **frame} for frame in frames]
        file.write_text(json.dumps(report))
        listed = subprocess.run([HANGDOG, "list", "--json", "--no-symbols", "--spool", folder], check=True,
                                capture_output=True, text=True).stdout
        return json.loads(listed)[0]["function"]


class Scripts(unittest.TestCase):
    def test_a_programs_own_modules_below_usr_share_are_its_own_code(self):
        frames = [POLL, python("f", "/usr/lib/python3/dist-packages/gi/x.py"), python("g", "/usr/share/app/a.py"),
                  python("<module>", "/usr/bin/app")]
        self.assertEqual("g", own(*frames))
        for library in ("nodejs/express/lib/router.js", "javascript/jquery/jquery.js", "perl/5.36/IO/Select.pm",
                        "perl5/LWP/UserAgent.pm", "lua/5.1/socket/http.lua", "python3/debpython/files.py"):
            frames[2]["file"] = "/usr/share/" + library
            self.assertEqual("<module>", own(*frames), library)


if __name__ == "__main__":
    unittest.main(verbosity=2)
