# SPDX-License-Identifier: MIT
"""Hangdog for asyncio: reports each turn of the event loop that takes too long, with its functions and their lines.

    import hangdog

    async def main():
        hangdog.watch(threshold=0.5)
        ...

No build: ctypes loads libhangdog.so. Without that library a warning says so, and the program runs as without Hangdog. Under
`hangdog run` the loop is watched already, and watch() does nothing. Python 3.8 and later."""

import asyncio
import atexit
import ctypes
import errno
import functools
import os
import sys
import threading
import warnings

__all__ = ["Watch", "watch"]
__version__ = "0.1.0"

_STATES = 6  # HANGDOG_STATES
_BEFORE_TIMERS, _EXIT = 1, 5  # hangdog_activity
_POST = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_POSTS = []  # a thread of Hangdog may call one after its loop has gone


class _Options(ctypes.Structure):  # the first members of hangdog_options
    _fields_ = [("size", ctypes.c_size_t), ("app_name", ctypes.c_char_p), ("app_version", ctypes.c_char_p),
                ("environment", ctypes.c_char_p), ("spool", ctypes.c_char_p), ("interval_ns", ctypes.c_uint64),
                ("threshold_ns", ctypes.c_uint64 * _STATES)]


class _Library:
    """The functions of libhangdog.so. A mark takes some nanoseconds: the call keeps Python's lock. Other calls release it."""

    def __init__(self, path):
        calls, marks = ctypes.CDLL(path), ctypes.PyDLL(path)
        self.start = calls.hangdog_start
        self.stop = calls.hangdog_stop
        self.loop_watch = calls.hangdog_loop_watch
        self.loop_watch.argtypes, self.loop_watch.restype = (ctypes.c_char_p, ctypes.c_uint64), ctypes.c_void_p
        self.watch_ping = calls.hangdog_watch_ping
        self.watch_ping.argtypes = ctypes.c_void_p, _POST, ctypes.c_void_p
        self.loop_unwatch = calls.hangdog_loop_unwatch
        self.before_wait, self.after_wait = marks.hangdog_before_wait, marks.hangdog_after_wait
        self.turn, self.mark, self.label = marks.hangdog_turn, marks.hangdog_mark, marks.hangdog_label
        for function in (self.loop_unwatch, self.before_wait, self.after_wait, self.turn):
            function.argtypes, function.restype = (ctypes.c_void_p,), None
        self.mark.argtypes, self.mark.restype = (ctypes.c_void_p, ctypes.c_int), None
        self.label.argtypes, self.label.restype = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p), None


@functools.lru_cache(maxsize=None)
def _load(path):
    here = os.path.dirname(os.path.abspath(__file__))
    found = [path] if path else ["libhangdog.so.0", os.path.join(here, "@library_folder@", "libhangdog.so.0"), "/usr/local/lib/libhangdog.so.0"]
    for each in found:
        try:
            return _Library(each)
        except OSError as error:
            problem = error
    warnings.warn("hangdog: the event loop is not watched, since the library was not found: %s" % problem, RuntimeWarning, stacklevel=3)
    return None


class _Handles(set):
    """The watches of a thread. The library lets only their thread end them, and another thread may close the loop after it."""

    def __init__(self, library):
        super().__init__()
        self._unwatch = library.loop_unwatch

    def __del__(self):
        for handle in self:
            self._unwatch(handle)


_THREAD = threading.local()  # Python drops a thread's own at the thread's end, in that thread


def _handles(library):
    """The set of this thread. The process ends with the main thread, and takes its watches along."""
    if threading.current_thread() is threading.main_thread():
        return set()
    if not hasattr(_THREAD, "handles"):
        _THREAD.handles = _Handles(library)
    return _THREAD.handles


def _app_name():
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)  # python3 -m NAME
    name = spec.name[:-len(".__main__")] if spec and spec.name.endswith(".__main__") else spec.name if spec else ""
    return name or os.path.basename(sys.argv[0]) or "python"


class Watch:
    """The watch of one loop. It ends by close(), by the loop's close(), or at the end of a `with` block."""

    def __init__(self, library=None, loop=None, handle=None):
        self._library, self._loop, self._handle = library, loop, handle
        self._thread = threading.current_thread()
        if handle:
            _handles(library).add(handle)
        self._replaced = []

    def __bool__(self):
        return self._handle is not None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def label(self, text, traceparent=None):
        """Labels what the loop works on now, such as "GET /cart", until the next label or the end of the turn."""
        if self._handle:
            self._library.label(self._handle, *(part.encode(errors="replace") if part else None for part in (text, traceparent)))

    def close(self):
        """Ends the watch. In another thread than the loop's, the watch lasts until the loop's thread ends."""
        handle, self._handle = self._handle, None
        for owner, name in self._replaced:
            vars(owner).pop(name, None)
        self._replaced = []
        if handle and self._thread is threading.current_thread():
            _handles(self._library).discard(handle)
            self._library.loop_unwatch(handle)

    def _replace(self, owner, name, function):
        setattr(owner, name, function)
        self._replaced.append((owner, name))

    def _close_with(self, name):
        """Ends the watch before this function of the loop runs."""
        function = getattr(self._loop, name)

        def closed(*args):
            self.close()
            return function(*args)

        self._replace(self._loop, name, closed)

    def _wrap_run(self, started, ended):
        """Calls `ended` after each run of the loop, also one that an exception ends: no turn follows until the next run."""
        loop = self._loop
        run_forever = loop.run_forever

        def marked_run_forever():
            started()
            try:
                run_forever()
            finally:
                ended()

        self._replace(loop, "run_forever", marked_run_forever)
        if loop.is_running():
            self._end_this_run(ended)

    def _end_this_run(self, ended):
        """The same for the run that this call is in: asyncio calls a function of its own at each end, other loops only stop()."""
        loop = self._loop
        name = "_set_coroutine_origin_tracking" if hasattr(loop, "_set_coroutine_origin_tracking") else "stop"
        function = getattr(loop, name)

        def left(*args):
            function(*args)
            if name == "stop" or not loop.is_running():
                vars(loop).pop(name, None)
                ended()

        self._replace(loop, name, left)

    def _mark_waits(self, selector):
        """The selector's select() is the loop's wait, and nothing else is."""
        library, handle, select = self._library, self._handle, selector.select
        before_wait, after_wait, turn = library.before_wait, library.after_wait, library.turn

        def marked_select(timeout=None):
            if timeout is not None and timeout <= 0:
                turn(handle)
                return select(timeout)
            before_wait(handle)
            try:
                return select(timeout)
            finally:
                after_wait(handle)

        self._replace(selector, "select", marked_select)
        self._wrap_run(lambda: self._mark(_BEFORE_TIMERS), lambda: self._mark(_EXIT))

    def _mark(self, mark):
        """Does nothing after close(), which may come within a run: the library gives the handle to the next watch."""
        if self._handle:
            self._library.mark(self._handle, mark)

    def _ping(self):
        """For a loop without a selector of Python, such as uvloop's: a thread of Hangdog posts a task twice a second."""
        loop, lock, tasks = self._loop, threading.Lock(), []
        stopped = False

        def answer():
            with lock:
                answered, tasks[:] = tasks[:], []
            for run, argument in answered:
                _RUN(run)(argument)

        def post(_context, run, argument):
            with lock:
                if stopped:
                    return -1
                tasks.append((run, argument))
            try:
                loop.call_soon_threadsafe(answer)
                return 0
            except RuntimeError:  # the loop is closed
                return -1

        def set_stopped(value):
            nonlocal stopped
            with lock:
                stopped = value
            if value:
                answer()

        callback = _POST(post)
        _POSTS.append(callback)
        self._wrap_run(lambda: set_stopped(False), lambda: set_stopped(True))
        return self._library.watch_ping(self._handle, callback, None) == 0


def watch(loop=None, name="main", threshold=None, *, app=None, version=None, environment=None, spool=None, library=None):
    """Watches an event loop: the running one, or `loop` before it runs. The loop's thread calls this.

    name: the loop's name in reports. threshold: seconds from which on a turn is a hang; default 2. The first call in a process
    starts Hangdog with app, version, environment and spool, as in hangdog_options of hangdog/hangdog.h. library: the path of
    libhangdog.so. Returns a Watch, which is false if this call watches nothing: also if the loop is watched already."""
    loop = loop or asyncio.get_running_loop()
    if hasattr(loop, "_hangdog") or hasattr(ctypes.PyDLL(None), "hangdog_run_label"):
        return Watch()
    found = _load(library)
    if found is None:
        return Watch()
    nanoseconds = int((threshold or 0) * 1e9)
    texts = [os.fsencode(text) if text else None for text in (app or _app_name(), version, environment, spool)]
    options = _Options(ctypes.sizeof(_Options), *texts, 0, (ctypes.c_uint64 * _STATES)(*[nanoseconds] * _STATES))
    status = found.start(ctypes.byref(options))
    if status == 0:
        atexit.register(found.stop)
    handle = found.loop_watch(name.encode(errors="replace"), nanoseconds)
    if not handle:
        why = "256 loops are watched already" if status in (0, -errno.EALREADY) else os.strerror(-status)
        warnings.warn("hangdog: the event loop is not watched: %s" % why, RuntimeWarning, stacklevel=2)
        return Watch()
    watched = Watch(found, loop, handle)
    watched._replace(loop, "_hangdog", watched)
    watched._close_with("close")
    if _waits_in_select(loop):
        watched._mark_waits(loop._selector)
    elif not watched._ping():
        watched.close()
    return watched


def _waits_in_select(loop):
    """Not so in loops of toolkits: their selectors return what the toolkit has waited for."""
    selector = getattr(loop, "_selector", None)
    return type(selector).__module__ == "selectors" and type(loop).run_forever is asyncio.BaseEventLoop.run_forever
