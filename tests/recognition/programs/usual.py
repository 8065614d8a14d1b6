# SPDX-License-Identifier: MIT
"""Callbacks that block alike in every Python program, whatever its loop."""
import os
import socket
import subprocess
import time

from marks import mark


def python_socket():
    s = socket.create_connection(("127.0.0.1", int(os.environ["MUTE_PORT"])))
    s.settimeout(0.4)
    with mark("python-socket"):
        try:
            s.recv(1)
        except TimeoutError:
            pass


def command():
    with mark("subprocess"):
        subprocess.run(["sleep", "0.4"], capture_output=True, check=True)


def computing():
    with mark("computation"):
        until = time.monotonic() + 0.4
        while time.monotonic() < until:
            pass
