# SPDX-License-Identifier: MIT
"""What runs in a game's pump of events for long is a hang, and a wait of SDL is none. No display is needed."""

import os
import subprocess
import tempfile
import unittest

from support_run import hot_functions, main, symbolicated
from support_side_by_side import SideBySide

LIBRARY = "/usr/lib/x86_64-linux-gnu/libSDL2-2.0.so.0"
# SDL's pump makes an event of SIGINT, and calls the filter.
GAME = """
#include <signal.h>
#include <string.h>
#include <unistd.h>
int SDL_Init(unsigned), SDL_PollEvent(void *), SDL_WaitEventTimeout(void *, int);
void SDL_PumpEvents(void), SDL_SetEventFilter(int (*)(void *, void *), void *);
static int slow_filter(void *unused, void *event) {
    (void)unused;
    if (*(const unsigned *)event == 0x100) { /* SDL_QUIT */
        usleep(900000);
    }
    return 1;
}
int main(int argc, char **argv) {
    char event[128];
    if (argc != 2 || SDL_Init(0x20) != 0) {
        return 1;
    }
    SDL_SetEventFilter(slow_filter, NULL);
    for (int i = 0; i < 60; i++) {
        if (i == 30 && strcmp(argv[1], "wait") != 0) {
            raise(SIGINT);
        }
        if (strcmp(argv[1], "pump") == 0) {
            SDL_PumpEvents();
        } else if (strcmp(argv[1], "poll") == 0) {
            SDL_PollEvent(event);
        } else {
            SDL_WaitEventTimeout(event, 900);
            i += 29;
        }
        usleep(16000);
    }
    return 0;
}
"""


class Pump(SideBySide):
    def ran(self, how):
        program = self.start([os.path.join(FOLDER, "game"), how], [], env={"SDL_VIDEODRIVER": "dummy"})
        self.assertEqual(0, program.wait(), program.errors)
        return program, program.reports("hang")

    def assert_seen(self, how):
        program, hangs = self.ran(how)
        self.assertEqual([9], [round(hang["duration_ns"] / 1e8) for hang in hangs], program.errors)
        self.assertIn("slow_filter", hot_functions(symbolicated(program, hangs[0])))

    def beside_a_filter_in_a_poll(self):
        self.assert_seen("poll")

    def beside_a_filter_in_a_pump(self):
        self.assert_seen("pump")

    def beside_a_wait_is_idle(self):
        program, hangs = self.ran("wait")
        self.assertEqual([], hangs)
        self.assertIn("no hang of", program.told[-1])


FOLDER = tempfile.mkdtemp(prefix="hangdog-test-")


def setUpModule():
    if not os.path.exists(LIBRARY):
        raise unittest.SkipTest(LIBRARY + " is not installed: scripts/install-dependencies test")
    subprocess.run(["gcc", "-g", "-O1", "-include", "stddef.h", "-x", "c", "-", "-x", "none", LIBRARY, "-o",
                    os.path.join(FOLDER, "game")], input=GAME, text=True, check=True)


if __name__ == "__main__":
    main()
