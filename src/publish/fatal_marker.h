/* SPDX-License-Identifier: MIT
 *
 * The fatal marker: a file `.ID.open` next to the report of a hang that still lasts. This process locks the
 * file. A reader that can lock the file knows that the process died in the hang. Only programs that link the
 * library write markers, because no runner waits for the end of such a program. On the worker thread.
 */
#ifndef HD_FATAL_MARKER_H
#define HD_FATAL_MARKER_H

#include "publish/publisher.h"

/* Creates the marker of a hang whose report is on disk, unless the marker exists already. If the hang is
 * `over`, removes the marker instead. The library sets ports.fatal_marker to this function. The disk may
 * block the worker here. */
void hd_fatal_marker_update(struct hd_publisher *p, struct hd_turn *turn, bool over);

#endif
