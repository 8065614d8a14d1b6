/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: running the command of --on-hang.
 */
#include "cli/reporter/on_hang.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/signal_state.h"

#define COPY_FD (STDERR_FILENO + 1)
#define COPY_PATH "/proc/self/fd/3"
#define REPORT_BYTES_MAX (16 << 20)

/* Another user's file may be exchanged while the command reads it: the command gets a copy. False: it is none
 * of a report. */
static bool copy_report(const char *report) {
    struct stat st;
    off_t at = 0;
    int from = open(report, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is_file = from >= 0 && fstat(from, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
                   st.st_size <= REPORT_BYTES_MAX;
    int copy = is_file ? memfd_create("report", 0) : -1;
    while (copy >= 0 && at < st.st_size) {
        if (sendfile(copy, from, &at, (size_t)(st.st_size - at)) <= 0) {
            return false;
        }
    }
    return copy >= 0 && lseek(copy, 0, SEEK_SET) == 0 && (copy == COPY_FD || dup2(copy, COPY_FD) == COPY_FD);
}

/* In the child: nothing of the terminal's, no descriptor but an empty input, our standard error and, of
 * another user's report, a copy. */
static _Noreturn void become(const struct on_hang *o, const char *report) {
    struct stat st;
    bool is_anothers = lstat(report, &st) == 0 && st.st_uid != geteuid();
    if (is_anothers && !copy_report(report)) {
        _exit(127);
    }
    report = is_anothers ? COPY_PATH : report;
    setpgid(0, 0); /* Ctrl-C is the program's */
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    fcntl(STDERR_FILENO, F_SETFD, 0);
    closefrom(is_anothers ? COPY_FD + 1 : COPY_FD);
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
