# SPDX-License-Identifier: MIT
"""Labels for `hangdog run -- python3 ...`: call label("GET /cart") where a request starts. The asyncio task, and the tasks
that it starts, keep the label, and the report of a hang has it. Without `hangdog run` a call does nothing."""

import asyncio
import contextvars
import ctypes

_set = getattr(ctypes.CDLL(None), "hangdog_run_label", None)
_label = contextvars.ContextVar("hangdog_label", default=())
_followed = set()


def label(text, traceparent=None):
    """Labels what this thread, and this asyncio task, works on from now on. None: no label."""
    loop = asyncio._get_running_loop()  # pylint: disable=protected-access
    if _set and loop and type(loop) not in _followed:
        _follow(type(loop))
    _label.set(tuple(part and part.encode(errors="replace") for part in (text, traceparent)) if text else ())
    _show()


def _show():
    if _set:
        _set(*(_label.get() or (None, None)))


def _run(callback, *args):
    if _label.get():
        _show()
    try:
        return callback(*args)
    finally:
        if _label.get():
            _set(None, None)


def _follow(loop):
    """A step of a task comes by the loop's call_soon, in the task's context. So each step shows the label of its task."""
    _followed.add(loop)
    call_soon = loop.call_soon
    loop.call_soon = lambda self, callback, *args, **more: call_soon(self, _run, callback, *args, **more)
