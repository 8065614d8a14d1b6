/* SPDX-License-Identifier: MIT
 *
 * A window of plain Xlib. A second thread, with a connection of its own, sends it a message after each wait
 * of the schedule.
 */
#include <X11/Xlib.h>
#include <errno.h>
#include <semaphore.h>

#include "schedule.h"

static Window window;
static sem_t is_armed;
static int after_ms;

static void *send_messages(void *unused) {
    Display *display = XOpenDisplay(NULL);
    XEvent message = {.xclient = {.type = ClientMessage, .format = 32}};
    for (;;) {
        while (sem_wait(&is_armed) != 0 && errno == EINTR) {
        }
        usleep((useconds_t)after_ms * 1000);
        message.xclient.window = window;
        XSendEvent(display, window, False, NoEventMask, &message);
        XFlush(display);
    }
    return unused;
}

int main(int argc, char **argv) {
    Display *display = XOpenDisplay(NULL);
    pthread_t sender;
    if (argc < 2 || !display) {
        return 2;
    }
    window = XCreateSimpleWindow(display, DefaultRootWindow(display), 0, 0, 200, 100, 0, 0, 0);
    XSelectInput(display, window, ExposureMask | KeyPressMask);
    XMapWindow(display, window);
    XSync(display, False);
    sem_init(&is_armed, 0, 0);
    pthread_create(&sender, NULL, send_messages, NULL);
    for (after_ms = first_wait_ms(argv); after_ms >= 0;) {
        XEvent event;
        sem_post(&is_armed);
        do {
            XNextEvent(display, &event);
        } while (event.type != ClientMessage);
        after_ms = run_callback();
    }
    return 0;
}
