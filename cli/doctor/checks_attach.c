/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/shell_quote.h"
#include "cli/doctor/checks.h"
#include "outside/hook.h"

#define LONG_NS 500000000
#define REFUSED_BYTES 1024

static void ignore_sight(void *arg, pid_t tid, const struct hd_hook_sight *sight) {
    (void)arg, (void)tid, (void)sight;
}

static void ignore_turn(void *arg, pid_t tid, const struct hd_hook_turn *turn) {
    (void)arg, (void)tid, (void)turn;
}

static void ignore_pair(void *arg, pid_t pid, pid_t tid) {
    (void)arg, (void)pid, (void)tid;
}

static void ignore_end(void *arg, pid_t tid, uint64_t at_ns) {
    (void)arg, (void)tid, (void)at_ns;
}

static void ignore_exec(void *arg, pid_t pid) {
    (void)arg, (void)pid;
}

/* Opens it on trial. Nothing is watched. */
static int try_way(const struct hd_hook_way *way) {
    const struct hd_hook_events events = {.sight = ignore_sight,
                                          .turn = ignore_turn,
                                          .thread_began = ignore_pair,
                                          .thread_ended = ignore_end,
                                          .exec = ignore_exec};
    struct hd_hook *hook = NULL;
    int rc = way->open(&hook, &events, LONG_NS);
    if (rc == 0) {
        way->close(hook);
    }
    return rc;
}

static const char *exactness(enum hd_hook_turns turns) {
    return turns == HD_TURNS_EXACT              ? "times are exact"
           : turns == HD_TURNS_EXACT_IF_BLOCKED ? "times are exact after a wait that blocked"
                                                : "times may be off by 100 ms";
}

/* A person can give rights, but no other kernel or machine. */
static size_t add_refused(char *to, size_t size, const struct hd_hook_way *way, int rc) {
    bool rights = rc == -EPERM || rc == -EACCES;
    const char *why = !rights ? rc == -ENOTSUP ? "this kernel or machine cannot do it" : strerror(-rc)
                      : geteuid() == 0 ? "the kernel refuses it, to root too"
                                       : way->needs;
    return (size_t)snprintf(to, size, "; not by %s (%s%s)", way->name, why == way->needs ? "needs " : "",
                            why);
}

void attach_checks_run(struct checks *c) {
    char refused[REFUSED_BYTES] = "", fix[256];
    const struct hd_hook_way *const *at = hd_hook_ways;
    size_t n = 0;
    for (int rc; *at != NULL && (*at)->name[0] != '\0' && (rc = try_way(*at)) != 0; at++) {
        n += add_refused(refused + n, sizeof refused - n, *at, rc);
    }
    if (*at == NULL || (*at)->name[0] == '\0') {
        checks_add(c, "attach", CHECK_WARN, NULL, "no running program can be watched%s", refused);
        return;
    }
    bool root = geteuid() == 0, weak = (*at)->turns == HD_TURNS_POLLED || !root;
    snprintf(fix, sizeof fix, "sudo %s attach PID", shell_own_command());
    checks_add(c, "attach", weak ? CHECK_WARN : CHECK_OK, weak && !root ? fix : NULL, "by %s: %s%s",
               (*at)->name, exactness((*at)->turns), refused);
}
