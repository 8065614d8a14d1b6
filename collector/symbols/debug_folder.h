/* SPDX-License-Identifier: MIT
 *
 * The folder of debug files, each under its build-id. A file that is still being sent ends with ".part", and
 * a file that is set aside with ".bad", its reason with ".why". A checked file has lost its owner's right to
 * write: the workers read no other. Any thread.
 */
#ifndef COLLECTOR_DEBUG_FOLDER_H
#define COLLECTOR_DEBUG_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEBUG_FILE_MAX (INT64_C(4) << 30)
#define DEBUG_FILES_MAX 4096
#define DEBUG_ID_BYTES 65
#define DEBUG_WHY_BYTES 128

struct debug_folder;

/* `limit_mib`: of all files together. NULL: no memory. The folder is made with the first file. */
struct debug_folder *debug_folder_open(const char *path, long limit_mib);
void debug_folder_close(struct debug_folder *f);
const char *debug_folder_path(const struct debug_folder *f);

struct debug_state {
    int64_t bytes; /* received so far */
    bool is_whole, is_checked;
    char why[DEBUG_WHY_BYTES]; /* why the previous file was set aside; empty: it was not */
};
struct debug_state debug_folder_state(struct debug_folder *f, const char *id);

enum debug_added {
    DEBUG_ADDED,
    DEBUG_OTHER_OFFSET,
    DEBUG_TOO_LARGE,
    DEBUG_FULL,
    DEBUG_FAILED
};
/* Adds a piece to the end of a file that has `size` bytes in the end. DEBUG_OTHER_OFFSET: the file does not
 * end at `offset`. */
enum debug_added debug_folder_add(struct debug_folder *f, const char *id, int64_t offset, int64_t size,
                                  const void *piece, size_t bytes);

/* The build-ids of the whole files, at most `max`. */
int debug_folder_list(struct debug_folder *f, char (*ids)[DEBUG_ID_BYTES], int max);
/* A worker has found the file to be what its name says. */
void debug_folder_set_checked(struct debug_folder *f, const char *id);
/* The check failed: sets the file aside. The file is no longer used, stays for the administrator, and may be
 * sent again. */
void debug_folder_set_aside(struct debug_folder *f, const char *id, const char *why);

#endif
