/* SPDX-License-Identifier: MIT
 *
 * The ids of our threads, when the program changes its own.
 */
#ifndef HD_ATTACH_CREDENTIALS_H
#define HD_ATTACH_CREDENTIALS_H

#include <stdbool.h>

/* The calling thread is about to change its ids, and libc those of ours. */
void hd_attach_before_id_change(void);
void hd_attach_after_id_change(void); /* afterwards */
/* In a forked child: its parent's other threads, which may have been in such a call, are not its own. */
void hd_attach_forget_id_changes(void);
/* Ours are born with the caller's rights now. */
void hd_attach_store_rights(void);

enum hd_given_up {
    HD_GAVE_UP_CAPABILITIES, /* or ids, by number */
    HD_GAVE_UP_GROUPS,       /* the same */
    HD_GAVE_UP_BOUNDED,      /* a capability of the bounding set */
    HD_GAVE_UP_AMBIENT,
    HD_GAVE_UP_NEW_PRIVS,
    HD_GAVE_UP_SECUREBITS,
    HD_GAVE_UP_ROOT,  /* of all threads, by any */
    HD_GAVE_UP_PLACE, /* Landlock, a namespace, a keyring: ours cannot come after it */
};

/* The calling thread has made a call by which it may have fewer rights than before. Where it is the main
 * thread, ours have no more when this returns: they come down to the same, or end until its next wait, and
 * are then born with what it has. Any thread; errno is kept. */
void hd_attach_gave_up(enum hd_given_up what, unsigned number);

/* Whether / is what it was at the first call. */
bool hd_attach_has_same_root(void);

#endif
