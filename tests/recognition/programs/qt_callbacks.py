# SPDX-License-Identifier: MIT
"""Qt 5: callbacks that block in every usual way, and some that nest loops."""
import os

from PyQt5 import QtCore, QtDBus, QtGui, QtNetwork, QtWidgets

from marks import mark, since
from usual import command, computing, python_socket, stop_display

PORT = int(os.environ["MUTE_PORT"])


def tcp_socket():
    s = QtNetwork.QTcpSocket()
    with mark("waitForReadyRead"):
        s.connectToHost("127.0.0.1", PORT)
        s.waitForConnected(1000)
        s.waitForReadyRead(600)
    s.abort()


def process():
    p = QtCore.QProcess()
    p.start("sleep", ["0.5"])
    with mark("waitForFinished"):
        p.waitForFinished(2000)


def dbus(mode, state):
    bus = QtDBus.QDBusConnection.sessionBus()
    message = QtDBus.QDBusMessage.createMethodCall("org.hangdog.Mute", "/", "org.freedesktop.DBus.Peer", "Ping")
    with mark("QDBus", state):
        bus.call(message, mode, 500)


def dbus_block():
    dbus(QtDBus.QDBus.Block, "busy")


def dbus_with_gui():
    dbus(QtDBus.QDBus.BlockWithGui, "idle")


def round_trip():
    """Where the pointer is only the X server knows."""
    stop_display()
    with mark("round-trip"):
        QtGui.QCursor.pos()


def event_loop():
    loop = QtCore.QEventLoop()
    QtCore.QTimer.singleShot(500, loop.quit)
    with mark("QEventLoop", "idle"):
        loop.exec_()


def dialog():
    box = QtWidgets.QDialog()
    QtCore.QTimer.singleShot(600, box.accept)
    with mark("QDialog", "idle"):
        box.exec_()


def blocked_in_dialog():
    box = QtWidgets.QDialog()
    QtCore.QTimer.singleShot(150, tcp_socket)
    QtCore.QTimer.singleShot(1100, box.accept)
    with mark("QDialog", "idle"):
        box.exec_()


def pumping():
    QtCore.QTimer.singleShot(300, lambda: None)
    with mark("processEvents", "idle"):
        QtCore.QCoreApplication.processEvents(QtCore.QEventLoop.WaitForMoreEvents)


def sleeping():
    with mark("sleep"):
        QtCore.QThread.msleep(400)


ALL = [computing, dialog, tcp_socket, process, event_loop, tcp_socket, dbus_block, dbus_with_gui, pumping,
       python_socket, command, blocked_in_dialog, sleeping, event_loop, process, tcp_socket, dialog]
if "DISPLAY_PID" in os.environ:
    ALL.insert(6, round_trip)


def step(index):
    if index == len(ALL):
        since("over")
        app.quit()
        return
    ALL[index]()
    QtCore.QTimer.singleShot(250, lambda: step(index + 1))


app = QtWidgets.QApplication(["recognition"])
window = QtWidgets.QLabel("a window")
window.show()
QtCore.QTimer.singleShot(400, lambda: step(0))
since("idle")
app.exec_()
