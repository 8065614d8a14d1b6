# SPDX-License-Identifier: MIT
#
# A window of Qt 5 with a timer.

import sys

from PyQt5.QtCore import QTimer
from PyQt5.QtWidgets import QApplication, QPushButton
from schedule import callback, wait_ms

application = QApplication(sys.argv[:1])
window = QPushButton("a button")
window.show()


def on_timer():
    start_timer(callback())


def start_timer(ms):
    if ms is None:
        application.quit()
    else:
        QTimer.singleShot(ms, on_timer)


start_timer(wait_ms())
application.exec()
