/* SPDX-License-Identifier: MIT
 *
 * A process that the program forked has the first page of the run's memory file mapped. After an exec that
 * process no longer has the mapping, and does not count as a survivor.
 */
#include "cli/settle/survivors.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/base/proc.h"
#include "cli/settle/liveness.h"

#define END_WAIT_MS 200

/* True: process `pid` has the run's memory file mapped. `record` has the device and inode of that file. */
static bool maps(pid_t pid, const struct stat *record) {
    char path[64], *line = NULL, which[64];
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    snprintf(which, sizeof which, "%02x:%02x %llu ", major(record->st_dev), minor(record->st_dev),
             (unsigned long long)record->st_ino);
    while (file != NULL && !found && getline(&line, &room, file) > 0) {
        /* a line of /proc/PID/maps has the fields addresses, mode, offset, device and inode, path */
        const char *at = line;
        for (unsigned field = 0; field < 3 && *at != '\0'; field++) {
            at += strcspn(at, " ");
            at += *at == ' ';
        }
        found = strncmp(at, which, strlen(which)) == 0;
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

static bool is_in_table(const struct hd_record *table, pid_t pid) {
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        if (atomic_load(&table[i].owner.pid) != 0 && liveness_pid(&table[i]) == pid) {
            return true;
        }
    }
    return false;
}

/* Returns the first process that the program forked and that has no record; 0: none. */
static pid_t find(const struct hd_record *table, const struct stat *record, pid_t reporter) {
    DIR *dir = opendir("/proc");
    pid_t own = getpid(), pid = 0;
    uint64_t started = proc_stat(own).started_boot_ns;
    for (const struct dirent *e; dir != NULL && pid == 0 && (e = readdir(dir)) != NULL;) {
        pid_t at = (pid_t)strtol(e->d_name, NULL, 10);
        /* Skips processes older than the runner: the program cannot have forked them, and a read of `maps`
         * locks a process's memory map. */
        if (at > 0 && at != own && at != reporter && proc_stat(at).started_boot_ns >= started &&
            maps(at, record) && !is_in_table(table, at)) {
            pid = at;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return pid;
}

pid_t survivors_find(const struct run_result *r, pid_t reporter) {
    struct stat record;
    if (!proc_is_ours() || fstat(r->record_fd, &record) != 0 || find(r->record, &record, reporter) == 0) {
        return 0;
    }
    /* The runner sleeps before it searches again, because many children end soon after their parent, as in
     * a double fork. */
    usleep(END_WAIT_MS * 1000);
    return find(r->record, &record, reporter);
}
