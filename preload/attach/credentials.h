/* SPDX-License-Identifier: MIT
 *
 * Keeps the rights of our threads equal to the main thread's when the program changes ids or gives up rights.
 * These functions run on the program's threads. The functions that Hangdog's libc wrappers call preserve
 * errno.
 */
#ifndef HD_ATTACH_CREDENTIALS_H
#define HD_ATTACH_CREDENTIALS_H

#include <stdbool.h>

/* Called before and after a libc function that changes the ids of all threads, ours included. */
void hd_attach_before_id_change(void);
void hd_attach_after_id_change(void);
/* Called in a forked child. Forgets the id changes that other threads of the parent were making, since the
 * child does not have these threads. */
void hd_attach_forget_id_changes(void);
/* Stores the caller's rights as the rights of our threads, which have just inherited them. */
void hd_attach_store_rights(void);

/* The kinds of rights that a thread can give up. */
enum hd_given_up {
    HD_GAVE_UP_CAPABILITIES, /* capabilities; or user or group ids, changed by a raw system call */
    HD_GAVE_UP_GROUPS,       /* supplementary groups, changed by a raw system call */
    HD_GAVE_UP_BOUNDED,      /* capability `number`, dropped from the bounding set */
    HD_GAVE_UP_AMBIENT,
    HD_GAVE_UP_NEW_PRIVS,
    HD_GAVE_UP_SECUREBITS,
    HD_GAVE_UP_ROOT, /* the root folder of the process, which any thread can change */
    /* The thread entered a Landlock domain or a namespace, or changed its keyring. Our threads cannot do the
     * same, so they end. */
    HD_GAVE_UP_PLACE,
};

/* Any thread calls this after it may have given up a right of kind `what`. `number`: the capability, for
 * HD_GAVE_UP_BOUNDED. Our threads give up the same right if the caller is the main thread. For
 * HD_GAVE_UP_ROOT the caller may be any thread. If our threads cannot give up the right, they end until the
 * main thread's next wait. */
void hd_attach_gave_up(enum hd_given_up what, unsigned number);

/* True if / is the same folder as at the first call of this function. */
bool hd_attach_has_same_root(void);

#endif
