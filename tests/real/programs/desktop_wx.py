# SPDX-License-Identifier: MIT
#
# A window of wxWidgets with a timer.

import wx
from schedule import callback, wait_ms

application = wx.App()
window = wx.Frame(None, title="wxWidgets")
wx.Button(window, label="a button")
window.Show()


def on_timer():
    start_timer(callback())


def start_timer(ms):
    if ms is None:
        window.Destroy()
    else:
        wx.CallLater(max(1, ms), on_timer)


start_timer(wait_ms())
application.MainLoop()
