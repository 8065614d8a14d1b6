/* SPDX-License-Identifier: MIT
 *
 * The name and image of a container, from the files of the runtime that made it. Ordinary code, any thread.
 */
#ifndef CLI_OUTSIDE_CONTAINER_FILES_H
#define CLI_OUTSIDE_CONTAINER_FILES_H

#include <sys/types.h>

#include "record/origin.h"

/* Sets container_name and image of the container with the id container_id. `owner`: the user whose runtime
 * made it. Reads root's files, and the caller's own, and those of no other user. `root`: "", in tests the
 * folder that has the files. */
void container_files_read(const char *root, uid_t owner, struct hd_origin *out);

#endif
