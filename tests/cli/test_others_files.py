# SPDX-License-Identifier: MIT
"""Names from files that another user may have written: root looks them up in a process with that user's rights, with limits."""

import array
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import time
import unittest
import zlib

import support_unit_filter
from support_dump import Programs, dump
from support_fleet import Collector, need_fleet, small_report
from support_run import BUILD, HANGDOG, PATIENCE, SANITIZER, environment, main, need_build_of_all, wait_until

NAMER = os.path.join(BUILD, "libexec/hangdog/hangdog-name")
NOBODY, OTHER = 65534, 61997
AS_NOBODY = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
PROGRAM = """
#include <unistd.h>
__attribute__((noinline)) void resize_image(void) { pause(); }
int main(void) { resize_image(); return 0; }
"""
GIB = 1 << 30


def deflated_zeros(mebibytes):
    """A zlib stream of a thousandth of the size, made without compressing it all."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = deflate.compress(bytes(16 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH)
    size = mebibytes << 20
    return b"\x78\x9c" + piece * (mebibytes // 16) + b"\x03\x00" + struct.pack(">I", (size % 65521) << 16 | 1)


def section_head(data, name):
    """The offset of a section's head in an ELF file."""
    heads, size, count, names = struct.unpack_from("<Q10xHHH", data, 40)
    (texts,) = struct.unpack_from("<Q", data, heads + names * size + 24)
    for i in range(count):
        at = heads + i * size
        start = texts + struct.unpack_from("<I", data, at)[0]
        if data[start:data.index(b"\0", start)] == name:
            return at
    raise AssertionError(name)


# Runs a command, prints what it printed, and the largest size of it or of a process that it waited for.
LIMITED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], check=False)
print("MOST", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(done.returncode)
"""


class Nobodys(Programs):
    """Programs of another user."""

    def setUp(self):
        self.folder = self.make_folder()
        os.chown(self.folder, NOBODY, NOBODY)

    def build(self, name="shop"):
        path = os.path.join(self.folder, name)
        with open(path + ".c", "w", encoding="ascii") as file:
            file.write(PROGRAM)
        subprocess.run(["/usr/bin/gcc", "-g", "-O1", "-Wl,--build-id=sha1", "-o", path, path + ".c"], check=True, timeout=PATIENCE)
        os.chown(path, NOBODY, NOBODY)
        return path

    def bomb(self, mebibytes=3072):
        """Its .debug_str is so large."""
        path, text = self.build(), os.path.join(self.folder, "text")
        with open(text, "wb") as file:
            file.write(struct.pack("<IIQQ", 1, 0, mebibytes << 20, 1) + deflated_zeros(mebibytes))
        subprocess.run(["/usr/bin/objcopy", "--update-section", ".debug_str=" + text, path], check=True, timeout=PATIENCE)
        with open(path, "r+b") as file:
            data = file.read()
            at = section_head(data, b".debug_str") + 8
            file.seek(at)
            file.write(struct.pack("<Q", struct.unpack_from("<Q", data, at)[0] | 0x800))  # SHF_COMPRESSED
        return path

    def start_as_nobody(self, path):
        program = self.start(*AS_NOBODY, path)
        wait_until(lambda: os.readlink("/proc/%d/exe" % program.pid) == path and self.state(program.pid) == "S", "its pause")
        return program.pid

    @staticmethod
    def state(pid):
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0]

    def limited(self, *command, status=0):
        """(text, the most memory of one process, seconds)"""
        start = time.monotonic()
        done = subprocess.run([sys.executable, "-c", LIMITED, *command], capture_output=True, text=True, check=False, timeout=120,
                              env=environment())
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done.stdout, int(re.search(r"MOST (\d+)", done.stdout)[1]), time.monotonic() - start

    def with_worker(self, script):
        """The command with this in the place of hangdog-name."""
        prefix = os.path.join(self.folder, "prefix")
        fleet = os.path.join(prefix, os.path.relpath(os.path.dirname(NAMER), BUILD))
        os.makedirs(fleet)
        os.mkdir(os.path.join(prefix, "bin"))
        if script is not None:
            with open(os.path.join(fleet, "hangdog-name"), "w", encoding="ascii") as file:
                file.write(script)
            os.chmod(file.name, 0o755)
        return shutil.copy(HANGDOG, os.path.join(prefix, "bin"))

    def assert_says(self, script, why, most_seconds):
        command = self.with_worker(script)
        text, _, seconds = self.limited(command, "dump", "--all-frames", str(self.start_as_nobody(self.build())))
        self.assertRegex(text, r"shop\+0x[0-9a-f]+")
        self.assertRegex(text, r"(?m)^\W*no symbols for shop: " + why)
        self.assertLess(seconds, most_seconds)
        return text


@unittest.skipIf(os.geteuid() != 0, "needs root, to become another user")
@unittest.skipIf(SANITIZER, "a sanitizer's memory is not limited")
class OthersFiles(Nobodys):
    def test_dump_names_another_users_program(self):
        text = dump(self.start_as_nobody(self.build()), "--all-frames")
        self.assertRegex(text, r"resize_image +shop\.c:3")
        self.assertNotIn("no symbols", text)

    def test_a_bomb_costs_dump_a_gibibyte_at_most(self):
        text, most, seconds = self.limited(HANGDOG, "dump", str(self.start_as_nobody(self.bomb())))
        print("dump: %d MiB, %.1f s" % (most >> 20, seconds))
        self.assertIn("resize_image", text)  # by the table of symbols
        self.assertLess(most, GIB * 1.2)
        self.assertLess(seconds, 20)

    def report_of(self, path):
        with open(path, "rb") as file:
            data = file.read()
        note = data.index(b"GNU\0", struct.unpack_from("<Q", data, section_head(data, b".note.gnu.build-id") + 24)[0]) + 4
        symbols = subprocess.run(["/usr/bin/nm", path], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
        offset = int(re.search(r"(?m)^(\w+) T resize_image$", symbols)[1], 16) + 4
        report = small_report(modules=[{"path": path, "base": "0x0", "size": len(data), "build_id": data[note:note + 20].hex()}],
                              hot_stack={"frames": [{"pc": hex(offset), "module": 0, "offset": hex(offset), "trust": "context"}]})
        spool = os.path.join(self.folder, "spool")
        os.makedirs(spool, exist_ok=True)
        file_name = os.path.join(spool, report["id"] + ".json")
        with open(file_name, "w", encoding="ascii") as file:
            json.dump(report, file)
        for name in (spool, file_name):
            os.chown(name, NOBODY, NOBODY)
        return file_name

    def test_a_bomb_costs_upload_and_show_a_gibibyte_at_most(self):
        need_fleet()
        path = self.bomb()
        report = self.report_of(path)
        upload = ("upload", "--spool", os.path.dirname(report), "--to", "http://127.0.0.1:1", "--key", "hds_" + "0" * 32, "--retries", "0")
        for command, status in ((upload, 1), (("show", report), 0), (("list", "--spool", os.path.dirname(report)), 0)):
            text, most, seconds = self.limited(HANGDOG, *command, status=status)
            print("%s: %d MiB, %.1f s" % (command[0], most >> 20, seconds))
            self.assertTrue(command[0] == "upload" or "resize_image" in text, text)
            self.assertLess(most, GIB * 1.2)

    def test_a_bomb_of_the_users_own(self):
        path = self.bomb()
        os.chown(path, 0, 0)
        program = self.start(path)
        wait_until(lambda: os.readlink("/proc/%d/exe" % program.pid) == path and self.state(program.pid) == "S", "its pause")
        os.chown(self.folder, 0, 0)  # so that the command itself reads the file
        text, most, _ = self.limited(HANGDOG, "dump", str(program.pid))
        self.assertIn("resize_image", text)
        self.assertLess(most, GIB * 1.2)

    def send_as_the_service(self, collector, spool, *before):
        return subprocess.run([*before, HANGDOG, "upload", "--spool", spool, "--to", collector.url, "--key", collector.send_key, "--retries",
                               "0"], capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment())

    def test_upload_with_the_rights_of_its_service(self):
        """It reads the spool of another user, names its report, and removes it."""
        need_fleet()
        unit = os.path.join(BUILD, "systemd/system/hangdog-upload.service")
        with open(unit, encoding="utf-8") as file:
            rights = re.search(r"(?m)^CapabilityBoundingSet=(.*)$", file.read())[1].replace("CAP_", "+").lower().split()
        may = support_unit_filter.allowed(unit)
        report = self.report_of(self.build())
        os.chmod(os.path.dirname(report), 0o700)
        collector = Collector()
        self.addCleanup(collector.close)
        trace = os.path.join(self.folder, "trace")
        strace = ["/usr/bin/strace", "-f", "-o", trace] if may is not None and os.path.exists("/usr/bin/strace") else []
        done = self.send_as_the_service(collector, os.path.dirname(report), *strace, "/usr/bin/setpriv", "--bounding-set=-all," +
                                        ",".join(rights), "--inh-caps=-all", "--no-new-privs")
        if strace and done.returncode != 0 and "hangdog: " not in done.stderr:
            self.skipTest("strace does not run here")
        self.assertEqual((0, "hangdog: 1 report sent\n"), (done.returncode, done.stderr))
        self.assertFalse(os.path.exists(report))
        self.assertEqual(["resize_image"], [group["function"] for group in collector.get("overview?days=400")["groups"]])
        if strace:
            with open(trace, encoding="utf-8", errors="replace") as file:
                calls = set(re.findall(r"(?m)^\d+ +(\w+)\(", file.read().partition("/hangdog\"")[2]))
            self.assertIn("setresuid", calls)
            self.assertEqual(set(), calls - may)

    def test_upload_waits_while_no_process_starts(self):
        """A report without names is never better at the collector."""
        need_build_of_all()
        report = self.report_of(self.build())
        os.chmod(report, 0o644)
        os.chown(os.path.dirname(report), OTHER, OTHER)
        collector = Collector()
        self.addCleanup(collector.close)
        other = ["/usr/bin/setpriv", "--reuid=%d" % OTHER, "--regid=%d" % OTHER, "--clear-groups"]
        done = self.send_as_the_service(collector, os.path.dirname(report), *other, "/usr/bin/prlimit", "--nproc=0:")
        self.assertIn("no process can be started now that looks up their names", done.stderr)
        self.assertTrue(os.path.exists(report))
        self.assertEqual(1, done.returncode)
        done = self.send_as_the_service(collector, os.path.dirname(report), *other)
        self.assertEqual((0, "hangdog: 1 report sent\n"), (done.returncode, done.stderr))
        self.assertEqual(["resize_image"], [group["function"] for group in collector.get("overview?days=400")["groups"]])

    def test_a_report_reads_no_file_of_root(self):
        """The paths of another user's report are opened with that user's rights."""
        path = self.build()
        report = self.report_of(path)
        os.chown(path, 0, 0)
        os.chmod(path, 0o700)
        text = self.limited(HANGDOG, "show", report)[0]
        self.assertIn("no symbols for shop: its file cannot be opened: Permission denied", text)
        self.assertNotIn("resize_image", text)

    def test_a_link_to_roots_file_is_no_trust(self):
        """Root's own report, root's file: but another user may put a debug file next to the name."""
        path = self.build()
        report = self.report_of(path)
        os.chown(report, 0, 0)
        os.chown(path, 0, 0)
        log = os.path.join(self.folder, "trace")
        done = subprocess.run(["/usr/bin/strace", "-f", "-e", "trace=execve", "-o", log, HANGDOG, "show", report], capture_output=True,
                              text=True, check=False, timeout=PATIENCE, env=environment())
        if done.returncode != 0:
            self.skipTest("strace does not run here")
        self.assertIn("resize_image", done.stdout)
        with open(log, encoding="utf-8", errors="replace") as file:
            self.assertIn("hangdog-name", file.read())

    def test_a_process_that_ends_costs_names_only(self):
        self.assert_says("#!/bin/sh\nkill -SEGV $$\n", "it ended the look-up|other files of its owner ended the look-up", 10)

    def test_a_process_that_is_missing_costs_names_only(self):
        self.assert_says(None, "hangdog-name cannot be started: No such file", 10)


class LookUp(unittest.TestCase):
    """hangdog-name --look-up by itself."""

    def start(self, user, files):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(ours.close)
        ours.settimeout(PATIENCE)
        with theirs:
            process = subprocess.Popen([NAMER, "--look-up", str(user), files], stdin=theirs)  # pylint: disable=consider-using-with
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, ours

    @staticmethod
    def ask(ours, path, files=()):
        """(count, text)"""
        data = struct.pack("<QQqII", 0x1000, 0, 1 << 40, len(path), 0) + path.encode()
        ours.send(data)
        while True:
            answer = ours.recv(1 << 16)
            count, which, _, function, file = struct.unpack_from("<iiIII", answer)
            if count >= 0:
                break
            one = files[which:which + 1]  # it requests the file of this number
            ours.sendmsg([b"f"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", one))] if one else [])
        return count, answer[20:20 + function + file].decode()

    def status(self, process):
        with open("/proc/%d/status" % process.pid, encoding="ascii", errors="replace") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file)

    @unittest.skipIf(os.geteuid() != 0, "needs root, to become another user")
    def test_it_has_the_rights_of_the_owner(self):
        for user in (NOBODY, 0):
            process, ours = self.start(user, "named")
            self.ask(ours, "/nowhere")
            status = self.status(process)
            self.assertEqual("\t".join([str(user)] * 4), status["Uid"])
            self.assertEqual(("0" * 16, "0" * 16, "0" * 16), (status["CapEff"], status["CapPrm"], status["CapAmb"]))
            self.assertEqual(("1", "2"), (status["NoNewPrivs"], status["Seccomp"]))
            self.assertEqual(NOBODY if user else 0, int(status["Gid"].split()[0]))
            self.assertEqual("", status["Groups"].strip() if user else "")

    def test_it_opens_by_name_or_takes_what_is_given(self):
        process, ours = self.start(os.geteuid(), "named")
        self.assertIn("the report has no build-id to know its file by", self.ask(ours, HANGDOG)[1])
        self.assertIn("no ordinary file", self.ask(ours, "/dev/null")[1])
        process.kill()
        _, ours = self.start(os.geteuid(), "given")
        self.assertIn("cannot be opened", self.ask(ours, HANGDOG)[1])
        with open(HANGDOG, "rb") as file:
            self.assertIn("build-id", self.ask(ours, "/made/up", [file.fileno()])[1])

    def test_it_ends_at_what_is_no_query(self):
        for data in (b"x", bytes(32) + b"more", b"\xff" * 32, b"\xff" * 100):
            process, ours = self.start(os.geteuid(), "named")
            ours.send(data)
            self.assertEqual(0, process.wait(PATIENCE))


if __name__ == "__main__":
    main()
