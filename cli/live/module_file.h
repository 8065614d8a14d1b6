/* SPDX-License-Identifier: MIT
 *
 * The file that a process has mapped, wherever that is: in another mount namespace, deleted, or replaced.
 * Ordinary code.
 */
#ifndef CLI_LIVE_MODULE_FILE_H
#define CLI_LIVE_MODULE_FILE_H

/* For symbolizer_options.open: the first, second ... file that may be the one mapped by this path, best
 * first. `arg` is the struct module_map. A descriptor, or -1: there is none left. */
int module_file_open(void *arg, const char *path, unsigned which);

#endif
