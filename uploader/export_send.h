/* SPDX-License-Identifier: MIT
 *
 * hangdog export --send: reports go to Sentry, or to a collector of OpenTelemetry. One thread.
 */
#ifndef UPLOADER_EXPORT_SEND_H
#define UPLOADER_EXPORT_SEND_H

#include <signal.h>

/* With the arguments of `hangdog export`. The exit status. */
int export_send_main(int argc, char **argv, const volatile sig_atomic_t *stop);

#endif
