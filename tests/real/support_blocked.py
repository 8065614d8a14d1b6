# SPDX-License-Identifier: MIT
"""Programs of the system that block: each as a command, with what it needs."""

import os
import shutil
import subprocess

JAVA = "public class Wait { public static void main(String[] a) throws Exception { synchronized (a) { a.wait(); } } }"
GTK = """
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk
Gtk.Window().show_all()
Gtk.main()
"""
QT = """
from PyQt5.QtWidgets import QApplication, QLabel
app = QApplication([])
label = QLabel("x")
label.show()
app.exec()
"""


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def postgres(folder):
    """It refuses to be root's. A server of a fresh folder, as another user; without initdb it will not start."""
    data = os.path.join(folder, "postgres")
    initdb = shutil.which("initdb") or os.path.join(os.path.dirname(os.path.realpath(shutil.which("postgres") or "/")), "initdb")
    other = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.getuid() == 0 else []
    os.mkdir(data, 0o700)
    if os.path.exists(initdb):
        if other:
            os.chown(data, 65534, 65534)
        subprocess.run([*other, initdb, "-D", data, "-A", "trust"], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
    return [*other, "postgres", "-D", data, "-k", data, "-h", ""]


def commands(folder, display, free_port):
    """[(name, command)]; those whose program is not installed are left out by the caller."""
    nginx = write(folder, "nginx.conf", "daemon off; pid %s/nginx.pid; error_log /dev/null; events {} http { access_log off; "
                  "server { listen 127.0.0.1:%d; } }" % (folder, free_port()))
    lighttpd = write(folder, "lighttpd.conf", 'server.document-root = "%s"\nserver.port = %d\n' % (folder, free_port()))
    haproxy = write(folder, "haproxy.cfg", "defaults\n mode tcp\n timeout client 1s\n timeout server 1s\n timeout connect 1s\n"
                    "listen a\n bind 127.0.0.1:%d\n" % free_port())
    return [
        ("redis", ["redis-server", "--port", "0", "--unixsocket", folder + "/redis", "--save", ""]),
        ("nginx", ["nginx", "-c", nginx, "-p", folder]),
        ("postgres", postgres(folder)),
        ("java", ["java", write(folder, "Wait.java", JAVA)]),
        ("node", ["/usr/bin/node", "-e", "setInterval(() => {}, 1000000)"]),
        ("python sleeps", ["/usr/bin/python3", "-c", "import time; time.sleep(1000)"]),
        ("python asyncio", ["/usr/bin/python3", "-c", "import asyncio; asyncio.run(asyncio.sleep(1000))"]),
        ("bash", ["bash", "-c", "sleep 1000; true"]),
        ("perl", ["perl", "-e", "sleep 1000"]),
        ("ruby", ["ruby", "-e", "sleep 1000"]),
        ("php", ["php", "-r", "sleep(1000);"]),
        ("tail", ["tail", "-f", "/dev/null"]),
        ("dbus-daemon", ["dbus-daemon", "--session", "--nofork", "--address=unix:path=%s/bus" % folder]),
        ("ssh-agent", ["ssh-agent", "-D", "-a", folder + "/agent"]),
        ("mosquitto", ["mosquitto", "-p", str(free_port())]),
        ("lighttpd", ["lighttpd", "-D", "-f", lighttpd]),
        ("haproxy", ["haproxy", "-f", haproxy, "-db"]),
        ("transmission", ["transmission-daemon", "-f", "-g", folder + "/transmission", "-p", str(free_port())]),
        ("Xvfb", ["Xvfb", display, "-nolisten", "tcp"]),
        ("xterm", ["xterm"]),
        ("GTK 3", ["/usr/bin/python3", "-c", GTK]),
        ("Qt 5", ["/usr/bin/python3", "-c", QT]),
        ("Tk", ["wish"]),
    ]
