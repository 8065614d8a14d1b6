/* SPDX-License-Identifier: MIT */
#include "collector/symbols/worker_run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BAD_FILE 3
#define OUT_MAX ((size_t)64 << 20)
#define OUT_FIRST ((size_t)256 << 10)

struct job {
    pid_t pid;
    int in, out; /* -1: closed */
    const char *report;
    size_t left;
    char *text; /* of the worker */
    size_t bytes, size;
    bool is_late;
};

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Next to this program. */
static bool find_program(char path[PATH_MAX]) {
    char own[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    own[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(own, '/');
    return slash != NULL && snprintf(path, PATH_MAX, "%.*s/hangdog-name", (int)(slash - own), own) < PATH_MAX;
}

static void close_end(int *fd) {
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* With no variable of the environment, no blocked signal, and no descriptor but the two pipes and stderr. */
static int spawn(struct job *job, char *const *words, int in, int out) {
    char path[PATH_MAX], *none[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t signals;
    if (!find_program(path)) {
        return ENOENT;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawnattr_init(&attr);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attr, &signals);
    sigaddset(&signals, SIGPIPE);
    posix_spawnattr_setsigdefault(&attr, &signals);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawn(&job->pid, path, &actions, &attr, words, none);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static bool start(struct job *job, char *const *words) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0) {
        return false;
    }
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return false;
    }
    int error = spawn(job, words, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    job->in = in[1];
    job->out = out[0];
    fcntl(job->in, F_SETFL, O_NONBLOCK);
    fcntl(job->out, F_SETFL, O_NONBLOCK);
    errno = error;
    return error == 0;
}

static void give(struct job *job) {
    ssize_t n = write(job->in, job->report, job->left);
    if (n > 0) {
        job->report += n;
        job->left -= (size_t)n;
    }
    if (job->left == 0 || (n < 0 && errno != EAGAIN)) {
        close_end(&job->in);
    }
}

/* False: there is no more, or too much. */
static bool take(struct job *job) {
    if (job->bytes == job->size) {
        size_t size = job->size == 0 ? OUT_FIRST : 2 * job->size;
        char *text = size <= OUT_MAX ? realloc(job->text, size) : NULL;
        if (text == NULL) {
            return false;
        }
        job->text = text;
        job->size = size;
    }
    ssize_t n = read(job->out, job->text + job->bytes, job->size - job->bytes);
    job->bytes += n > 0 ? (size_t)n : 0;
    return n > 0 || (n < 0 && errno == EAGAIN);
}

static void exchange(struct job *job) {
    int64_t deadline = now_ms() + WORKER_SECONDS * 1000;
    for (bool more = true; more;) {
        struct pollfd fds[] = {{.fd = job->out, .events = POLLIN}, {.fd = job->in, .events = POLLOUT}};
        int64_t wait = deadline - now_ms();
        job->is_late = wait <= 0;
        if (wait <= 0 || (poll(fds, 2, (int)wait) < 0 && errno != EINTR)) {
            return;
        }
        if (fds[1].revents != 0) {
            give(job);
        }
        more = fds[0].revents == 0 || take(job);
    }
}

/* Signals that the parser causes itself; others come from outside, or from a limit. */
static bool is_crash(int signal) {
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGFPE || signal == SIGILL;
}

static void judge(const struct job *job, int status, struct worker_result *r) {
    if (job->is_late) {
        r->end = WORKER_STOPPED;
        snprintf(r->why, sizeof r->why, "the worker took longer than %d s", WORKER_SECONDS);
    } else if (WIFSIGNALED(status)) {
        r->end = is_crash(WTERMSIG(status)) ? WORKER_CRASHED : WORKER_STOPPED;
        snprintf(r->why, sizeof r->why, "signal %d ended the worker", WTERMSIG(status));
    } else if (WEXITSTATUS(status) == BAD_FILE) {
        r->end = WORKER_BAD_FILE;
        snprintf(r->why, sizeof r->why, "%.*s",
                 (int)(job->bytes < sizeof r->why ? job->bytes : sizeof r->why - 1),
                 job->text != NULL ? job->text : "");
    } else if (WEXITSTATUS(status) != 0) {
        r->end = WORKER_STOPPED;
        snprintf(r->why, sizeof r->why, "the worker ended with status %d", WEXITSTATUS(status));
    } else {
        r->end = WORKER_DONE;
    }
}

/* Fills all of the result but `named`. The worker's text stays in the job. */
static void run(struct job *job, char *const *words, struct worker_result *r) {
    int status = 0;
    *r = (struct worker_result){.end = WORKER_NOT_STARTED};
    if (!start(job, words)) {
        snprintf(r->why, sizeof r->why, "the worker cannot start: %s", strerror(errno));
        close_end(&job->in);
        close_end(&job->out);
        return;
    }
    exchange(job);
    close_end(&job->in);
    close_end(&job->out);
    kill(job->pid, SIGKILL); /* a worker that has ended still waits for its parent: the number is its own */
    while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR) {
    }
    judge(job, status, r);
}

void worker_check(const char *folder, const char *build, struct worker_result *result) {
    struct job job = {.in = -1, .out = -1, .report = ""};
    char *words[] = {(char *)(uintptr_t) "hangdog-name", (char *)(uintptr_t) "--check",
                     (char *)(uintptr_t)folder, (char *)(uintptr_t)build, NULL};
    run(&job, words, result);
    result->end = result->end == WORKER_CRASHED ? WORKER_BAD_FILE : result->end;
    free(job.text);
}

void worker_name(const char *folder, const char *report, size_t bytes, struct worker_result *result) {
    struct job job = {.in = -1, .out = -1, .report = report, .left = bytes};
    char *words[] = {(char *)(uintptr_t) "hangdog-name", (char *)(uintptr_t)folder, NULL};
    run(&job, words, result);
    if (result->end == WORKER_DONE && job.bytes > 0) {
        result->named = job.text;
        result->bytes = job.bytes;
        return;
    }
    if (result->end == WORKER_DONE || result->end == WORKER_BAD_FILE) { /* no report came back */
        result->end = WORKER_STOPPED;
        snprintf(result->why, sizeof result->why, "the worker wrote no report");
    }
    free(job.text);
}
