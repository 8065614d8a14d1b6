/* SPDX-License-Identifier: MIT
 *
 * The files of a process that still runs, for names in reports. A container has files of its own, and an
 * update may have replaced a file. Ordinary code.
 */
#ifndef CLI_ATTACH_PROCESS_FILES_H
#define CLI_ATTACH_PROCESS_FILES_H

/* For struct printer_files; `arg` is not used. The first function may be called for a process that has ended:
 * its files are then opened by their paths. */
void process_files_begin(void *arg, int pid);
int process_files_open(void *arg, const char *path, unsigned which);

#endif
