/* SPDX-License-Identifier: MIT */
#include "cause/sentence.h"

#include <string.h>

#include "os/syscall_table.h"

#define PERCENT_OF_ALL 95 /* a sentence leaves out a share that is as large as this percentage or larger */

static const char *descriptor_name(enum hd_fd_kind kind) {
    static const char names[][24] = {
        [HD_FD_FILE] = "a file",         [HD_FD_INET] = "a network socket",
        [HD_FD_UNIX] = "a local socket", [HD_FD_PIPE] = "a pipe",
        [HD_FD_EPOLL] = "an epoll set",  [HD_FD_EVENT] = "an event descriptor",
        [HD_FD_TTY] = "the terminal",    [HD_FD_OTHER] = "a descriptor",
        [HD_FD_PORT] = "a Mach port",
    };
    return kind != HD_FD_NONE && kind < sizeof names / sizeof names[0] ? names[kind] : NULL;
}

void hd_sentence_field(struct hd_text *t, const char *field, size_t size) {
    hd_text_mem(t, field, strnlen(field, size));
}

void hd_sentence_call(struct hd_text *t, const char *before, const struct hd_probe *p) {
    if (p->syscall_nr == HD_SYSCALL_NONE) {
        return;
    }
    const char *call = hd_syscall_name(p->syscall_nr);
    hd_text_str(t, before);
    if (call != NULL) {
        hd_text_str(t, call);
    } else {
        hd_text_str(t, "system call ");
        hd_text_i64(t, p->syscall_nr);
    }
}

void hd_sentence_object(struct hd_text *t, const char *before, const struct hd_probe *p) {
    const char *kind = descriptor_name(hd_evidence_fd_kind(p));
    const char *name = p->evidence.name[0] != '\0' ? p->evidence.name : p->peer.name;
    if (name[0] != '\0' || kind != NULL) {
        hd_text_str(t, before);
        hd_sentence_field(t, name[0] != '\0' ? name : kind, sizeof p->peer.name);
    }
}

bool hd_sentence_party(struct hd_text *t, const char *before, const struct hd_probe *p,
                       enum hd_party_role role) {
    const struct hd_party_seen *party = &p->party;
    bool named = party->name[0] != '\0';
    if (party->role != role || (!named && party->pid == 0)) {
        return false;
    }
    hd_text_str(t, before);
    hd_text_str(t, named ? party->name : "process ");
    if (party->pid != 0) {
        hd_text_str(t, named ? " (" : "");
        hd_text_i64(t, party->pid);
        hd_text_str(t, named ? ")" : "");
    }
    return true;
}

static uint64_t percent_of(uint64_t ns, const struct hd_cause_sums *s) {
    ns = ns < s->total_ns ? ns : s->total_ns;
    return s->total_ns != 0 ? (ns * 100 + s->total_ns / 2) / s->total_ns : 100;
}

void hd_sentence_percent(struct hd_text *t, const struct hd_cause_sums *s, uint64_t ns) {
    hd_text_u64(t, percent_of(ns, s));
}

bool hd_sentence_is_part(const struct hd_cause_sums *s, uint64_t ns) {
    return ns != 0 && ns >= s->total_ns / 10;
}

void hd_sentence_share(struct hd_text *t, const struct hd_cause_sums *s, uint64_t ns) {
    if (percent_of(ns, s) < PERCENT_OF_ALL) {
        hd_text_str(t, " (");
        hd_sentence_percent(t, s, ns);
        hd_text_str(t, "% of the time)");
    }
}

void hd_sentence_reply(struct hd_text *t, const char *verb, const struct hd_probe *p) {
    const struct hd_peer_seen *peer = &p->peer;
    hd_text_str(t, verb);
    bool named = hd_sentence_party(t, " for the D-Bus service ", p, HD_PARTY_SERVICE) ||
                 (!peer->display && hd_sentence_party(t, " for the name server ", p, HD_PARTY_SERVER));
    if (!named) {
        hd_text_str(t, " for ");
        hd_text_str(t, peer->awaited);
        named = hd_sentence_party(t, " ", p, HD_PARTY_SERVER);
    }
    hd_text_str(t, " in ");
    hd_text_str(t, peer->request);
    if (!named && peer->name[0] != '\0') {
        hd_text_str(t, ", through ");
        hd_sentence_field(t, peer->name, sizeof peer->name);
    }
}

void hd_sentence_peer(struct hd_text *t, const struct hd_probe *p) {
    if (hd_evidence_fd_kind(p) == HD_FD_UNIX && p->peer.name[0] != '\0') {
        hd_text_str(t, p->peer.display ? "waited for the display server " : "waited for the service ");
        if (!hd_sentence_party(t, "", p, HD_PARTY_SERVER)) {
            hd_sentence_field(t, p->peer.name, sizeof p->peer.name);
        }
        hd_sentence_call(t, " in ", p);
        return;
    }
    hd_text_str(t, "waited for the network");
    if (p->peer.name[0] != '\0' || p->evidence.name[0] != '\0') {
        hd_sentence_object(t, ": ", p);
        hd_sentence_call(t, " in ", p);
    } else {
        hd_sentence_call(t, ": ", p);
        hd_sentence_object(t, " on ", p);
    }
}

static void say_terminal(struct hd_text *t, const struct hd_probe *p) {
    const char *name = p->evidence.name;
    hd_text_str(t, "waited for the terminal");
    hd_text_str(t, name[0] != '\0' ? " " : "");
    hd_sentence_field(t, name, sizeof p->evidence.name);
    hd_sentence_party(t, " of ", p, HD_PARTY_READER);
    hd_text_str(t, " to take output");
    hd_sentence_call(t, " in ", p);
}

void hd_sentence_output(struct hd_text *t, const struct hd_probe *p) {
    enum hd_fd_kind kind = hd_evidence_fd_kind(p);
    bool named = kind == HD_FD_UNIX && p->peer.name[0] != '\0';
    if (kind == HD_FD_TTY) {
        say_terminal(t, p);
        return;
    }
    if (hd_sentence_party(t, "waited for ", p, HD_PARTY_READER)) {
        hd_text_str(t, ", which does not read ");
        hd_text_str(t, named ? "the socket " : descriptor_name(kind));
    } else {
        hd_text_str(t, named ? "waited for the reader of the socket " : "waited for the reader of ");
        hd_text_str(t, named ? "" : descriptor_name(kind));
    }
    hd_sentence_field(t, named ? p->peer.name : "", sizeof p->peer.name);
    hd_text_str(t, p->party.pid != 0 ? "," : "");
    hd_sentence_call(t, " in ", p);
}

static void say_part(struct hd_text *t, const struct hd_cause_sums *s, const char *before, uint64_t ns,
                     const char *after) {
    if (hd_sentence_is_part(s, ns)) {
        hd_text_str(t, before);
        hd_sentence_percent(t, s, ns);
        hd_text_str(t, after);
    }
}

void hd_sentence_parts(struct hd_text *t, const struct hd_cause_sums *s, enum hd_cause_kind kind) {
    if (kind == HD_CAUSE_CPU || kind == HD_CAUSE_STARVED) {
        say_part(t, s, "; waited for threads of its garbage collector for ", s->ns[HD_CAUSE_GC], "%");
    } else if (kind != HD_CAUSE_GC) {
        say_part(t, s, "; collected garbage for ", hd_cause_collected_ns(s), "%");
    }
    if (kind != HD_CAUSE_PAGE_FAULT) {
        say_part(t, s, "; waited for memory from disk for ", s->ns[HD_CAUSE_PAGE_FAULT], "%");
    }
    if (kind != HD_CAUSE_STARVED) {
        bool quota = s->throttled_ns > s->ns[HD_CAUSE_STARVED] / 2;
        say_part(t, s, "; no CPU was free for ", s->ns[HD_CAUSE_STARVED], quota ? "% (CPU quota)" : "%");
    }
}
