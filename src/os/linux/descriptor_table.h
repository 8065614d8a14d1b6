/* SPDX-License-Identifier: MIT
 *
 * A descriptor table of the calling thread's own.
 */
#ifndef HD_DESCRIPTOR_TABLE_H
#define HD_DESCRIPTOR_TABLE_H

int hd_own_table(void);       /* struct hd_os_calls, own_table */
void hd_own_table_free(void); /* struct hd_os_calls, close_all */

/* In place of a folder's descriptor, which is closed, one from which no path leads to what is above that
 * folder: a process that has another root now has it no longer. -1: there can be none. */
int hd_own_table_confine(int fd);

#endif
