/* SPDX-License-Identifier: MIT
 *
 * Opens the spool's folder by its path, and makes it and its parents if they are missing (0700). Worker: may
 * wait for the disk; no allocation.
 */
#ifndef HD_SPOOL_PATH_H
#define HD_SPOOL_PATH_H

#include <stddef.h>

/* Returns a descriptor of the folder, or a negative errno value. Stores the path's last name, of less than
 * `size` bytes, in `name`. If the system lets the process open the parent, stores its descriptor in
 * *above_fd. */
int hd_spool_enter_path(const char *path, char *name, size_t size, int *above_fd);

/* Opens folder `name` in `dir`; makes it if it is missing. Returns a descriptor or a negative errno value. */
int hd_spool_enter_folder(int dir, const char *name);

#endif
