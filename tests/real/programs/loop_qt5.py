# SPDX-License-Identifier: MIT
#
# Qt 5's loop without a window, with a timer.

import sys

from PyQt5.QtCore import QCoreApplication, QTimer
from schedule import callback, wait_ms

application = QCoreApplication(sys.argv[:1])


def on_timer():
    start_timer(callback())


def start_timer(ms):
    if ms is None:
        application.quit()
    else:
        QTimer.singleShot(ms, on_timer)


start_timer(wait_ms())
application.exec_()
