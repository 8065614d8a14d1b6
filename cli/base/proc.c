/* SPDX-License-Identifier: MIT
 *
 * Ordinary code.
 */
#include "cli/base/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool proc_is_ours(void) {
    char own[16] = "";
    return readlink("/proc/self", own, sizeof own - 1) > 0 && strtol(own, NULL, 10) == (long)getpid();
}

static FILE *open_of(pid_t pid, const char *name) {
    char path[64] = "/proc/self";
    if (pid != 0) {
        snprintf(path, sizeof path, "/proc/%d", (int)pid);
    }
    snprintf(path + strlen(path), sizeof path - strlen(path), "/%s", name);
    return fopen(path, "re");
}

uint64_t proc_number(pid_t pid, const char *key, int base) {
    FILE *status = open_of(pid, "status");
    char *line = NULL; /* that of the groups may be long */
    size_t room = 0;
    uint64_t number = 0;
    while (status != NULL && getline(&line, &room, status) > 0) {
        if (strncmp(line, key, strlen(key)) == 0) {
            const char *last = strrchr(line, '\t');
            number = strtoull(last != NULL ? last : line + strlen(key), NULL, base);
            break;
        }
    }
    free(line);
    if (status != NULL) {
        fclose(status);
    }
    return number;
}

const char *proc_field(pid_t pid, unsigned number, char text[PROC_STAT_BYTES]) {
    FILE *stat = open_of(pid, "stat");
    size_t n = stat != NULL ? fread(text, 1, PROC_STAT_BYTES - 1, stat) : 0;
    if (stat != NULL) {
        fclose(stat);
    }
    text[n] = '\0';
    const char *at = strrchr(text, ')'); /* the second field's end: a name may hold anything */
    for (unsigned field = 2; at != NULL && field < number; field++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL ? at + 1 : NULL;
}
