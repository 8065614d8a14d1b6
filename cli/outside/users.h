/* SPDX-License-Identifier: MIT
 *
 * The users of the watched programs, and how much of the watcher each of them has. No user may have so much
 * that the others have too little.
 */
#ifndef CLI_OUTSIDE_USERS_H
#define CLI_OUTSIDE_USERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/outside/share.h"

struct outside_user {
    struct outside_user *next;
    uid_t uid;
    unsigned threads; /* watched ones of all programs of the user */
    struct outside_share share;
};

/* NULL: the user has no watched thread. */
struct outside_user *outside_user_find(struct outside_user *users, uid_t uid);
/* Counts one more thread of the user. False: no memory. */
bool outside_user_enter(struct outside_user **users, uid_t uid);
/* Counts one less. Forgets a user without threads. */
void outside_user_leave(struct outside_user **users, uid_t uid);

#endif
