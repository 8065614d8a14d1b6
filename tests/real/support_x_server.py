# SPDX-License-Identifier: MIT
#
# An X server of a test's own.

import contextlib
import os
import subprocess

from support_run import environment


@contextlib.contextmanager
def x_server():
    """The environment of a program on it."""
    with x_server_process() as (env, _):
        yield env


@contextlib.contextmanager
def x_server_process():
    """The same, and the server's process number."""
    reads, writes = os.pipe()
    with subprocess.Popen(["Xvfb", "-displayfd", str(writes), "-nolisten", "tcp", "-screen", "0", "800x600x24"],
                          pass_fds=[writes], env=environment(), stderr=subprocess.DEVNULL) as server:
        os.close(writes)
        with open(reads, encoding="ascii") as numbers:
            number = numbers.readline().strip()
        try:
            # No bus: each would start one, and none of its services is installed for the tests.
            yield {"DISPLAY": ":" + number, "NO_AT_BRIDGE": "1", "GTK_A11Y": "none",
                   "DBUS_SESSION_BUS_ADDRESS": "disabled:"}, server.pid
        finally:
            server.terminate()
