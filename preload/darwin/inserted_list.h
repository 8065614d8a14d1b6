/* SPDX-License-Identifier: MIT
 *
 * DYLD_INSERT_LIBRARIES in the environment of the process: our entry leaves it, the user's stay. All
 * functions change the array and its strings in place. Pure; no allocation.
 */
#ifndef HD_INSERTED_LIST_H
#define HD_INSERTED_LIST_H

#define HD_INSERTED_VARIABLE "DYLD_INSERT_LIBRARIES"
#define HD_INSERTED_FILE "libhangdog-insert.dylib"

/* The value of a variable; NULL: there is none. */
const char *hd_inserted_find(char *const *environment, const char *name);
void hd_inserted_drop(char **environment, const char *name);
/* Removes each entry that is our library's file. Without another entry the variable leaves. */
void hd_inserted_clean(char **environment);

#endif
