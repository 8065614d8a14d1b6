/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: a process is known by another number in each namespace of processes that it is in, and says
 * its own. What belongs together is found in /proc.
 */
#include "cli/settle/liveness.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/proc.h"
#include "os/os.h"

#define SLACK_NS HD_NS_PER_S /* between two clocks that are not read at once, one of them in ticks */

/* A namespace of a process ("self": our own), of processes or of time; 0: it is gone, or does not let us
 * look, or the kernel knows none. */
static uint64_t space_of(const char *pid, const char *kind) {
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%.20s/ns/%s", pid, kind);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Whether this is the process that has the number of the record's owner in its namespace. */
static bool is_numbered(const char *pid, const struct hd_record *c) {
    uint64_t space = atomic_load(&c->owner.pid_namespace);
    return space != 0 && space_of(pid, "pid") == space &&
           proc_number((pid_t)strtol(pid, NULL, 10), "NSpid:", 10) == atomic_load(&c->owner.pid);
}

/* It began after the owner's last sign of life: the number was given again. False also where that cannot be
 * told. What the machine was suspended since is in one of the times only, in favour of the owner. */
static bool is_another(pid_t here, const struct hd_record *c) {
    char pid[16];
    uint64_t boot_ns, now_ns = hd_os_now_ns(), alive_ns = atomic_load(&c->status.alive_ns);
    uint64_t last_ns = alive_ns > c->options.started_ns ? alive_ns : c->options.started_ns;
    snprintf(pid, sizeof pid, "%d", (int)here);
    uint64_t began_ns = proc_stat(here).started_boot_ns;
    return began_ns != 0 && hd_os.boot_clock(&boot_ns) == 0 && is_numbered(pid, c) &&
           space_of(pid, "time") == space_of("self", "time") && /* else its clock may be another one */
           began_ns > last_ns + (boot_ns - now_ns) + SLACK_NS;
}

/* Its parent has not waited for it, as an init of a container may never do. A main thread that ended before
 * the others is no such process. */
static bool is_dead(pid_t pid) {
    return proc_stat(pid).state == 'Z' && proc_number(pid, "Threads:", 10) <= 1;
}

static pid_t find(const struct hd_record *c) {
    pid_t found = 0;
    DIR *dir = opendir("/proc");
    for (const struct dirent *e; dir != NULL && found == 0 && (e = readdir(dir)) != NULL;) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid > 0 && is_numbered(e->d_name, c)) {
            found = pid;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}

pid_t liveness_pid(const struct hd_record *c) {
    pid_t owner = (pid_t)atomic_load(&c->owner.pid), found = 0;
    uint64_t space = atomic_load(&c->owner.pid_namespace);
    if (space == 0 || space == space_of("self", "pid")) {
        found = kill(owner, 0) == 0 || errno == EPERM ? owner : 0;
    } else {
        found = find(c);
    }
    return found != 0 && (is_dead(found) || is_another(found, c)) ? 0 : found;
}
