/* SPDX-License-Identifier: MIT
 *
 * Keeps the rights of our threads equal to the main thread's when the program changes ids or gives up rights.
 * On the program's threads. Each function that a wrapper of libc calls keeps errno.
 */
#ifndef HD_ATTACH_CREDENTIALS_H
#define HD_ATTACH_CREDENTIALS_H

#include <stdbool.h>

/* Called around a function of libc that changes the ids of all threads, ours included. */
void hd_attach_before_id_change(void);
void hd_attach_after_id_change(void);
/* In a forked child: forgets id changes that other threads of the parent were making. */
void hd_attach_forget_id_changes(void);
/* Stores the caller's rights as those of our threads, which have just started. */
void hd_attach_store_rights(void);

/* A kind of right. */
enum hd_given_up {
    HD_GAVE_UP_CAPABILITIES, /* capabilities, or ids by a raw system call */
    HD_GAVE_UP_GROUPS,       /* supplementary groups, by a raw system call */
    HD_GAVE_UP_BOUNDED,      /* capability `number`, from the bounding set */
    HD_GAVE_UP_AMBIENT,
    HD_GAVE_UP_NEW_PRIVS,
    HD_GAVE_UP_SECUREBITS,
    HD_GAVE_UP_ROOT,  /* of the process, by any thread */
    HD_GAVE_UP_PLACE, /* Landlock, a namespace, a keyring: our threads cannot follow and end */
};

/* The calling thread may have given up a right of kind `what`. If it is the main thread, our threads give up
 * the same, or end until the main thread's next wait. Any thread. */
void hd_attach_gave_up(enum hd_given_up what, unsigned number);

/* True: / is the same folder as at the first call. */
bool hd_attach_has_same_root(void);

#endif
