/* SPDX-License-Identifier: MIT
 *
 * Where the programs are that the command starts.
 */
#ifndef CLI_LIBEXEC_H
#define CLI_LIBEXEC_H

#include <stdbool.h>
#include <stddef.h>

/* The path of `program`: next to this one, or "FOLDER/../libexec/hangdog", where FOLDER has this one. False:
 * it does not fit, or is unknown. The program may be missing. */
bool libexec_find(const char *program, char *path, size_t size);

/* The process that looks up names in files of other users, for symbolizer_options.worker. NULL: unknown. */
const char *libexec_look_up(void);

#endif
