/* SPDX-License-Identifier: MIT
 *
 * The run loop of a program that has CoreFoundation. The library is not linked to it, and at the constructor
 * CoreFoundation is mapped, but not ready for calls. So a function waits on the main queue: the first run of
 * the main loop calls it. It then adds the observers of hangdog/cfrunloop.h to that loop. From then on the
 * observers mark the loop, in place of the waits of poll and kevent.
 */
#ifndef HD_RUN_LOOP_H
#define HD_RUN_LOOP_H

#include "preload/darwin/main_waits.h"

/* In the constructor, on the main thread. Does nothing in a program without CoreFoundation. */
void hd_run_loop_expect(struct hd_main_waits *waits);

#endif
