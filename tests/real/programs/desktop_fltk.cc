/* SPDX-License-Identifier: MIT
 *
 * A window of FLTK's with a timer.
 */
#include <FL/Fl.H>
#include <FL/Fl_Button.H>
#include <FL/Fl_Window.H>

#include "schedule.h"

static void on_timer(void *window) {
    int ms = run_callback();
    if (ms < 0) {
        static_cast<Fl_Window *>(window)->hide();
    } else {
        Fl::add_timeout(ms / 1000.0, on_timer, window);
    }
}

int main(int argc, char **argv) {
    Fl_Window window(200, 100);
    Fl_Button button(10, 10, 100, 30, "a button");
    if (argc < 2) {
        return 2;
    }
    window.end();
    window.show();
    Fl::add_timeout(first_wait_ms(argv) / 1000.0, on_timer, &window);
    return Fl::run();
}
