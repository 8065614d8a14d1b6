/* SPDX-License-Identifier: MIT
 *
 * Xlib without a toolkit: loop and replies on one descriptor. A child sends an event every 200 ms; some of
 * them are answered by a round trip to a server that is stopped meanwhile.
 */
#include <X11/Xlib.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EVENTS 24

static int marks;

static void note(const char *kind, const char *state) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    dprintf(marks, "%lld%09ld %s %s -\n", (long long)ts.tv_sec, ts.tv_nsec, kind, state);
}

static void send_events(Window w) {
    Display *d = XOpenDisplay(NULL);
    for (int i = 0; d != NULL && i < EVENTS; i++) {
        XEvent e = {.xclient = {.type = ClientMessage, .window = w, .format = 32}};
        usleep(200000);
        XSendEvent(d, w, False, NoEventMask, &e);
        XFlush(d);
    }
    _exit(0);
}

static bool is_stopped(pid_t pid) {
    char path[32], text[256], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *stat = fopen(path, "re");
    if (stat != NULL) {
        const char *name_end = fgets(text, sizeof text, stat) != NULL ? strrchr(text, ')') : NULL;
        state = name_end != NULL && name_end[1] == ' ' ? name_end[2] : 0;
        fclose(stat);
    }
    return state == 'T';
}

static void stopped_round_trip(Display *d, pid_t server) {
    pid_t stopper = fork();
    if (stopper == 0) {
        kill(server, SIGSTOP);
        usleep(500000);
        kill(server, SIGCONT);
        _exit(0);
    }
    while (waitpid(stopper, NULL, WNOHANG) == 0 && !is_stopped(server)) {
        usleep(10000);
    }
    note("begin", "busy");
    XSync(d, False);
    note("end", "busy");
}

static Bool is_message(Display *d, XEvent *e, XPointer unused) {
    (void)d;
    (void)unused;
    return e->type == ClientMessage;
}

int main(void) {
    const char *file = getenv("HANGDOG_MARKS"), *server = getenv("DISPLAY_PID");
    marks = open(file != NULL ? file : "/dev/null", O_WRONLY | O_APPEND | O_CLOEXEC);
    Display *d = XOpenDisplay(NULL);
    if (d == NULL || server == NULL) {
        return 1;
    }
    Window w = XCreateSimpleWindow(d, DefaultRootWindow(d), 0, 0, 100, 100, 0, 0, 0);
    XMapWindow(d, w);
    XSync(d, False);
    if (fork() == 0) {
        send_events(w);
    }
    note("from", "idle");
    for (int n = 0; n < EVENTS - 2;) {
        XEvent e;
        XNextEvent(d, &e);
        n += e.type == ClientMessage;
        if (e.type == ClientMessage && n % 6 == 5) {
            stopped_round_trip(d, (pid_t)atoi(server));
        } else if (e.type == ClientMessage && n % 6 == 2) {
            note("begin", "idle");
            XIfEvent(d, &e, is_message, NULL);
            n++;
            note("end", "idle");
        }
    }
    note("from", "over");
    XCloseDisplay(d);
}
