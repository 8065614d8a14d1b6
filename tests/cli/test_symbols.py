# SPDX-License-Identifier: MIT
"""Debug files at the collector: reports get names when they come, and when their debug files come later."""

import contextlib
import json
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import tempfile
import unittest
import uuid

import support_unit_filter
from support_fleet import Collector, need_fleet
from support_run import BUILD, HANGDOG, PATIENCE, SANITIZER, environment, main_side_by_side, wait_until

NAMER = os.path.join(BUILD, "libexec/hangdog/hangdog-name")
MUTATIONS = 40 if SANITIZER else 200
PROGRAM = """
#include <poll.h>
#include <time.h>
#include <unistd.h>
static volatile double x;
__attribute__((noinline)) static void resize_image(void) {
    for (time_t end = time(NULL) + 2; time(NULL) < end;) x += 1;
}
__attribute__((noinline)) static void on_request(void) { resize_image(); x += 1; }
int main(void) {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    struct pollfd f = {.fd = ends[0], .events = POLLIN};
    for (int i = 0; i < 16; i++) { poll(&f, 1, 50); if (i == 8) on_request(); }
    return 0;
}
"""


class Program:
    """A stripped program that hung, its report, and its debug file."""

    def __init__(self):
        need_fleet()
        self.folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")  # pylint: disable=consider-using-with
        path = os.path.join(self.folder.name, "shop")
        debug = os.path.join(self.folder.name, "kept-elsewhere")
        with open(path + ".c", "w", encoding="utf-8") as source:
            source.write(PROGRAM)
        for command in (["gcc", "-g", "-O1", "-Wl,--build-id=sha1", "-o", path, path + ".c"],
                        ["objcopy", "--only-keep-debug", path, debug], ["strip", path]):
            subprocess.run(["/usr/bin/" + command[0], *command[1:]], check=True)
        spool = os.path.join(self.folder.name, "spool")
        subprocess.run([HANGDOG, "run", "--loop", "shop", "--spool", spool, "--", path], check=True, timeout=PATIENCE,
                       capture_output=True, env=environment())
        reports = []
        for name in os.listdir(spool):
            if name.endswith(".json"):
                with open(os.path.join(spool, name), encoding="utf-8") as file:
                    reports.append(json.load(file))
        self.report = next(report for report in reports if report["kind"] == "hang")
        with open(debug, "rb") as file:
            self.debug = file.read()
        module = next(module for module in self.report["modules"] if module["path"].endswith("shop"))
        self.build_id = module["build_id"]

    def again(self):
        """The same hang of another run."""
        report = json.loads(json.dumps(self.report))
        report["id"], report["app"]["session"] = str(uuid.uuid4()), str(uuid.uuid4())
        return report

    def mutated(self, dice):
        data = bytearray(self.debug)
        for _ in range(dice.randint(1, 6)):
            area = 64 if dice.random() < 0.1 else len(data)
            at = dice.randrange(area)
            data[at] = dice.choice((0, 0xff, 0x7f, 0x80, dice.randrange(256)))
        if dice.random() < 0.1:
            del data[dice.randrange(64, len(data)):]
        return bytes(data)


PROGRAM_OF = []


def program():
    if not PROGRAM_OF:
        PROGRAM_OF.append(Program())
    return PROGRAM_OF[0]


class Symbols(unittest.TestCase):
    def setUp(self):
        self.program = program()
        self.collector = Collector()
        self.addCleanup(self.collector.close)
        self.admin = self.collector.admin_key

    def post(self, data, offset=0, size=None, build_id=None, key=None):
        path = "/api/v1/symbols/%s?offset=%d&size=%d" % (build_id or self.program.build_id, offset,
                                                         len(data) if size is None else size)
        status, _, answer = self.collector.request("POST", path, data, {"Content-Type": "application/octet-stream"}, key or self.admin)
        return status, json.loads(answer)

    def send(self, *reports):
        self.assertEqual((200, len(reports)), (lambda answer: (answer[0], answer[1]["accepted"]))(self.collector.send(list(reports))))

    def groups(self):
        return {group["function"]: group for group in self.collector.get("overview?days=400")["groups"]}

    def metric(self, name):
        text = self.collector.request("GET", "/metrics")[2].decode()
        return int(re.search(r"(?m)^hangdog_collector_%s (\d+)" % name, text)[1])

    def test_reports_before_and_after_their_debug_file(self):
        reports = [self.program.again() for _ in range(3)]
        self.send(*reports)
        (before,) = self.groups().values()
        self.assertRegex(before["function"], r"\Ashop\+0x")
        self.assertEqual((200, {"bytes": len(self.program.debug), "complete": True}), self.post(self.program.debug))
        wait_until(lambda: self.metric("reports_named_total") == 3, "names")
        (after,) = self.groups().values()
        self.assertEqual("resize_image", after["function"])
        self.assertRegex(after["place"], r"\Ashop\.c:\d+\Z")
        self.assertNotEqual(before["fingerprint"], after["fingerprint"])
        for sum_ in ("count", "total_ms", "max_ms", "users", "first_ms", "last_ms", "versions"):
            self.assertEqual(before[sum_], after[sum_], sum_)
        self.assertEqual(3, after["count"])
        for report in reports:
            frame = self.collector.get("reports/" + report["id"])["hot_stack"]["frames"]
            self.assertIn("resize_image", [one.get("function") for one in frame])
        self.send(self.program.again())
        wait_until(lambda: self.metric("reports_named_total") == 4, "names on arrival")
        (again,) = self.groups().values()
        self.assertEqual(("resize_image", 4), (again["function"], again["count"]))

    def test_a_restart_names_what_waited(self):
        self.send(self.program.again())
        self.collector.kill()
        self.collector.start()
        self.post(self.program.debug)
        wait_until(lambda: list(self.groups()) == ["resize_image"], "names")

    def upload(self, *files, key=None):
        return subprocess.run([HANGDOG, "upload-symbols", "--to", self.collector.url, "--key", key or self.admin, "--retries", "0",
                               *files], capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment())

    def test_the_command_sends_what_names_and_continues(self):
        debug = os.path.join(self.program.folder.name, "kept-elsewhere")
        self.send(self.program.again())
        self.post(self.program.debug[:1000], 0, len(self.program.debug))
        done = self.upload(debug)
        self.assertEqual((0, "hangdog: %s: the collector has it, as %s\n" % (debug, self.program.build_id)), (done.returncode, done.stderr))
        wait_until(lambda: list(self.groups()) == ["resize_image"], "names")
        self.assertEqual(0, self.upload(debug).returncode)

    def test_the_command_says_what_was_set_aside(self):
        debug = os.path.join(self.program.folder.name, "kept-elsewhere")
        self.post(b"no ELF")
        wait_until(lambda: self.metric("symbols_set_aside_total") == 1, "the file's check")
        done = self.upload(debug)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("the collector could not use the file of this build-id that it has: it is no ELF and no Mach-O file", done.stderr)
        self.assertNotIn("could not use", self.upload(debug).stderr)

    def test_the_command_says_what_it_cannot_send(self):
        stripped = os.path.join(self.program.folder.name, "shop")
        done = self.upload(stripped, stripped + ".c", "/nowhere", self.program.folder.name)
        self.assertEqual(1, done.returncode)
        for words in ("shop: it has no symbols and no debug information", "shop.c: it is no ELF and no Mach-O file", "/nowhere: No such file",
                      ": no Mach-O file is in this folder"):
            self.assertIn(words, done.stderr)
        done = self.upload(os.path.join(self.program.folder.name, "kept-elsewhere"), key=self.collector.send_key)
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, r"answers 401: .*key")

    def test_pieces(self):
        data, half = self.program.debug, len(self.program.debug) // 2
        self.assertEqual((200, {"bytes": 0, "complete": False}), self.post(b"", 0, len(data)))
        self.assertEqual((200, {"bytes": half, "complete": False}), self.post(data[:half], 0, len(data)))
        self.assertEqual((409, {"bytes": half, "complete": False}), self.post(data[:half], 0, len(data)))
        self.assertEqual({"bytes": half, "complete": False}, self.collector.get("symbols/" + self.program.build_id))
        self.assertEqual(413, self.post(data, half, len(data))[0])
        self.assertEqual((200, {"bytes": len(data), "complete": True}), self.post(data[half:], half, len(data)))
        self.assertEqual(409, self.post(data)[0])
        self.assertEqual(413, self.post(b"x", 0, 5 << 30, "ab" * 20)[0])
        for key in (self.collector.send_key, self.collector.read_key, "hda_" + "0" * 32):
            self.assertEqual(401, self.post(b"x", 0, 1, "cd" * 20, key)[0])
        for name in ("../store.db", "..%2fstore.db", "AB" * 20, "abc", "ab" * 40):
            self.assertIn(self.post(b"x", 0, 1, name)[0], (404, 405), name)

    def test_a_hostile_file_costs_one_job(self):
        elf_head = bytearray(self.program.debug)
        struct.pack_into("<H", elf_head, 60, 0xffff)  # the count of sections
        struct.pack_into("<Q", elf_head, 40, 1 << 62)  # and where they are
        other = self.program.debug.replace(bytes.fromhex(self.program.build_id), bytes(20))
        kinds = (b"no ELF", self.program.debug[:1000], bytes(elf_head), os.urandom(5000), other)
        self.send(self.program.again())
        for number, data in enumerate(kinds, 1):
            self.assertEqual(200, self.post(data)[0])
            wait_until(lambda number=number: self.metric("symbols_set_aside_total") == number, "the file's check")
            state = self.collector.get("symbols/" + self.program.build_id)
            self.assertEqual((0, False), (state["bytes"], state["complete"]))
            self.assertRegex(state["set_aside"], r"no ELF and no Mach-O file|not a valid ELF file|build-id differs")
        aside = "%s.symbols/%s.bad" % (self.collector.store, self.program.build_id)
        self.assertEqual(len(kinds), self.collector.text().count("is set aside, as " + aside))
        with open(aside, "rb") as file:
            self.assertEqual(other, file.read())
        self.post(self.program.debug)
        wait_until(lambda: self.metric("reports_named_total") == 1, "names of the right file")
        self.assertFalse(os.path.exists(aside))
        self.assertEqual({"bytes": len(self.program.debug), "complete": True}, self.collector.get("symbols/" + self.program.build_id))

    def test_no_report_removes_a_debug_file(self):
        """The paths of a report are its sender's."""
        self.post(self.program.debug)
        self.send(self.program.again())
        wait_until(lambda: self.metric("reports_named_total") == 1, "names")
        paths = ("a/b", "base.apk!/lib/x86_64/libshop.so", "@rpath/Shop.framework/Shop", "linux-vdso.so.1", "[vdso]", "/", "../x", " ")
        for number, path in enumerate(paths, 2):
            report = self.program.again()
            for module in report["modules"]:
                module["path"] = path
            self.send(report)
            wait_until(lambda number=number: self.metric("reports_named_total") + self.metric("symbols_failed_total") == number, path)
            self.assertEqual(number, self.metric("reports_named_total"), self.collector.text())
            stored = self.collector.get("reports/" + report["id"])
            self.assertEqual({path}, {module["path"] for module in stored["modules"]})
            self.assertIn("resize_image", [one.get("function") for one in stored["hot_stack"]["frames"]])
        self.assertEqual({"bytes": len(self.program.debug), "complete": True}, self.collector.get("symbols/" + self.program.build_id))
        self.assertNotIn("removed", self.collector.text())

    def wait_for_names(self):
        wait_until(lambda: self.metric("reports_named_total") == 1, "names")
        self.assertEqual({"bytes": len(self.program.debug), "complete": True}, self.collector.get("symbols/" + self.program.build_id))
        self.assertEqual(0, self.metric("symbols_set_aside_total"))

    def test_a_moment_without_processes(self):
        """As TasksMax, or no memory: it says nothing of a debug file."""
        self.collector = OtherUser()
        self.addCleanup(self.collector.close)
        self.admin = self.collector.admin_key
        self.send(self.program.again())
        self.collector.let_start(False)
        self.post(self.program.debug)
        wait_until(lambda: "cannot start: Resource temporarily unavailable" in self.collector.text(), "no process")
        self.collector.let_start(True)
        self.wait_for_names()

    def test_a_killed_worker_is_started_again(self):
        """The first check and the first report's worker are killed, as the kernel does where memory is short."""
        self.collector = KilledWorkers()
        self.addCleanup(self.collector.close)
        self.admin = self.collector.admin_key
        self.send(self.program.again())
        self.post(self.program.debug)
        self.wait_for_names()
        self.assertEqual(2, self.metric("symbols_failed_total"))
        self.assertIn("the debug file %s is not checked yet: signal 9" % self.program.build_id, self.collector.text())


class OtherUser(Collector):
    """Root's processes are not counted."""
    user = ["/usr/bin/setpriv", "--reuid=61997", "--regid=61997", "--clear-groups"] if os.geteuid() == 0 else []
    command = [*user, HANGDOG]

    def let_start(self, may):
        """Whether it may start processes."""
        hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]  # it inherits ours
        soft = "0" if not may else "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
        subprocess.run([*self.user, "/usr/bin/prlimit", "--pid", str(self.process.pid), "--nproc=%s:" % soft], check=True, timeout=PATIENCE)

    def start(self, *options):
        if os.geteuid() == 0:
            os.chown(self.folder, 61997, 61997)
        super().start(*options)


class KilledWorkers(Collector):
    """The installed command, with a worker that is killed at its first and third start."""

    def start(self, *options):
        prefix = os.path.join(self.folder, "prefix")
        fleet = os.path.join(prefix, os.path.relpath(os.path.dirname(NAMER), BUILD))
        os.makedirs(fleet)
        os.mkdir(os.path.join(prefix, "bin"))
        self.command = [shutil.copy(HANGDOG, os.path.join(prefix, "bin"))]
        shutil.copy(os.path.join(os.path.dirname(NAMER), "hangdog-serve"), fleet)
        name = os.path.join(fleet, "hangdog-name")
        with open(name, "w", encoding="ascii") as script:
            script.write('#!/bin/sh\necho >>"$0.starts"\ncase $(/usr/bin/wc -l <"$0.starts") in 1 | 3) kill -KILL $$ ;; esac\n'
                         'exec "%s" "$@"\n' % NAMER)
        os.chmod(name, 0o755)
        super().start(*options)


class Worker(unittest.TestCase):
    def setUp(self):
        self.program = program()
        self.folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")
        self.addCleanup(self.folder.cleanup)

    def name(self, data, report=None):
        path = os.path.join(self.folder.name, self.program.build_id)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, 0o400)  # it was checked
        return subprocess.run([NAMER, self.folder.name], input=json.dumps(report or self.program.report).encode(),
                              capture_output=True, timeout=PATIENCE, check=False)

    def test_mutations_end_the_worker_at_most(self):
        dice, ends = random.Random(7), {}
        for _ in range(MUTATIONS):
            done = self.name(self.program.mutated(dice))
            ends[done.returncode] = ends.get(done.returncode, 0) + 1
            if done.returncode == 0:
                self.assertEqual(self.program.report["id"], json.loads(done.stdout)["id"])
        print("worker's ends of %d mutations: %s" % (MUTATIONS, ends))
        self.assertGreater(ends.get(0, 0), MUTATIONS // 20)

    def test_mutations_have_a_verdict(self):
        dice, ends = random.Random(8), {}
        for _ in range(MUTATIONS // 4):
            self.name(self.program.mutated(dice))
            done = subprocess.run([NAMER, "--check", self.folder.name, self.program.build_id], capture_output=True, timeout=PATIENCE,
                                  check=False)
            self.assertEqual(done.returncode == 3, done.stdout != b"")
            ends[done.returncode] = ends.get(done.returncode, 0) + 1
        print("ends of %d checks: %s" % (MUTATIONS // 4, ends))
        self.assertLess(ends.get(1, 0), MUTATIONS // 8)

    def test_a_function_whose_name_is_empty(self):
        data = bytearray(self.program.debug)
        data[data.index(b"\0resize_image\0") + 1] = 0  # of .debug_str, which comes before the symbols' names
        for name in (b"on_request", b"main"):
            data[data.index(b"\0" + name + b"\0") + 1] = 0
        done = self.name(bytes(data))
        self.assertEqual(0, done.returncode)
        self.assertIn("resize_image", [frame.get("function") for frame in json.loads(done.stdout)["hot_stack"]["frames"]])

    def test_a_report_without_paths(self):
        report = json.loads(json.dumps(self.program.report))
        for module in report["modules"]:
            module["path"] = os.path.basename(module["path"])
        named = json.loads(self.name(self.program.debug, report).stdout)
        self.assertEqual(report["modules"], named["modules"])
        self.assertIn("resize_image", [frame.get("function") for frame in named["hot_stack"]["frames"]])

    def test_it_opens_and_starts_nothing_more(self):
        self.name(self.program.debug)
        if not os.path.exists("/usr/bin/strace") or SANITIZER:
            self.skipTest("needs strace, and no sanitizer")
        trace = os.path.join(self.folder.name, "trace")
        done = subprocess.run(["/usr/bin/strace", "-f", "-o", trace, NAMER, self.folder.name],
                              input=json.dumps(self.program.report).encode(), capture_output=True, timeout=PATIENCE, check=False)
        if done.returncode != 0:
            self.skipTest("strace does not run here")
        with open(trace, encoding="utf-8", errors="replace") as file:
            jailed = file.read().split("seccomp(SECCOMP_SET_MODE_FILTER", 1)[1]
        for line in jailed.splitlines():
            if re.search(r"\b(open|openat|socket|connect|clone3?|fork|execve|unlink|rename)\w*\(", line):
                self.assertIn("EPERM", line)

    def test_the_service_allows_each_of_its_calls(self):
        may = support_unit_filter.allowed(os.path.join(BUILD, "hangdog-serve.service"))
        if may is None or not os.path.exists("/usr/bin/strace") or SANITIZER:
            self.skipTest("needs systemd-analyze, strace, and no sanitizer")
        self.name(self.program.debug)
        trace = os.path.join(self.folder.name, "trace")
        done = subprocess.run(["/usr/bin/strace", "-f", "-o", trace, NAMER, self.folder.name],
                              input=json.dumps(self.program.report).encode(), capture_output=True, timeout=PATIENCE, check=False)
        if done.returncode != 0:
            self.skipTest("strace does not run here")
        with open(trace, encoding="utf-8", errors="replace") as file:
            calls = set(re.findall(r"(?m)^\d+ +(\w+)\(", file.read()))
        self.assertIn("seccomp", calls)
        self.assertEqual(set(), calls - may)


if __name__ == "__main__":
    main_side_by_side()
