/* SPDX-License-Identifier: MIT
 *
 * Numbers of files that two fakes share.
 */
#ifndef APPLE_LOADER_FILES_H
#define APPLE_LOADER_FILES_H

/* A folder's descriptor, or AT_FDCWD of the host for Darwin's. */
int files_folder(int darwin);

#endif
