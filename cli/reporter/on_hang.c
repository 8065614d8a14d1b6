/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: running the command of --on-hang.
 */
#include "cli/reporter/on_hang.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/signal_state.h"

/* In the child: nothing of the terminal's, no descriptor but an empty input and our standard error. */
static _Noreturn void become(const struct on_hang *o, const char *report) {
    setpgid(0, 0); /* Ctrl-C is the program's */
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    fcntl(STDERR_FILENO, F_SETFD, 0);
    closefrom(STDERR_FILENO + 1);
    setenv("HANGDOG_REPORT", report, 1);
    signal_state_restore();
    execl("/bin/sh", "sh", "-c", o->command, "hangdog", report, (char *)NULL);
    _exit(127);
}

static void start_next(struct on_hang *o) {
    while (o->running == 0 && o->begun < o->given_count) {
        const char *report = o->given[o->begun++];
        pid_t child = fork();
        if (child == 0) {
            become(o, report);
        }
        if (child > 0) {
            setpgid(child, child); /* whoever comes first */
            o->running = child;
        }
        o->left_out += child < 0;
    }
}

/* The newest are looked at first. */
static bool is_new(const struct on_hang *o, const char *report) {
    for (size_t i = o->given_count; i > 0; i--) {
        if (strcmp(o->given[i - 1], report) == 0) {
            return false;
        }
    }
    return true;
}

static bool keep(struct on_hang *o, const char *report) {
    if (o->given_count == o->given_room) {
        size_t room = o->given_room != 0 ? 2 * o->given_room : 64;
        char **more = realloc(o->given, room * sizeof *more);
        if (more == NULL) {
            return false;
        }
        o->given = more;
        o->given_room = room;
    }
    o->given[o->given_count] = strdup(report);
    return o->given[o->given_count] != NULL && ++o->given_count;
}

/* Nobody waits for what has not begun. */
static void leave_out(struct on_hang *o) {
    o->left_out += o->given_count - o->begun;
    o->begun = o->given_count;
}

void on_hang_add(struct on_hang *o, const char *report) {
    pthread_mutex_lock(&o->lock);
    if (o->command != NULL && is_new(o, report)) {
        o->left_out += !keep(o, report);
        if (o->stopped) {
            leave_out(o);
        }
        start_next(o);
    }
    pthread_mutex_unlock(&o->lock);
}

void on_hang_reap(struct on_hang *o) {
    pthread_mutex_lock(&o->lock);
    if (o->running != 0 && waitpid(o->running, NULL, WNOHANG) != 0) {
        o->running = 0;
        start_next(o);
    }
    pthread_mutex_unlock(&o->lock);
}

bool on_hang_busy(struct on_hang *o) {
    pthread_mutex_lock(&o->lock);
    bool busy = o->running != 0;
    pthread_mutex_unlock(&o->lock);
    return busy;
}

unsigned long on_hang_stop(struct on_hang *o) {
    pthread_mutex_lock(&o->lock);
    o->stopped = true;
    leave_out(o);
    if (o->running != 0) {
        kill(-o->running, SIGTERM);
        o->running = 0;
        o->left_out++;
    }
    unsigned long left_out = o->left_out;
    pthread_mutex_unlock(&o->lock);
    return left_out;
}
