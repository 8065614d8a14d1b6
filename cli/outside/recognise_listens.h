/* SPDX-License-Identifier: MIT
 *
 * Finds out which sockets of another process listen, by the kernel's tables of sockets. No system call uses
 * the sockets. Ordinary code.
 */
#ifndef CLI_OUTSIDE_RECOGNISE_LISTENS_H
#define CLI_OUTSIDE_RECOGNISE_LISTENS_H

#include "cli/live/process.h"
#include "recognise/descriptors.h"

/* Sets d->listens of the descriptors of thread `tid`. */
void outside_listens(const struct live_process *p, pid_t tid, struct hd_wait_descriptors *d);

/* ---- private ---------------------------------------------------------------------------------- */

enum listens {
    LISTENS_NOT, /* a socket that does not listen */
    LISTENS,
    LISTENS_END /* the table has no socket that listens below this line */
};
/* Reads the socket and its inode from a line of /proc/net/tcp or tcp6, or of unix (`local`). Pure. */
enum listens outside_listens_parse(const char *line, bool local, uint64_t *inode);

#endif
