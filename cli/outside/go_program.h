/* SPDX-License-Identifier: MIT
 *
 * Programs of Go. Their goroutines run on any thread, so none has an event loop: whichever thread has nothing
 * to do waits for the descriptors of all. Ordinary code; the file may have anything in it.
 */
#ifndef CLI_OUTSIDE_GO_PROGRAM_H
#define CLI_OUTSIDE_GO_PROGRAM_H

#include "cli/live/process.h"

/* True: the process runs a program of Go. `why` says what to use instead. */
bool go_program_runs(const struct live_process *p, struct problem *why);

/* ---- private ---------------------------------------------------------------------------------- */

/* True: the ELF file `fd` has the section of Go's build information. */
bool go_program_file(int fd);

#endif
