# SPDX-License-Identifier: MIT
"""The helper that the tests of screens use: what it sees of a terminal, and what it takes for equal."""

from support_run import main
from support_screen import Screens, Terminal, replaced, screen


class TheHelper(Screens):
    def test_it_sees_a_terminal_of_that_size(self):
        self.assertEqual("24 80", screen(["stty", "size"]))
        self.assertEqual("9 40", screen(["stty", "size"], width=40, height=9))
        self.assertEqual("1 1 1", screen(["sh", "-c", "for i in 0 1 2; do test -t $i; printf '%s ' $((1 - $?)); done"]))

    def test_it_sees_all_lines_and_the_status(self):
        lines = screen(["sh", "-c", "seq 200; exit 7"], status=7).split("\n")
        self.assertEqual([str(i) for i in range(1, 201)], lines)
        with self.assertRaisesRegex(AssertionError, "status 7, not 0"):
            screen(["sh", "-c", "exit 7"])

    def test_it_sees_colours_when_asked(self):
        red = ["printf", r"\033[1;31mred\033[0m"]
        self.assertEqual("red", screen(red))
        self.assertIn("\033[1m\033[31mred", screen(red, colours=True))

    def test_it_presses_keys(self):
        with Terminal(["sh", "-c", "echo ready; read line; echo got $line"]) as terminal:
            terminal.wait_for("ready")
            self.assertIsNone(terminal.status())
            terminal.keys("abc", "Enter")
            self.assertEqual(0, terminal.wait_for_end())
            self.assertIn("got abc", terminal.text())

    def test_values_are_placeholders_on_both_sides(self):
        shown = "hangdog: hang of 1.2 s in lookup (lock.c:13), lockg[77], 01:02:03"
        self.assertScreen("hangdog: hang of 901 ms in lookup (lock.c:13), lockg[9123], 22:54:56", shown)
        self.assertScreen("hangdog: hang of DURATION in lookup (lock.c:13), lockg[PID], TIME", shown)
        for other in ("hangdog: hang of 901 ms in lookup (lock.c:14), lockg[9123], 22:54:56",
                      "hangdog: hang of 901 ms in lookup (lock.c:13), lockg[9123], 23 Nov 22:54",
                      "hangdog: hang of 901 ms in lookup (lock.c:13), other[9123], 22:54:56",
                      "  hangdog: hang of 901 ms in lookup (lock.c:13), lockg[9123], 22:54:56\n more"):
            with self.assertRaises(AssertionError, msg=other):
                self.assertScreen(other, shown)
        self.assertEqual("LOST  N\nDURATION  3  a.c:7  ID", replaced("LOST    N\n2.7 s   3  a.c:7  a7ac1f\n"))
        self.assertEqual("more: hangdog show ID", replaced("more: hangdog show a7ac1f"))
        self.assertEqual("waited for child PID (sleep)", replaced("waited for child 8510 (sleep)"))
        self.assertEqual("1 h 04 min, 3 min 12 s".count("m"), 2)
        self.assertEqual("DURATION, DURATION, 3 minutes", replaced("1 h 04 min, 3 min 12 s, 3 minutes"))


if __name__ == "__main__":
    main()
