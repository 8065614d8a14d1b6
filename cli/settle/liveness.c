/* SPDX-License-Identifier: MIT
 *
 * A process has a process id in each PID namespace that contains it. The record has the id that the owner has
 * in its own namespace. The files in /proc show which process this is.
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

/* is_reused_id reads CLOCK_MONOTONIC and the boot clock one after the other, and the kernel gives a
 * process's start time in steps of 10 ms. So the times that it compares may be wrong by up to this value. */
#define SLACK_NS HD_NS_PER_S

/* Returns the inode of a process's namespace of kind "pid" or "time". `pid`: a process id or "self". 0:
 * the process is gone or denies access, or the kernel has no such namespaces. */
static uint64_t namespace_of(const char *pid, const char *kind) {
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%.20s/ns/%s", pid, kind);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* True: in the owner's PID namespace, process `pid` has the process id that the record contains. */
static bool has_owner_id(const char *pid, const struct hd_record *c) {
    uint64_t space = atomic_load(&c->owner.pid_namespace);
    return space != 0 && namespace_of(pid, "pid") == space &&
           proc_number((pid_t)strtol(pid, NULL, 10), "NSpid:", 10) == atomic_load(&c->owner.pid);
}

/* True: the process started after the owner's last sign of life, so the kernel has given the owner's
 * process id to another process. False if the start time or the boot clock is not known. If the machine was
 * suspended since that sign, the conversion of `last_ns` to the boot clock gives too late a time. This error
 * can only make the result false. */
static bool is_reused_id(pid_t here, const struct hd_record *c) {
    char pid[16];
    uint64_t boot_ns, now_ns = hd_os_now_ns(), alive_ns = atomic_load(&c->status.alive_ns);
    uint64_t last_ns = alive_ns > c->options.started_ns ? alive_ns : c->options.started_ns;
    snprintf(pid, sizeof pid, "%d", (int)here);
    uint64_t began_ns = proc_stat(here).started_boot_ns;
    return began_ns != 0 && hd_os.boot_clock(&boot_ns) == 0 && has_owner_id(pid, c) &&
           /* compares only within one time namespace, since another namespace may have another boot clock */
           namespace_of(pid, "time") == namespace_of("self", "time") &&
           began_ns > last_ns + (boot_ns - now_ns) + SLACK_NS;
}

/* True: the process is a zombie: its parent has not called waitpid for this process. A process can stay a
 * zombie for long, since the init process of a container may never call waitpid. False if only the process's
 * main thread has ended, while its other threads run. */
static bool is_dead(pid_t pid) {
    return proc_stat(pid).state == 'Z' && proc_number(pid, "Threads:", 10) <= 1;
}

/* Searches /proc for the owner, which belongs to another PID namespace than the caller. Returns the
 * owner's process id in the caller's namespace. 0: the owner is dead. */
static pid_t find(const struct hd_record *c) {
    pid_t found = 0;
    DIR *dir = opendir("/proc");
    for (const struct dirent *e; dir != NULL && found == 0 && (e = readdir(dir)) != NULL;) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid > 0 && has_owner_id(e->d_name, c)) {
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
    if (space == 0 || space == namespace_of("self", "pid")) {
        found = kill(owner, 0) == 0 || errno == EPERM ? owner : 0;
    } else {
        found = find(c);
    }
    return found != 0 && (is_dead(found) || is_reused_id(found, c)) ? 0 : found;
}
