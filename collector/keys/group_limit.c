/* SPDX-License-Identifier: MIT */
#include "collector/keys/group_limit.h"

#include <pthread.h>
#include <stdlib.h>

#define SETS 1024
#define WAYS 8
#define MINUTE_NS INT64_C(60000000000)

struct bucket {
    uint64_t group; /* 0: free */
    double tokens;
    int64_t at_ns;
};

struct group_limit {
    pthread_mutex_t lock;
    struct bucket set[SETS][WAYS];
};

struct group_limit *group_limit_new(void) {
    struct group_limit *g = calloc(1, sizeof *g);
    if (g != NULL) {
        pthread_mutex_init(&g->lock, NULL);
    }
    return g;
}

void group_limit_free(struct group_limit *g) {
    if (g != NULL) {
        pthread_mutex_destroy(&g->lock);
        free(g);
    }
}

/* FNV-1a of both. */
static uint64_t hash(int key, const char *fingerprint) {
    uint64_t h = UINT64_C(14695981039346656037) ^ (uint64_t)(unsigned)key;
    for (h *= UINT64_C(1099511628211); *fingerprint != '\0'; fingerprint++) {
        h = (h ^ (unsigned char)*fingerprint) * UINT64_C(1099511628211);
    }
    return h == 0 ? 1 : h;
}

/* That of the group, else the one that was not used for the longest time. */
static struct bucket *find(struct group_limit *g, uint64_t group, long per_minute, int64_t now_ns) {
    struct bucket *set = g->set[group % SETS], *oldest = &set[0];
    for (int i = 0; i < WAYS; i++) {
        if (set[i].group == group) {
            return &set[i];
        }
        oldest = set[i].at_ns < oldest->at_ns ? &set[i] : oldest;
    }
    *oldest = (struct bucket){.group = group, .tokens = (double)per_minute, .at_ns = now_ns};
    return oldest;
}

long group_limit_take(struct group_limit *g, int key, const char *fingerprint, long per_minute,
                      int64_t now_ns) {
    if (per_minute <= 0) {
        return 0;
    }
    pthread_mutex_lock(&g->lock);
    struct bucket *b = find(g, hash(key, fingerprint), per_minute, now_ns);
    double each_ns = (double)MINUTE_NS / (double)per_minute;
    b->tokens += (double)(now_ns - b->at_ns) / each_ns;
    b->tokens = b->tokens < (double)per_minute ? b->tokens : (double)per_minute;
    b->at_ns = now_ns;
    long wait = 0;
    if (b->tokens >= 1) {
        b->tokens -= 1;
    } else {
        wait = 1 + (long)((1 - b->tokens) * each_ns * 1e-9);
    }
    pthread_mutex_unlock(&g->lock);
    return wait;
}
