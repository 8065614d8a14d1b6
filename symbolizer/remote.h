/* SPDX-License-Identifier: MIT
 * Look-ups in a second process, hangdog-name, which has only the rights of the files' owner. One thread.
 */
#ifndef SYMBOLIZER_REMOTE_H
#define SYMBOLIZER_REMOTE_H

#include <sys/stat.h>

#include "symbolizer/dw.h"

struct remote;

/* True: libdw may read the module's open file in this process. Then neither the report's owner nor another
 * user can have written the file or a debug file next to it. Sets the module's `place`. */
bool remote_may_read_here(const struct symbolizer *s, struct module *m, const struct stat *st);

/* The process for such a file; started by the first query. NULL: no memory. */
struct remote *remote_for(struct symbolizer *s, const struct stat *st);

/* Like symbolizer_resolve, with an address inside the instruction. A process that dies or takes too long is
 * the module's fault: another process serves the next module. */
int remote_resolve(struct symbolizer *s, struct module *m, const struct symbol_query *q, uint64_t addr,
                   struct symbol out[SYMBOLS_MAX], const char **reason);

void remotes_free(struct symbolizer *s);

#endif
