/* SPDX-License-Identifier: MIT
 *
 * Writes parts of the sentence that explains a cause to the user. Pure: no allocation, no system call.
 */
#ifndef HD_SENTENCE_H
#define HD_SENTENCE_H

#include "base/text.h"
#include "cause/sums.h"

/* Appends the name in `field`, an array of `size` bytes that may lack a NUL. */
void hd_sentence_field(struct hd_text *t, const char *field, size_t size);

/* Appends `before` and the name of the system call. Appends nothing if the thread is in no call. */
void hd_sentence_call(struct hd_text *t, const char *before, const struct hd_probe *p);

/* Appends `before` and the object that the call works on: a file, a peer, or a kind of descriptor. Appends
 * nothing if no object is known. */
void hd_sentence_object(struct hd_text *t, const char *before, const struct hd_probe *p);

/* Appends `before` and the other party, such as "python3 (4711)". Appends nothing and returns false if no
 * party with role `role` is known. */
bool hd_sentence_party(struct hd_text *t, const char *before, const struct hd_probe *p,
                       enum hd_party_role role);

/* Appends `ns` as a percentage of the turn's time, without the percent sign. */
void hd_sentence_percent(struct hd_text *t, const struct hd_cause_sums *s, uint64_t ns);

/* True: `ns` is a part of the turn's time that a sentence mentions next to its cause: 10 % or more. */
bool hd_sentence_is_part(const struct hd_cause_sums *s, uint64_t ns);

/* Appends the share that `ns` has in the turn's time, such as " (75% of the time)", or nothing if the share
 * is 95 % or more. */
void hd_sentence_share(struct hd_text *t, const struct hd_cause_sums *s, uint64_t ns);

/* Appends, for example, "waited for the D-Bus service org.example.Portal in g_dbus_connection_call_sync". If
 * the other party is unknown: "waited for a reply by D-Bus in g_dbus_connection_call_sync, through bus".
 * `verb`: "waited" or "waits". */
void hd_sentence_reply(struct hd_text *t, const char *verb, const struct hd_probe *p);

/* Appends, for example, "waited for the network: 10.0.0.5:5432 in poll". For a local service with a name,
 * appends, for example, "waited for the service bus in poll". */
void hd_sentence_peer(struct hd_text *t, const struct hd_probe *p);

/* Appends, for example, "waited for less (4711), which does not read a pipe, in write", or "waited for the
 * terminal pts/3 of tmux: server (812) to take output in write". */
void hd_sentence_output(struct hd_text *t, const struct hd_probe *p);

/* Appends, for example, "waited for a lock of app.db held by python3 (4711)". */
void hd_sentence_database(struct hd_text *t, const struct hd_probe *p);

/* Appends, for example, "waited for a mutex held by thread 9131". `several`: true if the thread also waited
 * for other locks, in a part of the cause's time. */
void hd_sentence_lock(struct hd_text *t, const struct hd_cause_sums *s, const struct hd_cause_best *best,
                      bool several);

/* Appends the other parts of the time that the user can do something about, such as "; no CPU was free for
 * 12%". */
void hd_sentence_parts(struct hd_text *t, const struct hd_cause_sums *s, enum hd_cause_kind kind);

#endif
