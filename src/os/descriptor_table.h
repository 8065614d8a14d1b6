/* SPDX-License-Identifier: MIT
 *
 * Gives the calling thread a private descriptor table. Async-signal-safe; no allocation; does not set errno.
 */
#ifndef HD_DESCRIPTOR_TABLE_H
#define HD_DESCRIPTOR_TABLE_H

/* These functions are the members private_table and close_all of struct hd_os_calls. os.h has their
 * contracts. */
int hd_private_table(void);
void hd_private_table_close_all(void);

/* Closes `fd`, a descriptor of a folder, and returns a new descriptor of the same folder. From the new one,
 * ".." leads to no other folder. So a program with a changed root folder cannot leave its root by our
 * descriptor. -1: the kernel refuses. */
int hd_private_table_confine(int fd);

#endif
