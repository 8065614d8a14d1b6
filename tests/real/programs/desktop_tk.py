# SPDX-License-Identifier: MIT
#
# A window of Tk with a timer, by tkinter.

import tkinter

from schedule import callback, wait_ms

window = tkinter.Tk()
tkinter.Button(window, text="a button").pack()


def on_timer():
    start_timer(callback())


def start_timer(ms):
    if ms is None:
        window.destroy()
    else:
        window.after(ms, on_timer)


start_timer(wait_ms())
window.mainloop()
