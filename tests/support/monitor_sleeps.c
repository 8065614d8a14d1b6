/* SPDX-License-Identifier: MIT */
#include "monitor_sleeps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static FILE *open_of_thread(const char *tid, const char *name) {
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%s/%s", tid, name);
    return fopen(path, "re");
}

static bool is_the_monitor(const char *tid) {
    char name[32] = "";
    FILE *file = open_of_thread(tid, "comm");
    bool read = file != NULL && fgets(name, sizeof name, file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    return read && strcmp(name, "hangdog\n") == 0;
}

long monitor_sleeps(void) {
    long count = -1;
    char line[256];
    DIR *dir = opendir("/proc/self/task");
    assert_non_null(dir);
    for (const struct dirent *e; count < 0 && (e = readdir(dir)) != NULL;) {
        FILE *file = is_the_monitor(e->d_name) ? open_of_thread(e->d_name, "status") : NULL;
        while (file != NULL && count < 0 && fgets(line, sizeof line, file) != NULL) {
            (void)sscanf(line, "voluntary_ctxt_switches: %ld", &count);
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    closedir(dir);
    assert_true(count >= 0);
    return count;
}
