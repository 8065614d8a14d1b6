/* SPDX-License-Identifier: MIT
 *
 * The parts of the preload that interpose/waits.c uses and libhangdog-waits.a lacks. A program that links
 * everything names no threads, and starts the watch itself.
 */
#ifndef HD_STAND_INS_H
#define HD_STAND_INS_H

#define hd_attach_is_filtered() false
#define hd_named NULL
#define hd_named_watch_caller() false
#define hd_interpose_resolve_process() ((void)0)
#define hd_interpose_resolve_signals() ((void)0)

#endif
