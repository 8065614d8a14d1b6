/* SPDX-License-Identifier: MIT
 *
 * A private descriptor table of the calling thread. Async-signal-safe; no allocation; does not set errno.
 */
#ifndef HD_DESCRIPTOR_TABLE_H
#define HD_DESCRIPTOR_TABLE_H

/* The members private_table and close_all of struct hd_os_calls, which has their contracts. */
int hd_private_table(void);
void hd_private_table_close_all(void);

/* Closes the folder `fd` and returns a descriptor of the same folder from which ".." does not lead out. Keeps
 * a program that changed its root from reaching folders outside by our descriptor. -1: the kernel refuses. */
int hd_private_table_confine(int fd);

#endif
