#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# A name that is looked up in a callback while the name server does not answer. In a network and a mount namespace of its
# own, where 127.0.0.1 is such a server.

import os
import socket
import subprocess
import sys
import unittest

from support_run import HANGDOG, MS, Program, RealCase, environment, hot_functions, main, symbolicated

PYTHON = "/usr/bin/python3"

# Inside: root of the namespaces. The loopback device is up, its port 53 is open and mute, and the resolver asks there.
INSIDE = """
import fcntl, os, socket, struct, subprocess, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(server, 0x8914, struct.pack("16sh14x", b"lo", 0x49))  # SIOCSIFFLAGS: up, running, loopback
server.bind(("127.0.0.1", 53))
for name, text in (("resolv.conf", "nameserver 127.0.0.1\\noptions timeout:2 attempts:1\\n"),
                   ("nsswitch.conf", "hosts: files dns\\n")):
    with open(sys.argv[1] + "/" + name, "w") as file:
        file.write(text)
    if os.path.exists("/etc/" + name):
        subprocess.run(["mount", "--bind", os.path.join(sys.argv[1], name), "/etc/" + name], check=True)
os.set_inheritable(server.fileno(), True)
os.execv(sys.argv[2], sys.argv[2:])
"""

# The truth, by its own clock, in ms.
LOOKS_UP = """
import select, socket, time
listener = socket.create_server(("127.0.0.1", 0))
def ticks(n):
    for _ in range(n):
        select.select([listener], [], [], 0.05)
def look_up():
    try:
        socket.getaddrinfo("www.example.org", 80)
    except socket.gaierror as error:
        print(error.errno == socket.EAI_AGAIN)
ticks(60)
begin = time.monotonic()
look_up()
print(int(1000 * (time.monotonic() - begin)))
ticks(20)
"""


class Lookup(RealCase):
    def test_a_name_server_that_does_not_answer(self):
        spaces = ["/usr/bin/unshare", *([] if os.geteuid() == 0 else ["-r"]), "-m", "-n", "--", PYTHON, "-I", "-c", INSIDE]
        folder = self.folder()
        trial = subprocess.run([*spaces, folder, "/bin/true"], env=environment(), capture_output=True, text=True, check=False)
        if trial.returncode != 0:
            self.skipTest("no namespaces of its own can be had here: " + trial.stderr.strip().splitlines()[-1])
        program = Program([*spaces, folder, HANGDOG, "run", "--spool", folder + "/spool", "--", PYTHON, "-I", "-c",
                           LOOKS_UP], watched=False)
        self.addCleanup(program.close)
        program.spool = folder + "/spool"
        self.assertEqual(0, program.wait(), program.errors)
        again, took = program.output.split()
        self.assertEqual("True", again, "the name server has answered")
        hangs = program.reports("hang")
        self.assertEqual(["network"], [hang["cause"]["kind"] for hang in hangs], program.errors)
        self.assert_valid(hangs[0])
        self.assert_duration(hangs[0], int(took) * MS)
        self.assertIn("127.0.0.1:53", hangs[0]["cause"]["peer"])
        self.assertRegex(hangs[0]["cause"]["detail"], r"^waited for the name server 127\.0\.0\.1 in getaddrinfo")
        self.assertIn("getaddrinfo", hot_functions(symbolicated(program, hangs[0])))


if __name__ == "__main__":
    if not hasattr(socket, "getaddrinfo") or not os.access("/usr/bin/unshare", os.X_OK):
        print("unshare is not installed: scripts/install-dependencies test")
        sys.exit(77)
    main()
