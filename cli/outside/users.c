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

void outside_user_leave(struct outside_user **users, uid_t uid) {
    struct outside_user **at = users;
    while (*at != NULL && (*at)->uid != uid) {
        at = &(*at)->next;
    }
    struct outside_user *u = *at;
    if (u != NULL && --u->threads == 0) {
        *at = u->next;
        free(u);
    }
}
