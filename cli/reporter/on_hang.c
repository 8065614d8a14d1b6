/* SPDX-License-Identifier: MIT */
#include "cli/reporter/on_hang.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/old_libc.h"
#include "cli/base/signal_state.h"

#define COPY_FD (STDERR_FILENO + 1)
#define COPY_PATH "/proc/self/fd/3"
#define REPORT_BYTES_MAX (16 << 20)

/* Copies the report, since another user may exchange the file while the command reads it. False: not a
 * regular file that can be read. */
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
    while (o->running == 0 && o->started < o->given_count) {
        const char *report = o->given[o->started++];
        pid_t child = fork();
        if (child == 0) {
            become(o, report);
        }
        if (child > 0) {
            setpgid(child, child); /* the first of both sets it */
            o->running = child;
        }
        o->skipped += child < 0;
    }
}

/* False: no memory. */
static bool enqueue(struct on_hang *o, const char *report) {
    if (o->given_count == o->given_capacity) {
        size_t capacity = o->given_capacity != 0 ? 2 * o->given_capacity : 64;
        char **more = realloc(o->given, capacity * sizeof *more);
        if (more == NULL) {
            return false;
        }
        o->given = more;
        o->given_capacity = capacity;
    }
    o->given[o->given_count] = strdup(report);
    return o->given[o->given_count] != NULL && ++o->given_count;
}

static void skip_waiting(struct on_hang *o) {
    o->skipped += o->given_count - o->started;
    o->started = o->given_count;
}

void on_hang_add(struct on_hang *o, const char *report) {
    if (o->command != NULL) {
        o->skipped += !enqueue(o, report);
        if (o->stopped) {
            skip_waiting(o);
        }
        start_next(o);
    }
}

void on_hang_reap(struct on_hang *o) {
    if (o->running != 0 && waitpid(o->running, NULL, WNOHANG) != 0) {
        o->running = 0;
        start_next(o);
    }
}

bool on_hang_busy(const struct on_hang *o) {
    return o->running != 0;
}

unsigned long on_hang_stop(struct on_hang *o) {
    o->stopped = true;
    skip_waiting(o);
    if (o->running != 0) {
        kill(-o->running, SIGTERM);
        o->running = 0;
        o->skipped++;
    }
    return o->skipped;
}
