# SPDX-License-Identifier: MIT
"""What scripts/check-prose and scripts/measure refuse in a tree of two rooms, and what they let pass."""

import os
import shutil
import subprocess
import tempfile
import unittest

from support_run import SOURCE, main

SCRIPTS = ("check-prose", "measure", "comments.py", "tree.py", "words.py")
PLAIN = "/* Copies the stack. Monitor only; the caller frees the copy (room.c). */\n"
REFUSED = {
    "/* Copies " + "and copies " * 12 + "the stack. */": "27 words",
    "/* Who waits for a lock is named. */": "a subject that names no actor",
    "/* Copies what is held. */": "'held': the field says",
    "/* A terminal is none. */": "'is none': say",
    "/* Copies the first of its frames. */": "'of its': name whose",
    "/* It copies the stack. */": "'It': a comment does not begin with a pronoun",
    "int first; /* that waits */": "'that': a comment does not begin with a pronoun",
    "/* Where a stack is to be had. */": "'to be had': say",
    "/* Calls hd_gone with a lock. */": "no hd_gone in the tree",
    "/* The other half is src/room/gone.c. */": "no file src/room/gone.c in the tree",
}
ACCEPTED = [PLAIN, "/* 0: there is none. */", "/* One thread copies. */", "/* These locks are free. */", "int n; /* in bytes */",
            "/* Prints \"told (lock.c:13)\". */", "/* As fs/pipe.c of the kernel has it. */"]


class CommentRule(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in SCRIPTS:
            self.write("scripts/" + name)
            shutil.copy(os.path.join(SOURCE, "scripts", name), os.path.join(self.folder, "scripts", name))
        for name in ("prose", "circles", "members"):
            self.write(f"scripts/allowed/{name}.txt")
        self.write("src/room/room.c", PLAIN)
        subprocess.run(["git", "init", "-q", self.folder], check=True, timeout=60)

    def write(self, path, text=""):
        whole = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as file:
            file.write(text)

    def run_script(self, name, *arguments):
        done = subprocess.run([os.path.join(self.folder, "scripts", name), *arguments], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual("", done.stderr)
        return done.returncode, done.stdout

    def test_each_rule_of_comments_has_its_fault(self):
        for number, text in enumerate(REFUSED):
            self.write(f"src/room/bad_{number}.c", text + "\n")
        status, said = self.run_script("check-prose", "-v", "src/room")
        self.assertEqual((1, 1), (status, self.run_script("check-prose")[0]))
        for number, why in enumerate(REFUSED.values()):
            self.assertIn(f"src/room/bad_{number}.c:1: {why}", said)

    def test_plain_comments_pass(self):
        self.write("src/room/good.c", "\n".join(ACCEPTED) + "\n")
        self.assertEqual((0, 1), (self.run_script("check-prose", "-v", "src/room")[0], len(self.run_script("check-prose", "--rooms")[1].splitlines())))

    def test_a_room_may_have_so_many_findings_as_its_row_says(self):
        self.write("src/room/bad.c", "/* It copies. */\n")
        self.write("scripts/allowed/prose.txt", "src/room 1\n")
        self.assertEqual(0, self.run_script("check-prose", "--tight")[0])
        self.write("src/room/bad.c", "/* It copies. */ int a; /* It waits. */\n")
        self.assertEqual(1, self.run_script("check-prose")[0])
        self.write("src/room/bad.c", "/* Copies. */\n")
        self.assertEqual((0, 1), (self.run_script("check-prose")[0], self.run_script("check-prose", "--tight")[0]))
        self.assertEqual(0, self.run_script("check-prose", "--shrink", "--tight")[0])

    def test_units_that_include_each_other_are_refused(self):
        self.write("src/room/a.h", '#include "room/b.h"\n')
        self.write("src/room/b.h")
        self.write("src/room/b_part.c", '#include "room/b.h"\n')
        self.assertEqual((0, ""), self.run_script("measure", "--circles"))
        self.write("src/room/b_part.c", '#include "room/a.h"\n')  # a part of b
        status, said = self.run_script("measure", "--circles")
        self.assertEqual(1, status)
        self.assertIn("src/room: a b\n", said)

    def test_members_of_a_large_struct_are_counted(self):
        body = "int a, *b; struct { int x, y; }; union { int p; } u, v; int (*f)(int, int); unsigned c : 1, d : 2; int e[2];"
        self.write("src/turn/turn.h", f"struct hd_turn {{ {body} }};\n")
        self.assertEqual((0, ""), self.run_script("measure", "--members"))
        self.assertRegex(self.run_script("measure")[1], r"struct hd_turn +9\n")
        self.write("src/turn/turn.h", f"struct hd_turn {{ {body} int g, h, i, j, k, l, m; }};\n")
        status, said = self.run_script("measure", "--members")
        self.assertEqual((1, True), (status, "hd_turn: 16 members, at most 15 allowed" in said))


if __name__ == "__main__":
    main()
