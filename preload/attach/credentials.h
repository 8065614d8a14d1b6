/* SPDX-License-Identifier: MIT
 *
 * The ids of our threads, when the program changes its own.
 */
#ifndef HD_CREDENTIALS_H
#define HD_CREDENTIALS_H

/* The calling thread is about to change its ids, and libc those of ours. */
void hd_attach_before_id_change(void);
void hd_attach_after_id_change(void); /* afterwards */
/* Ours have the caller's ids now. */
void hd_attach_store_ids(void);

#endif
