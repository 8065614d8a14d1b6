# SPDX-License-Identifier: MIT
"""The examples of the loops in C: built as people build them, each reports its slow request, or click."""

import contextlib
import ctypes
import ctypes.util
import json
import os
import shutil
import subprocess
import tempfile

from support_examples import ExampleCase
from support_run import HANGDOG, environment, main, wait_until
from support_x_server import x_server


WATCH = """
#include <hangdog/glib.h>
hangdog_glib *watch_it(void);
hangdog_glib *watch_it(void) {
    return hangdog_glib_watch(NULL, "main", 0);
}
"""
STOP = """
#include <hangdog/uv.h>
static hangdog_uv *watch;
static void stop(uv_timer_t *timer) {
    uv_close((uv_handle_t *)timer, NULL);
    hangdog_uv_unwatch(watch);
}
int main(void) {
    uv_timer_t timer;
    hangdog_start(NULL);
    watch = hangdog_uv_watch(uv_default_loop(), "main", 0);
    uv_timer_init(uv_default_loop(), &timer);
    uv_timer_start(&timer, stop, 10, 0);
    int alive = hangdog_uv_run(watch, uv_default_loop(), UV_RUN_DEFAULT);
    hangdog_stop();
    return alive != 0 || uv_loop_close(uv_default_loop()) != 0;
}
"""
UV_RUNS = """
#include <hangdog/uv.h>
#include <unistd.h>
static void nothing(uv_timer_t *timer) {
    (void)timer;
}
static void slow(uv_timer_t *timer) {
    usleep(800000);
    uv_timer_stop(timer);
}
int main(void) {
    uv_loop_t *loop = uv_default_loop();
    uv_timer_t timer;
    hangdog_start(NULL);
    hangdog_uv *watch = hangdog_uv_watch(loop, "main", 300000000);
    uv_timer_init(loop, &timer);
    uv_timer_start(&timer, nothing, 10, 0);
    hangdog_uv_run(watch, loop, UV_RUN_DEFAULT);
    usleep(700000); /* between two runs */
    uv_timer_start(&timer, nothing, 60000, 0);
    for (int i = 0; i < 2; i++) { /* as another loop does, which waits itself */
        hangdog_uv_run(watch, loop, UV_RUN_NOWAIT);
        usleep(700000);
    }
    uv_timer_start(&timer, slow, 0, 0);
    hangdog_uv_run(watch, loop, UV_RUN_NOWAIT);
    usleep(700000);
    return hangdog_stop();
}
"""
SD_EVENT_RUNS = """
#include <hangdog/sd_event.h>
#include <unistd.h>
static int quit(sd_event_source *source, void *wait_us) {
    usleep(*(unsigned *)wait_us);
    return sd_event_exit(sd_event_source_get_event(source), 0);
}
static void run(hangdog_loop *loop, unsigned wait_us) {
    sd_event *event = NULL;
    sd_event_new(&event);
    sd_event_add_defer(event, NULL, quit, &wait_us);
    hangdog_sd_event_loop(loop, event);
    sd_event_unref(event);
    usleep(700000); /* between two runs */
}
int main(void) {
    hangdog_start(NULL);
    hangdog_loop *loop = hangdog_loop_watch("main", 300000000);
    run(loop, 0);
    run(loop, 800000);
    return hangdog_stop();
}
"""
UNWATCH = """
#include <hangdog/glib.h>
hangdog_glib *watch_it(void);
int main(void) {
    GPollFunc before = g_main_context_get_poll_func(g_main_context_default());
    hangdog_start(NULL);
    hangdog_glib *watch = watch_it();
    int well = watch != NULL;
    hangdog_glib_unwatch(watch);
    well = well && g_main_context_get_poll_func(g_main_context_default()) == before;
    hangdog_stop();
    return !well;
}
"""


def click(display, x, y):
    """Clicks on that screen, as a user does."""
    x11, xtst = ctypes.CDLL("libX11.so.6"), ctypes.CDLL("libXtst.so.6")
    x11.XOpenDisplay.restype = ctypes.c_void_p
    opened = ctypes.c_void_p(x11.XOpenDisplay(display.encode()))
    xtst.XTestFakeMotionEvent(opened, 0, x, y, 0)
    for pressed in (1, 0):
        xtst.XTestFakeButtonEvent(opened, 1, pressed, 0)
    x11.XSync(opened, 0)
    x11.XCloseDisplay(opened)


class Adapters(ExampleCase):
    def check(self, name, *modules, package="", more=()):
        for module in modules:
            self.need(module, package)
        program = self.build(name + ".c", "hangdog", *modules, more=more)
        for _ in range(5):  # on a busy machine, the end of the program leaves a worker behind
            reports = self.run_it(program)
            if reports and all(report["complete"] for report in reports):
                break
        hang = self.assert_hang(reports, "handle")
        self.assertEqual("main", hang["loop"]["name"])

    def test_glib(self):
        self.check("glib", "glib-2.0", package="libglib2.0-dev")

    def test_glib_in_two_files(self):
        """The function that unwatches is in another file than the one that watches."""
        self.need("glib-2.0", "libglib2.0-dev")
        more = [self.written("watch.c", WATCH)]
        self.run_it(self.build(self.written("unwatch.c", UNWATCH), "hangdog", "glib-2.0", more=more))

    def test_libuv(self):
        self.check("uv", "libuv", package="libuv1-dev")

    def written(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_libuv_is_idle_between_two_runs(self):
        self.need("libuv", "libuv1-dev")
        self.assert_hang(self.run_it(self.build(self.written("runs.c", UV_RUNS), "hangdog", "libuv")), "slow", 0.8)

    def test_sd_event_is_idle_between_two_runs(self):
        self.need("libsystemd", "libsystemd-dev")
        self.assert_hang(self.run_it(self.build(self.written("runs.c", SD_EVENT_RUNS), "hangdog", "libsystemd")), "quit", 0.8)

    def test_libuv_in_a_callback(self):
        """The watch ends while the loop runs."""
        self.need("libuv", "libuv1-dev")
        self.run_it(self.build(self.written("stop.c", STOP), "hangdog", "libuv", more=["-fsanitize=address"]), env={"ASAN_OPTIONS": "detect_leaks=0"})

    def test_libevent(self):
        self.check("libevent", "libevent_core", package="libevent-dev")

    def test_libev(self):
        if subprocess.run(["cc", "-E", "-include", "ev.h", "-x", "c", "/dev/null"], capture_output=True, check=False).returncode != 0:
            self.skipTest("libev is not installed; try: apt-get install libev-dev")
        self.check("ev", more=["-lev"])

    def test_sd_event(self):
        self.check("sd_event", "libsystemd", package="libsystemd-dev")

    def test_epoll(self):
        self.check("epoll")

    def complete(self, spool):
        """The report of the hang, once it is complete."""
        done = subprocess.run([HANGDOG, "show", "latest", "--json", "--spool", spool], env=environment(), capture_output=True, text=True,
                              check=False)
        return [json.loads(done.stdout)] if done.returncode == 0 and json.loads(done.stdout)["complete"] else []

    def hang_after_clicks(self, spool, display):
        for _ in range(20):  # in vain while the window is not there
            click(display, 10, 10)
            with contextlib.suppress(AssertionError):
                return wait_until(lambda: self.complete(spool), "the report", 5)
        return []

    def check_gtk(self, module, package):
        self.need(module, package)
        if not shutil.which("Xvfb") or not ctypes.util.find_library("Xtst"):
            self.skipTest("no X server or no clicks; try: apt-get install xvfb libxtst6")
        state = tempfile.mkdtemp(dir=self.folder)
        with x_server() as display:
            env = environment({"XDG_STATE_HOME": state, **display})
            with subprocess.Popen([self.build("gtk.c", "hangdog", module)], env=env, stderr=subprocess.DEVNULL) as program:
                try:
                    reports = self.hang_after_clicks(state + "/hangdog/gtk", display["DISPLAY"])
                finally:
                    program.terminate()
        self.assert_hang(reports, "load")

    def test_gtk3(self):
        self.check_gtk("gtk+-3.0", "libgtk-3-dev")

    def test_gtk4(self):
        self.check_gtk("gtk4", "libgtk-4-dev")


if __name__ == "__main__":
    main()
