# SPDX-License-Identifier: MIT
"""--keep-alive, with a socket of the test's own in systemd's place; and the state after a SIGTERM."""

import os
import signal
import socket
import time

from support_run import BUILD, HANGDOG, PATIENCE, Program, RealCase, main, wait_until

BURN = os.path.join(BUILD, "tests/programs/burn")
LIMIT = 1.6  # WatchdogSec=


class Systemd:
    """What the manager does with WatchdogSec=: it ends a service that was silent for so long."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.bind(self.path)

    def next(self):
        """The next message and its sender's process; None after LIMIT of silence."""
        self.socket.settimeout(LIMIT)
        try:
            message, credentials, _, _ = self.socket.recvmsg(100, socket.CMSG_SPACE(12))
        except TimeoutError:
            return None
        return message.decode(), int.from_bytes(credentials[0][2][:4], "little")

    def environment(self):
        return {"NOTIFY_SOCKET": self.path, "WATCHDOG_USEC": str(int(LIMIT * 1e6))}


class KeepAlive(RealCase):
    def start(self, *argv, options=("--exec", "--keep-alive")):
        folder = self.folder()
        systemd = Systemd(folder)
        self.addCleanup(systemd.socket.close)
        program = Program([HANGDOG, "run", "--spool", "spool", *options, "--", *argv], watched=False, folder=folder,
                          env=systemd.environment())
        self.addCleanup(program.close)
        return systemd, program

    def test_an_idle_loop_is_kept_alive(self):
        systemd, program = self.start(BURN, "idle", "60")
        begun = time.monotonic()
        seen = [systemd.next() for _ in range(4)]
        self.assertEqual({("WATCHDOG=1", program.process.pid)}, set(seen))
        self.assertGreater(time.monotonic() - begun, 2 * LIMIT / 4)

    def test_a_loop_that_hangs_is_ended_and_its_report_is_there_before(self):
        systemd, program = self.start(BURN, "hang", "60")
        messages = 0
        while systemd.next() is not None:
            messages += 1
        self.assertGreater(messages, 1)
        reports = program.reports()
        self.assertEqual(["hang"], [report["kind"] for report in reports])
        self.assertFalse(reports[0]["complete"])
        program.process.send_signal(signal.SIGABRT)
        program.wait()
        Program(["/bin/true"], folder=program.folder).wait()  # the next start settles what the dead run left
        self.assertIn("fatal-hang", [report["kind"] for report in program.reports()])

    def test_a_hang_that_ends_is_survived(self):
        systemd, _ = self.start(BURN, "short", "60")
        self.assertTrue(all(systemd.next() is not None for _ in range(7)))

    def test_no_message_unless_requested(self):
        systemd, _ = self.start(BURN, "idle", "60", options=("--exec",))
        self.assertIsNone(systemd.next())

    def test_after_sigterm_the_state_is_quit(self):
        program = self.program([BURN, "quit", "60"])
        wait_until(lambda: "ready" in program.output, "the program's start", PATIENCE)
        time.sleep(0.5)
        program.process.terminate()
        program.wait()
        hangs = [report for report in program.reports() if report["kind"] != "session"]
        self.assertEqual(["quit"], [report["loop"]["state"] for report in hangs])
        self.assertGreater(hangs[0]["duration_ns"], 3e9)
        self.assertEqual(3000000000, hangs[0]["threshold_ns"])


if __name__ == "__main__":
    main()
