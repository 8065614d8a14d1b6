#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Debian's redis-server under `hangdog run`: DEBUG SLEEP is `sleep` in debugCommand, a long Lua script is `cpu`; idle,
# and stopped, it is not hanging; its log and its exit status are its own. The truth is its own slow log.

import os
import re
import socket
import time
import unittest

from support_run import PATIENCE, Program, RealCase, Together, free_port, hot_functions, hot_modules, main
from support_run import runs_under_sanitizer, undisturbed, wait_until

SERVER = "/usr/bin/redis-server"
LOOP = "local n = 0 for i = 1, %d do n = n + i %% 7 end return n"
TRIAL = 3000000
ALL = Together()


def setUpModule():
    if not os.access(SERVER, os.X_OK):
        raise unittest.SkipTest("%s is not installed: scripts/install-dependencies test" % SERVER)
    why = runs_under_sanitizer([SERVER, "--version"])
    if why:
        raise unittest.SkipTest("redis-server itself does not run with this sanitizer's runtime: " + why)
    ALL.start("idle", idle)
    ALL.start("sleep", hang, ["DEBUG", "SLEEP", "2"], 0)
    ALL.start("plain", hang, ["DEBUG", "SLEEP", "2"], 0, False)
    ALL.start("stopped sleep", hang, ["DEBUG", "SLEEP", "5"], 3)
    ALL.start("cpu", one_after_the_other)
    ALL.join()


def tearDownModule():
    for result in ALL.results.values():
        for server in result if isinstance(result, list) else [result]:
            server.close()


class Server(Program):
    """A server of its own port, and one connection to it."""

    def __init__(self, watched):
        self.port = free_port()
        self.slow_ns = self.stopped_ns = self.status = None
        super().__init__([SERVER, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                          "--enable-debug-command", "yes", "--slowlog-log-slower-than", "300000",
                          "--busy-reply-threshold", "60000"], watched=watched)
        self.connection = wait_until(self._connect, "redis-server to listen")
        assert self.pid  # looked up while it runs
        self.file = self.connection.makefile("rb")

    def _connect(self):
        if self.process.poll() is not None:
            raise AssertionError("redis-server ended: " + self.output + self.errors)
        try:
            return socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        except ConnectionRefusedError:
            return None

    def send(self, words):
        text = "*%d\r\n" % len(words) + "".join("$%d\r\n%s\r\n" % (len(w), w) for w in words)
        self.connection.sendall(text.encode())

    def reply(self):
        line = self.file.readline().decode().rstrip()
        kind, rest = line[:1], line[1:]
        if kind == "-":
            raise AssertionError("redis-server says: " + rest)
        if kind == "*":
            return [self.reply() for _ in range(int(rest))]
        if kind == "$":
            return self.file.read(int(rest) + 2)[:-2].decode()
        return int(rest) if kind == ":" else rest

    def call(self, *words):
        self.send(words)
        return self.reply()

    def slowest_ns(self):
        """Of the newest command in the slow log, by redis' own clock."""
        return self.call("SLOWLOG", "GET", "1")[0][2] * 1000

    def script(self, seconds):
        """A Lua script that needs a processor for about so long."""
        before = self.used()
        self.call("EVAL", LOOP % TRIAL, "0")
        return ["EVAL", LOOP % (TRIAL * seconds / max(self.used() - before, 0.01)), "0"]

    def used(self):
        """CPU time of the main thread, in s."""
        return sum(float(s) for s in re.findall(r"_main_thread:([\d.]+)", self.call("INFO", "cpu")))

    def shut_down(self):
        self.send(["SHUTDOWN", "NOSAVE"])
        self.status = self.wait()
        self.file.close()
        self.connection.close()
        return self


def idle():
    server = Server(True)
    time.sleep(10)
    server.stopped_ns = server.stop_for(3)
    time.sleep(1)
    return server.shut_down()


def hang(words, stop, watched=True):
    """One command that takes long (None: a script of some 2 s), in mid of which the server may be stopped."""
    server = Server(watched)
    words = words or server.script(2)
    time.sleep(1.5)  # idle before: the loop is known by its waiting
    delay_ns = server.delay_ns()
    server.send(words)
    if stop:
        server.wait_for_hang()
        server.stopped_ns = server.stop_for(stop)
    server.reply()
    server.starved_ns = server.delay_ns() - delay_ns
    server.slow_ns = server.slowest_ns()
    time.sleep(0.3)
    return server.shut_down()


def one_after_the_other():
    return [undisturbed(hang, None, 0), undisturbed(hang, None, 3)]


def own_log(text):
    """A server's log without what differs from run to run: times, pids, ports, durations."""
    text = re.sub(r"\d+:([CMS]) \d\d \w{3} \d{4} [\d:.]+", r"PID:\1", text)
    text = re.sub(r"(?i)(port[:=] ?|pid[:=] ?)\d+", r"\1N", text)
    return re.sub(r"--port \d+", "--port N", text)


class Redis(RealCase):
    def test_debug_sleep_is_one_hang_of_cause_sleep_in_debug_command(self):
        report = self.assert_one_hang(ALL["sleep"], "sleep")
        self.assert_in_hot_stack("debugCommand", report)
        self.assertRegex(hot_functions(report)[0], "nanosleep")
        self.assertEqual("root", report["hot_stack"]["stop"])
        self.assert_in_hot_stack("aeMain", report)
        self.assert_duration(report, ALL["sleep"].slow_ns)
        self.assertEqual(0, report["excluded_ns"])
        self.assertEqual(0, report["monitor"]["interrupted_syscalls"])

    def test_a_long_lua_script_is_one_hang_of_cause_cpu_under_lua_pcall(self):
        server = ALL["cpu"][0]
        report = self.assert_one_hang(server, "cpu")
        self.assert_in_hot_stack("lua_pcall", report)
        self.assertEqual("redis-check-rdb", hot_modules(report)[0])
        self.assertIn("no Lua names: Hangdog does not read Lua's stacks", server.errors)
        self.assert_duration(report, server.slow_ns)
        self.assertEqual(0, report["excluded_ns"])

    def test_idle_for_10_s_and_stopped_for_3_s_it_does_not_hang(self):
        self.assert_no_hang(ALL["idle"])

    def test_a_stop_in_a_sleep_is_taken_off(self):
        server = ALL["stopped sleep"]
        report = self.assert_one_hang(server, "sleep")
        self.assert_duration(report, server.slow_ns - server.stopped_ns)
        self.assert_excluded(report, server.stopped_ns)

    def test_a_stop_in_a_script_is_taken_off(self):
        server = ALL["cpu"][1]
        report = self.assert_one_hang(server, "cpu")
        self.assert_duration(report, server.slow_ns - server.stopped_ns)
        self.assert_excluded(report, server.stopped_ns)

    def test_its_log_and_its_exit_status_are_its_own(self):
        self.assertEqual(ALL["plain"].status, ALL["sleep"].status)
        self.assertEqual(own_log(ALL["plain"].output), own_log(ALL["sleep"].output))
        self.assertEqual("", ALL["plain"].errors)

    def test_it_tells_the_hang_and_sums_up(self):
        told = ALL["sleep"].told
        self.assertRegex(told[-1], r"^hangdog: redis-server ran for .*: 1 hang, \d")
        self.assertIn("debugCommand", ALL["sleep"].errors)


if __name__ == "__main__":
    main()
