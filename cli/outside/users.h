/* SPDX-License-Identifier: MIT
 *
 * The users of the watched programs, and how much of the watcher each of them has. No user may have so much
 * that the others have too little.
 */
#ifndef CLI_OUTSIDE_USERS_H
#define CLI_OUTSIDE_USERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/types.h"
#include "cli/outside/share.h"

struct outside_user {
    struct outside_user *next;
    uid_t uid;
    unsigned threads; /* watched ones of all programs of the user */
    struct outside_share share;
};

/* Of one CPU, for all programs of the user; and at most at once. */
#define OUTSIDE_USER_PARTS 10u
#define OUTSIDE_USER_NS (500 * HD_NS_PER_MS)

/* NULL: the user has no watched thread, and owes no time. */
struct outside_user *outside_user_find(struct outside_user *users, uid_t uid);
/* Counts one more thread of the user. False: no memory. */
bool outside_user_enter(struct outside_user **users, uid_t uid);
/* Counts one less. Forgets users that have no threads and have paid back the watcher's time. A program that
 * starts others without end may have no thread in between. */
void outside_user_leave(struct outside_user **users, uid_t uid, uint64_t now_ns);
void outside_users_free(struct outside_user **users);

#endif
