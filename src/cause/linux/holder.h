/* SPDX-License-Identifier: MIT
 *
 * Finds the process that has the other end of a descriptor, or the lock of a file. Sees only processes that
 * this one may read, which are mostly those of the same user. Runs on the worker thread; allocates nothing.
 */
#ifndef HD_HOLDER_H
#define HD_HOLDER_H

#include "cause/probe_context.h"

enum hd_holder_kind {
    HD_HOLDER_READS_PIPE,
    HD_HOLDER_HAS_SOCKET,
    HD_HOLDER_HAS_MASTER, /* of the terminal `link` */
    HD_HOLDER_LOCKS_FILE,
};

/* Returns the id of a process, other than the probed one, with a descriptor of this kind. `link`: the
 * descriptor's link in /proc, such as "pipe:[8413]". 0: none, or the search takes too long. */
int32_t hd_holder_find(const struct hd_probe_context *ctx, enum hd_holder_kind kind, const char *link);

/* Returns the id of a process that has the socket to which local socket `inode` is connected. 0: none, or
 * unknown. */
int32_t hd_holder_has_peer(const struct hd_probe_context *ctx, uint64_t inode);

/* True: process `pid` is one that hd_holder_find may return. */
bool hd_holder_has(const struct hd_probe_context *ctx, int32_t pid, enum hd_holder_kind kind,
                   const char *link);

/* Returns the id of the first process with this name (comm), of whatever user. 0: none. */
int32_t hd_holder_named(const struct hd_probe_context *ctx, const char *name);

/* Stores process `pid` as the party of a wait, with its name. */
void hd_holder_set(const struct hd_probe_context *ctx, enum hd_party_role role, int32_t pid,
                   struct hd_probe *out);

/* Copies to *out what a search for the same call has found within the last second. False: search again, and
 * call hd_holder_store then, whatever the search finds. */
bool hd_holder_recall(const struct hd_probe_context *ctx, int tid, uint64_t object, struct hd_probe *out);
void hd_holder_store(struct hd_probe_context *ctx, int tid, uint64_t object, const struct hd_probe *found);

#endif
