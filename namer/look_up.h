/* SPDX-License-Identifier: MIT
 *
 * hangdog-name --look-up: names for one process of the command, from files that another user may have
 * written.
 */
#ifndef NAMER_LOOK_UP_H
#define NAMER_LOOK_UP_H

#include <stdbool.h>
#include <sys/types.h>

/* Answers the queries of the socket 0 until its end, with the rights of `user`, where this process may take
 * them, and none of root's. `given`: the files come with the queries; else it opens them. The exit status. */
int look_up(uid_t user, bool given);

#endif
