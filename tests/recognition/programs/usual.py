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


def display_is_stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "T"


def stop_display():
    """The X server or compositor, for half a second."""
    pid = os.environ["DISPLAY_PID"]
    stopper = subprocess.Popen(["sh", "-c", f"kill -STOP {pid}; sleep 0.5; kill -CONT {pid}"])
    while stopper.poll() is None and not display_is_stopped(pid):
        time.sleep(0.01)
