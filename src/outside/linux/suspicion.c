/* SPDX-License-Identifier: MIT */
#include "outside/linux/suspicion.h"

#include <stdlib.h>

#include "outside/linux/perf_proof.h"

#define AFTER_NS (100 * HD_NS_PER_MS)
#define AGAIN_NS (2 * HD_NS_PER_S) /* after a refusal */

void hd_suspicion_end(struct hd_poll_thread *t) {
    if (t->proof != NULL) {
        hd_perf_proof_close(t->proof);
        free(t->proof);
        t->proof = NULL;
    }
}

static void begin(struct hd_poll_thread *t, uint64_t now_ns) {
    t->proof = malloc(sizeof *t->proof);
    if (t->proof == NULL || hd_perf_proof_open(t->proof, t->tid, &t->kinds) != 0) {
        free(t->proof);
        t->proof = NULL;
        t->no_proof_until_ns = now_ns + AGAIN_NS;
    }
}

void hd_suspicion_prove(struct hd_poll_thread *t, struct hd_poll_look *look) {
    if (look->waits) {
        hd_suspicion_end(t);
        return;
    }
    if (t->proof == NULL) {
        if (t->turn.shown.known && look->at_ns >= t->turn.waited_ns + AFTER_NS &&
            look->at_ns >= t->no_proof_until_ns) {
            begin(t, look->at_ns);
        }
        return;
    }
    int passed = hd_perf_proof_look(t->proof, &t->kinds);
    if (passed < 0) {
        hd_suspicion_end(t);
        return;
    }
    if (passed > 0) {
        t->turn.waited_ns = t->proof->passed_ns > t->turn.waited_ns ? t->proof->passed_ns : t->turn.waited_ns;
        return;
    }
    look->proven_ns = t->proof->since_ns;
}
