/* SPDX-License-Identifier: MIT */
#include "cli/reader/trace_load.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/regular_file.h"

#define FORMAT "hangdog-trace/1"
#define FILE_BYTES_MAX (16 << 20) /* every row of a table takes some 4 MB */

static int names_a_file(const char *name) {
    size_t n = strlen(name);
    return strchr(name, '/') != NULL || (n > 5 && strcmp(name + n - 5, ".json") == 0);
}

json_t *trace_load(const char *name) {
    struct stat st;
    int fd = names_a_file(name) ? ordinary_file_open(name, &st) : -1;
    FILE *file = fd >= 0 && st.st_size <= FILE_BYTES_MAX ? fdopen(fd, "r") : NULL;
    json_t *trace = file != NULL ? json_loadf(file, 0, NULL) : NULL; /* json_loadfd reads a byte a call */
    const char *format = json_string_value(json_object_get(trace, "format"));
    if (file != NULL) {
        fclose(file);
    } else if (fd >= 0) {
        close(fd);
    }
    if (format != NULL && strcmp(format, FORMAT) == 0 && json_is_array(json_object_get(trace, "calls"))) {
        return trace;
    }
    json_decref(trace);
    return NULL;
}
