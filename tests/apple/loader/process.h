/* SPDX-License-Identifier: MIT
 *
 * The end of the process.
 */
#ifndef APPLE_LOADER_PROCESS_H
#define APPLE_LOADER_PROCESS_H

/* Runs the functions of atexit, then ends the process. */
void process_exit(int status);

#endif
