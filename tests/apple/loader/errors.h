/* SPDX-License-Identifier: MIT
 *
 * errno with Darwin's numbers.
 */
#ifndef APPLE_LOADER_ERRORS_H
#define APPLE_LOADER_ERRORS_H

/* Darwin's number of an error of the host. */
int errors_darwin(int host);
/* Sets the thread's errno to Darwin's number of `host`. */
void errors_set(int host);
/* The same, and returns -1. */
int errors_fail(int host);
/* Returns `result`; if it is -1, errno of the host becomes the thread's. */
int errors_of(int result);
long errors_of_long(long result);

#endif
