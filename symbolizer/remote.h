/* SPDX-License-Identifier: MIT
 *
 * Look-ups in a process that has the rights of the files' owner, and no more: hangdog-name. Ordinary code,
 * for one thread.
 */
#ifndef SYMBOLIZER_REMOTE_H
#define SYMBOLIZER_REMOTE_H

#include <sys/stat.h>

#include "symbolizer/dw.h"

struct remote;

/* Whether libdw may read the module's open file in this process: neither the report's owner nor another user
 * could have written it, or put a debug file next to it. Sets the module's `place`. */
bool remote_may_read_here(const struct symbolizer *s, struct module *m, const struct stat *st);

/* The process for such a file; started by the first query. NULL: no memory. */
struct remote *remote_for(struct symbolizer *s, const struct stat *st);

/* As symbolizer_resolve, with an address in the instruction. A process that dies or takes too long is blamed
 * on the module, and another one serves the next. */
int remote_resolve(struct symbolizer *s, struct module *m, const struct symbol_query *q, uint64_t addr,
                   struct symbol out[SYMBOLS_MAX], const char **reason);

void remotes_free(struct symbolizer *s);

#endif
