# SPDX-License-Identifier: MIT
"""How long a start takes (--launch), and servers whose loop is a wait in accept."""

import os
import pty
import threading
import time

from support_run import main
from support_side_by_side import PYTHON, SideBySide, loop

# Reads a line from its terminal before its loop starts.
READS = """
import select, socket, sys
sys.stdin.readline()
r = [socket.create_server(("127.0.0.1", 0))]
for _ in range(5): select.select(r, [], [], 0.1)
"""
# Serves connections one after the other, each by a poll for the next request, as Apache's prefork workers do. Its own
# child connects. A byte of a request says for how many tenths of a second the server works.
SERVES = """
import os, select, socket, time
listener = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    for requests in (b"1", b"1", b"1", b"19", b"1"):
        time.sleep(0.7)
        with socket.create_connection(listener.getsockname()) as connection:
            for one in requests.decode():
                connection.sendall(one.encode())
                connection.recv(1)
                time.sleep(0.7)
    os._exit(0)
for _ in range(5):
    connection, _ = listener.accept()
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    while poll.poll() and (byte := connection.recv(1)):
        time.sleep(int(byte) / 10)
        connection.sendall(byte)
    connection.close()
"""
# After a request the server closes the connection, and asks a server of its own that answers late. That
# connection gets the same descriptor.
ASKS = """
import os, select, socket, time
listener, other = (socket.create_server(("127.0.0.1", 0)) for _ in range(2))
if os.fork() == 0:
    for _ in range(5):
        time.sleep(0.3)
        with socket.create_connection(listener.getsockname()) as connection:
            time.sleep(0.1)
            connection.sendall(b"1")
            connection.recv(1)
    os._exit(0)
for i in range(5):
    connection, _ = listener.accept()
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    poll.poll()
    connection.recv(1)
    connection.sendall(b"1")
    number = connection.fileno()
    connection.close()
    if i == 3:
        with socket.create_connection(other.getsockname()) as connection:
            assert number == connection.fileno()
            select.select([connection], [], [], 0.9)
"""
# Its first wait lasts until its first request.
IDLE = """
import asyncio, os, time
async def main():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    address = server.sockets[0].getsockname()
    if os.fork() == 0:
        import socket
        time.sleep(2.5)
        socket.create_connection(address)
        os._exit(0)
    await asyncio.wait([asyncio.create_task(server.serve_forever())], timeout=4)
asyncio.run(main())
"""
# Accepts one connection, and is no server.
ONCE = """
import os, socket, time
listener = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    time.sleep(0.3)
    socket.create_connection(listener.getsockname())
    os._exit(0)
listener.accept()
time.sleep(1.5)
"""


class Start(SideBySide):
    def ran(self, argv, *options, **more):
        program = self.start(argv, options, **more)
        self.assertEqual(0, program.wait(), program.errors)
        return program, [(r["kind"], round(r["duration_ns"] / 1e8)) for r in program.reports("hang", "fatal-hang", "launch")]

    def beside_a_long_start_is_a_slow_launch(self):
        program, reports = self.ran(loop("serves", "hang3.2", 0.5))
        self.assertEqual(["launch"], [kind for kind, _ in reports], program.errors)
        self.assertTrue(32 <= reports[0][1] < 50, reports)
        self.assertRegex(program.told[-1], r": 1 hang, [34]\.\d s lost \(\d+%\), started in [34]\.\d s$")
        self.assertNotIn("still going", program.errors)

    def beside_the_option_has_the_time(self):
        for options, kinds in ((("--launch", "1s"), ["launch"]), ((), [])):
            program, reports = self.ran(loop("serves", "hang1.3", 0.5), *options)
            self.assertEqual(kinds, [kind for kind, _ in reports], program.errors)
            self.assertRegex(program.told[-1], r", started in [12]\.\d s$")

    def beside_a_program_without_a_loop_has_no_start(self):
        program, reports = self.ran([PYTHON, "-I", "-c", "import time; time.sleep(3.4)"])
        self.assertEqual([], reports)
        self.assertNotIn("started in", program.errors)

    def beside_a_user_who_types_is_no_slow_launch(self):
        ours, its = pty.openpty()
        threading.Timer(3.6, os.write, (ours, b"name\n")).start()
        try:
            program, reports = self.ran([PYTHON, "-I", "-c", READS], terminal=its)
            self.assertEqual([], reports, program.errors)
        finally:
            os.close(its)
            os.close(ours)

    def beside_a_server_that_waits_in_accept(self):
        for options in ((), ("--loop", "python3")):
            begun = time.monotonic()
            program, reports = self.ran([PYTHON, "-I", "-c", SERVES], *options)
            self.assertEqual([("hang", 9)], reports, (program.errors, time.monotonic() - begun))
            self.assertRegex(program.told[-1], r": 1 hang, .* lost \(\d+%\), started in (\d+ ms|[12]\.\d s)$")

    def beside_a_server_that_asks_another_one(self):
        program, reports = self.ran([PYTHON, "-I", "-c", ASKS])
        self.assertEqual([("hang", 9)], reports, program.errors)

    def beside_a_server_starts_before_its_first_request(self):
        program, reports = self.ran([PYTHON, "-I", "-c", IDLE])
        self.assertEqual([], reports)
        self.assertRegex(program.told[-1], r", started in (\d+ ms|1\.\d s)$")

    def beside_one_connection_makes_no_server(self):
        program, reports = self.ran([PYTHON, "-I", "-c", ONCE])
        self.assertEqual([], reports)
        self.assertIn("no event loop", program.errors)


if __name__ == "__main__":
    main()
