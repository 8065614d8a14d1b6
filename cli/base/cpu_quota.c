/* SPDX-License-Identifier: MIT
 * Reads cgroups of versions 1 and 2 at their usual mount points, as memory_limit.c.
 */
#include "cli/base/cpu_quota.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid /* of glibc, which has had no name for it for long */
#endif

#define PATH_BYTES 4096
#define CPUS_MAX 2.0 /* with more a look-up, which is one thread, takes less than half */
#define PART 4       /* the thread takes this part of the quota */
#define STEP_NS 1000000
#define SLEEP_NS_MAX 250000000
#define NS_PER_S 1000000000

static struct {
    char own[PATH_BYTES]; /* folder of the group to go back to; "": this process has not left it */
    timer_t timer;
    bool paced;
    double share; /* of a CPU, for the paced thread */
    uint64_t used_ns;
    const atomic_bool *no_more, *nor_then;
} state;

/* ---- the group -------------------------------------------------------------------------------- */

/* Finds this process's group in the hierarchy with CPU quotas, and the length of that mount point's path. */
static bool find_group(char folder[PATH_BYTES], size_t *top) {
    char line[PATH_BYTES];
    bool found = false;
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        char *names = strchr(line, ':'), *path = names != NULL ? strchr(names + 1, ':') : NULL;
        if (path == NULL) {
            continue;
        }
        line[strcspn(line, "\n")] = '\0';
        bool unified = path == names + 1,
             cpu = strncmp(names, ":cpu,", 5) == 0 || strncmp(names, ":cpu:", 5) == 0;
        if (cpu || (unified && !found)) { /* a group of version 1 comes before that of version 2 */
            const char *mount = cpu ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup";
            *top = strlen(mount);
            snprintf(folder, PATH_BYTES, "%s%s", mount, strcmp(path + 1, "/") != 0 ? path + 1 : "");
            found = true;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return found;
}

static bool read_text(const char *folder, const char *file, char text[64]) {
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, 63) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The group's quota in CPUs; 0: it has none. */
static double quota_of(const char *folder) {
    char text[64], period[64];
    double quota = 0, per = 0;
    if (read_text(folder, "cpu.max", text)) {
        return sscanf(text, "%lf %lf", &quota, &per) == 2 && per > 0 ? quota / per : 0; /* "max": none */
    }
    if (read_text(folder, "cpu.cfs_quota_us", text) && read_text(folder, "cpu.cfs_period_us", period)) {
        quota = strtod(text, NULL); /* -1: none */
        per = strtod(period, NULL);
    }
    return quota > 0 && per > 0 ? quota / per : 0;
}

/* The least quota of the group and of those above it; 0: there is none. `above`: the group above all quotas;
 * "": none is visible. */
static double least_quota(const char *own, size_t top, char above[PATH_BYTES]) {
    char folder[PATH_BYTES];
    double least = 0;
    snprintf(folder, sizeof folder, "%s", own);
    above[0] = '\0';
    for (;;) {
        double here = quota_of(folder);
        bool is_top = strlen(folder) <= top;
        least = here > 0 && (least == 0 || here < least) ? here : least;
        if (!is_top) {
            *strrchr(folder, '/') = '\0';
        }
        if (here > 0) {
            snprintf(above, PATH_BYTES, "%s", is_top ? "" : folder);
        }
        if (is_top) {
            return least;
        }
    }
}

static bool move_to(const char *folder) {
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool moved = fd >= 0 && write(fd, "0", 1) == 1;
    if (fd >= 0) {
        close(fd);
    }
    return moved;
}

/* ---- the pace --------------------------------------------------------------------------------- */

static uint64_t thread_cpu_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

static bool is_set(const atomic_bool *flag) {
    return flag != NULL && atomic_load(flag);
}

/* On the paced thread, each time that it has run for a while. */
static void on_step(int number) {
    int saved = errno;
    uint64_t now_ns = thread_cpu_ns();
    double rest_ns = (double)(now_ns - state.used_ns) * (1 / state.share - 1);
    (void)number;
    state.used_ns = now_ns;
    if (!is_set(state.no_more) && !is_set(state.nor_then)) {
        nanosleep(&(struct timespec){.tv_nsec = rest_ns < SLEEP_NS_MAX ? (long)rest_ns : SLEEP_NS_MAX}, NULL);
    }
    errno = saved;
}

static void pace(double share) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    const struct itimerspec step = {.it_interval.tv_nsec = STEP_NS, .it_value.tv_nsec = STEP_NS};
    event.sigev_notify_thread_id = gettid();
    state.share = share;
    state.used_ns = thread_cpu_ns();
    sigaction(SIGPROF, &(struct sigaction){.sa_handler = on_step, .sa_flags = SA_RESTART}, NULL);
    state.paced = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &state.timer) == 0;
    if (state.paced) {
        timer_settime(state.timer, 0, &step, NULL);
    }
}

/* ---- the work --------------------------------------------------------------------------------- */

void cpu_quota_leave(const atomic_bool *no_more, const atomic_bool *nor_then) {
    char own[PATH_BYTES] = "", above[PATH_BYTES] = "";
    size_t top = 0;
    double quota = find_group(own, &top) ? least_quota(own, top, above) : 0;
    if (quota <= 0 || quota >= CPUS_MAX) {
        return;
    }
    state.no_more = no_more;
    state.nor_then = nor_then;
    if (above[0] != '\0' && move_to(above)) {
        memcpy(state.own, own, sizeof own);
    } else {
        pace(quota / PART);
    }
}

void cpu_quota_return(void) {
    if (state.own[0] != '\0') {
        (void)move_to(state.own);
        state.own[0] = '\0';
    }
    if (state.paced) {
        timer_delete(state.timer);
        (void)signal(SIGPROF, SIG_IGN);
        state.paced = false;
    }
}
