/* SPDX-License-Identifier: MIT
 *
 * The fatal marker: a file `.ID.open` next to the report of a hang that lasts, locked by this process. A
 * reader that can lock it knows that the process died in the hang. Only programs that link the library write
 * it: they have no runner that waits for them. On the worker thread.
 */
#ifndef HD_FATAL_MARKER_H
#define HD_FATAL_MARKER_H

#include "publish/publisher.h"

/* Creates the marker of an open hang whose report is on disk, if it has none yet. Removes it once the hang is
 * `over`. The library sets this function as ports.fatal_marker. May wait for the disk. */
void hd_fatal_marker_update(struct hd_publisher *p, struct hd_turn *turn, bool over);

#endif
