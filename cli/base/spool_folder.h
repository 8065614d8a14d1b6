/* SPDX-License-Identifier: MIT
 *
 * The run's spool, opened once: whatever is put in its place later, this process works in that folder. Its
 * user may be root, and the folder above may be another user's. One thread opens it, before others use it.
 */
#ifndef CLI_SPOOL_FOLDER_H
#define CLI_SPOOL_FOLDER_H

/* Where this process is root's, and another user may exchange a folder of the path: opens the folder, which
 * spool_folder() gives from now on. Root follows a link only where root owns the link. 0 or a negative errno
 * value; -ELOOP: there is another user's link on the way. */
int spool_folder_open(const char *path);

/* A path of the open folder, if `path` is its, else `path`. One that was removed is opened anew. */
const char *spool_folder(const char *path);

/* The descriptor of the open folder, which a child must keep; -1: there is none. */
int spool_folder_fd(void);

#endif
