/* SPDX-License-Identifier: MIT */
#include "cli/outside/users.h"

#include <stdlib.h>

struct outside_user *outside_user_find(struct outside_user *users, uid_t uid) {
    while (users != NULL && users->uid != uid) {
        users = users->next;
    }
    return users;
}

bool outside_user_enter(struct outside_user **users, uid_t uid) {
    struct outside_user *u = outside_user_find(*users, uid);
    if (u == NULL) {
        u = malloc(sizeof *u);
        if (u == NULL) {
            return false;
        }
        *u = (struct outside_user){.next = *users, .uid = uid};
        *users = u;
    }
    u->threads++;
    return true;
}

static void forget(struct outside_user **at) {
    struct outside_user *u = *at;
    *at = u->next;
    free(u);
}

static bool owes(struct outside_user *u, uint64_t now_ns) {
    return !outside_share_is_left(&u->share, now_ns, OUTSIDE_USER_PARTS, 1);
}

void outside_user_leave(struct outside_user **users, uid_t uid, uint64_t now_ns) {
    for (struct outside_user **at = users, *u; (u = *at) != NULL;) {
        u->threads -= u->uid == uid && u->threads != 0;
        if (u->threads == 0 && !owes(u, now_ns)) {
            forget(at);
        } else {
            at = &u->next;
        }
    }
}

void outside_users_free(struct outside_user **users) {
    while (*users != NULL) {
        forget(users);
    }
}
