/* SPDX-License-Identifier: MIT
 *
 * Parts of a sentence about a sample, for the user. Pure: no allocation, no system call.
 */
#ifndef HD_SENTENCE_H
#define HD_SENTENCE_H

#include "base/text.h"
#include "cause/sums.h"

/* A name in an array that may lack a NUL. */
void hd_sentence_field(struct hd_text *t, const char *field, size_t size);

/* `before` and the name of the call; nothing where the thread is in none. */
void hd_sentence_call(struct hd_text *t, const char *before, const struct hd_probe *p);

/* `before` and the object of the call: a file, a peer, or a kind of descriptor; nothing where there is none.
 */
void hd_sentence_object(struct hd_text *t, const char *before, const struct hd_probe *p);

/* `ns` as a percentage of the turn's time, without the sign. */
void hd_sentence_percent(struct hd_text *t, const struct hd_cause_sums *s, uint64_t ns);

/* " (75% of the time)"; nothing where that is nearly all. */
void hd_sentence_share(struct hd_text *t, const struct hd_cause_sums *s, uint64_t ns);

/* "waited for a reply by D-Bus in g_dbus_connection_call_sync, through bus" */
void hd_sentence_reply(struct hd_text *t, const struct hd_peer_seen *peer);

/* "waited for the network: 10.0.0.5:5432 in poll"; of a local service with a name: "waited for the service
 * bus in poll". */
void hd_sentence_peer(struct hd_text *t, const struct hd_probe *p);

/* "waited for a mutex held by thread 9131". `several`: other waits had a part of the kind's time. */
void hd_sentence_lock(struct hd_text *t, const struct hd_cause_sums *s, const struct hd_cause_best *best,
                      bool several);

#endif
