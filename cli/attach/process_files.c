/* SPDX-License-Identifier: MIT */
#include "cli/attach/process_files.h"

#include <stddef.h>
#include <sys/stat.h>

#include "cli/live/module_file.h"
#include "cli/live/module_map.h"
#include "symbolizer/regular_file.h"

static struct {
    struct live_process process;
    struct module_map map;
    bool is_open;
} files;

void process_files_begin(void *arg, int pid) {
    static const struct live_command command = {"attach", "attach to"};
    struct problem why;
    (void)arg;
    if (files.is_open) {
        module_map_free(&files.map);
        live_process_close(&files.process);
    }
    files.is_open = live_process_open(pid, &command, &files.process, &why) == 0;
    if (files.is_open) {
        (void)module_map_read(&files.map, &files.process);
    }
}

int process_files_open(void *arg, const char *path, unsigned which) {
    struct stat st;
    (void)arg;
    int fd = files.is_open ? module_file_open(&files.map, path, which) : -1;
    return fd < 0 && which == 0 ? regular_file_open(path, &st) : fd;
}
