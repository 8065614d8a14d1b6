/* SPDX-License-Identifier: MIT
 *
 * Gives the calling thread a private descriptor table. Async-signal-safe; no allocation; does not set errno.
 */
#ifndef HD_DESCRIPTOR_TABLE_H
#define HD_DESCRIPTOR_TABLE_H

/* The functions behind the members private_table and close_all of struct hd_os_calls. os.h has their
 * contracts. */
int hd_private_table(void);
void hd_private_table_close_all(void);

/* Returns a descriptor of the folder `fd` from which ".." does not lead to other folders, and closes `fd`.
 * So a program that has changed its root folder cannot reach the folders outside by our descriptor. -1:
 * the kernel refuses. */
int hd_private_table_confine(int fd);

#endif
