/* SPDX-License-Identifier: MIT
 *
 * Sends debug files to a collector, each under its build-id, in pieces. Ordinary code.
 */
#ifndef UPLOADER_SYMBOLS_H
#define UPLOADER_SYMBOLS_H

#include <signal.h>

/* `hangdog upload-symbols`: the exit status. `stop` ends a transfer once it is not 0. */
int symbols_main(int argc, char **argv, const volatile sig_atomic_t *stop);

#endif
