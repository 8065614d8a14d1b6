/* SPDX-License-Identifier: MIT
 *
 * A window of plain XCB. A second thread, with a connection of its own, sends it a message after each wait of
 * the schedule.
 */
#include <errno.h>
#include <semaphore.h>
#include <xcb/xcb.h>

#include "schedule.h"

static xcb_window_t window;
static sem_t is_armed;
static int after_ms;

static void *send_messages(void *unused) {
    xcb_connection_t *connection = xcb_connect(NULL, NULL);
    xcb_client_message_event_t message = {.response_type = XCB_CLIENT_MESSAGE, .format = 32};
    for (;;) {
        while (sem_wait(&is_armed) != 0 && errno == EINTR) {
        }
        usleep((useconds_t)after_ms * 1000);
        message.window = window;
        xcb_send_event(connection, 0, window, XCB_EVENT_MASK_NO_EVENT, (const char *)&message);
        xcb_flush(connection);
    }
    return unused;
}

/* Waits for the other thread's message. */
static void wait_for_message(xcb_connection_t *connection) {
    for (;;) {
        xcb_generic_event_t *event = xcb_wait_for_event(connection);
        int is_message = !event || (event->response_type & 0x7f) == XCB_CLIENT_MESSAGE;
        free(event);
        if (is_message) {
            return;
        }
    }
}

int main(int argc, char **argv) {
    xcb_connection_t *connection = xcb_connect(NULL, NULL);
    xcb_screen_t *screen;
    pthread_t sender;
    if (argc < 2 || xcb_connection_has_error(connection)) {
        return 2;
    }
    screen = xcb_setup_roots_iterator(xcb_get_setup(connection)).data;
    window = xcb_generate_id(connection);
    xcb_create_window(connection, XCB_COPY_FROM_PARENT, window, screen->root, 0, 0, 200, 100, 0,
                      XCB_WINDOW_CLASS_INPUT_OUTPUT, screen->root_visual, 0, NULL);
    xcb_map_window(connection, window);
    xcb_flush(connection);
    sem_init(&is_armed, 0, 0);
    pthread_create(&sender, NULL, send_messages, NULL);
    for (after_ms = first_wait_ms(argv); after_ms >= 0;) {
        sem_post(&is_armed);
        wait_for_message(connection);
        after_ms = run_callback();
    }
    xcb_disconnect(connection);
    return 0;
}
