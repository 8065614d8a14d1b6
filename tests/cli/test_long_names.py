# SPDX-License-Identifier: MIT
"""Names of C++ that are longer than any terminal, on each screen that has them."""

import re
import subprocess

from support_run import main
from test_show_screen import Folder

TEMPLATES = r"""
#include <sys/epoll.h>
#include <unistd.h>
#include <map>
#include <string>
#include <variant>
#include <vector>
namespace acme::pricing::engine {
using Value = std::variant<int, double, std::string, std::vector<double>>;
using Rows = std::map<std::string, std::vector<std::pair<Value, std::string>>>;
__attribute__((noinline)) long revalue(const Rows &rows, std::vector<std::pair<Value, std::string>> &found) {
    usleep(WAIT); __asm__ volatile("");
    return rows.size() + found.size(); }
template <class K, class V> struct Cache {
    __attribute__((noinline)) static long reload(K rows, V found) {
        long n = revalue(rows, found); __asm__ volatile(""); return n; } };
}
using namespace acme::pricing::engine;
static void wait_for_events(int set, int n) { struct epoll_event e; while (n-- > 0) epoll_wait(set, &e, 1, 20); }
int main() {
    int ends[2]; struct epoll_event e = {EPOLLIN, {0}};
    int set = epoll_create1(0);
    if (pipe(ends) != 0) return 1;
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &e);
    for (int i = 0; i < 3; i++) {
        wait_for_events(set, 20);
        if (i < 2) Cache<Rows, std::vector<std::pair<Value, std::string>>>::reload({}, {});
    }
    return 0; }
"""
FUNCTION = "acme::pricing::engine::revalue(...) (prices.cpp:12)"
OWN_SPOOL = ("--spool", "state/hangdog/prices")  # not an agent's


class LongNames(Folder):
    def watch(self, microseconds):
        """The program has hung twice in a run; the run's screen."""
        (self.folder / "prices.cpp").write_text(TEMPLATES, encoding="ascii")
        subprocess.run(["g++", "-std=c++17", "-g", "-O1", "-fno-optimize-sibling-calls", "-DWAIT=%d" % microseconds, "prices.cpp",
                        "-o", "prices"], check=True, cwd=self.folder)
        return self.seen("run", "--", "./prices")

    def test_as_it_ends_and_again(self):
        text = self.watch(900000)
        self.assertFits(text)
        self.assertIn("hangdog: hang of 90", text)
        self.assertRegex(text, r"(?m)^  > acme::pricing::engine::revalue\(\.\.\.\) +prices\.cpp:12 +in usleep$")
        self.assertRegex(text, r"(?m)^hangdog: same hang again: \S+ m?s in acme::pricing::engine::revalue\(\.\.\.\)$")
        head, row = text.split("\n")[-2:]
        self.assertIn("revalue(...) (prices.cpp:12)", row)
        self.assertEqual(head.index("REPORT"), len(row) - 6, "the last column is below its title:\n" + text)

    def test_goes_on(self):
        text = self.watch(5600000)
        self.assertFits(text)
        self.assertRegex(text, r"(?m)^hangdog: prices\[\d+\] frozen for 5 s, still going:\n  " + re.escape(FUNCTION) + "$")

    def test_looking_back(self):
        self.watch(900000)
        self.assertFits(re.sub(r"(?ms)^Run.*", "", self.seen("show", *OWN_SPOOL, width=40, height=70)), 40)
        for width in (60, 80, 200):
            for command in (("list",), ("stats",), ("show", "latest~1"), ("show", "--all-frames", "latest~1")):
                with self.subTest(command=command, width=width):
                    text = self.seen(*command, *OWN_SPOOL, width=width, height=70)
                    self.assertFits(re.sub(r"(?m)^  file +/.*", "", text), width)
                    self.assertRegex(text, r"revalue(\(\.\.\.\))?\s+\(prices\.cpp:1")
                    if command[0] != "show":
                        head, row = text.split("\n")[:2]
                        self.assertEqual(head.index("REPORT" if command[0] == "list" else "APP"),
                                         row.index(" prices ") + 1 if command[0] == "stats" else len(row) - 6, text)
        text = self.seen("show", "--all-frames", "latest~1", *OWN_SPOOL, height=70)
        self.assertRegex(text, r"(?m)^ +100%  acme::pricing::engine::revalue\(\.\.\.\) +prices\.cpp:12$")
        self.assertRegex(text, r"(?m)^ +100%  \S+::Cache<\.\.\.>::reload\(\.\.\.\) +prices\.cpp:\d+$")
        self.assertRegex(text, r"(?m)^  at .* waits in clock_nanosleep +revalue$|^  at .* revalue \(prices\.cpp:12\)$")
        self.assertRegex(text, r"(?m)^  program prices, build [0-9a-f]{12}, pid \d+")

    def test_a_pipe_has_them_whole(self):
        self.watch(900000)
        done = subprocess.run(["hangdog", "show", *OWN_SPOOL], cwd=self.folder, env=self.env, capture_output=True, text=True, check=True)
        self.assertRegex(done.stdout, r"(?m)^ +100%  acme::pricing::engine::revalue\(std::map<.*std::vector<.*&\)  prices\.cpp:12$")


if __name__ == "__main__":
    main()
