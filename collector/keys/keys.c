/* SPDX-License-Identifier: MIT */
#include "collector/keys/keys.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "collector/base/monotonic.h"
#include "collector/keys/key_settings.h"

#define LOOK_S 1
#define STORE_NS (10 * MONOTONIC_S)
#define DAY_S 86400
#define BURST_S 2 /* capacity of a token bucket, in seconds of the key's rate */
/* A usual report takes a tenth of this time. A key with more costly reports gets half of a CPU. */
#define CPU_OF_A_REPORT_NS 1e6
#define CPU_SHARE 0.5

struct slot {
    bool lives;
    struct store_key key;
    double reports; /* reports that may come now; negative after a large batch */
    int64_t at_ns;
    int64_t unstored, used_ms; /* since the last write to the store */
};

struct keys {
    pthread_mutex_t lock; /* of all below */
    pthread_mutex_t renewing;
    pthread_cond_t stop;
    pthread_t thread;
    struct store *store;
    long rate;
    bool stopping;
    int64_t stored_ns;
    struct key_limits limits;
    int count; /* of slots; a place never changes while its key lives */
    struct slot slot[STORE_KEYS_MAX];
    struct store_key read[STORE_KEYS_MAX]; /* of the lock `renewing` */
};

static struct slot *place_of(struct keys *k, int64_t id) {
    struct slot *place = NULL;
    for (int i = 0; i < k->count; i++) {
        if (k->slot[i].lives && k->slot[i].key.id == id) {
            return &k->slot[i];
        }
        place = k->slot[i].lives ? place : &k->slot[i];
    }
    if (place == NULL && k->count < STORE_KEYS_MAX) {
        place = &k->slot[k->count++];
    }
    if (place != NULL) {
        *place =
            (struct slot){.at_ns = monotonic_ns(), .reports = 1 + (double)k->limits.reports_per_minute / 60};
    }
    return place;
}

/* Takes the keys that the store has. Other slots become free. */
static void take_keys(struct keys *k, int count) {
    for (int i = 0; i < k->count; i++) {
        bool found = false;
        for (int n = 0; n < count && !found; n++) {
            found = k->read[n].id == k->slot[i].key.id;
        }
        k->slot[i].lives = k->slot[i].lives && found;
    }
    for (int n = 0; n < count; n++) {
        struct slot *s = place_of(k, k->read[n].id);
        if (s != NULL) {
            s->key = k->read[n];
            s->lives = true;
        }
    }
}

bool keys_renew(struct keys *k) {
    struct key_limits limits;
    pthread_mutex_lock(&k->renewing);
    int count = store_keys(k->store, k->read, STORE_KEYS_MAX);
    bool read = count >= 0 && key_settings_read(k->store, &limits);
    if (read) {
        pthread_mutex_lock(&k->lock);
        k->limits = limits;
        if (k->rate > 0) {
            k->limits.reports_per_minute = 60 * k->rate;
        }
        take_keys(k, count);
        pthread_mutex_unlock(&k->lock);
    }
    pthread_mutex_unlock(&k->renewing);
    return read;
}

static int64_t now_ms(void) {
    return (int64_t)time(NULL) * 1000;
}

/* Calls the store without the lock, since the store may wait for a disk. */
static void count_in_store(struct keys *k) {
    for (int i = 0; i < STORE_KEYS_MAX; i++) {
        pthread_mutex_lock(&k->lock);
        struct slot s = k->slot[i];
        k->slot[i].unstored = k->slot[i].used_ms = 0;
        if (s.lives && s.unstored > 0) {
            int64_t day = now_ms() / 1000 / DAY_S;
            k->slot[i].key.day_reports = s.unstored + (s.key.day == day ? s.key.day_reports : 0);
            k->slot[i].key.day = day;
        }
        pthread_mutex_unlock(&k->lock);
        if (s.lives && (s.unstored > 0 || s.used_ms > 0)) {
            store_count_key(k->store, s.key.id, s.used_ms, now_ms() / 1000 / DAY_S, s.unstored);
        }
    }
}

static void *look(void *keys) {
    struct keys *k = keys;
    pthread_mutex_lock(&k->lock);
    while (!k->stopping) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += LOOK_S;
        pthread_cond_timedwait(&k->stop, &k->lock, &until);
        bool due = monotonic_ns() - k->stored_ns > STORE_NS || k->stopping;
        pthread_mutex_unlock(&k->lock);
        if (due) {
            count_in_store(k);
            k->stored_ns = monotonic_ns();
        }
        keys_renew(k);
        pthread_mutex_lock(&k->lock);
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

struct keys *keys_start(struct store *store, long rate) {
    struct keys *k = calloc(1, sizeof *k);
    if (k == NULL) {
        return NULL;
    }
    pthread_mutex_init(&k->lock, NULL);
    pthread_mutex_init(&k->renewing, NULL);
    pthread_cond_init(&k->stop, NULL);
    k->store = store;
    k->rate = rate;
    k->stored_ns = monotonic_ns();
    if (!keys_renew(k) || pthread_create(&k->thread, NULL, look, k) != 0) {
        free(k);
        return NULL;
    }
    return k;
}

void keys_stop(struct keys *k) {
    if (k == NULL) {
        return;
    }
    pthread_mutex_lock(&k->lock);
    k->stopping = true;
    pthread_cond_signal(&k->stop);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->thread, NULL);
    free(k);
}

bool keys_are_equal(const uint8_t *a, const uint8_t *b, size_t bytes) {
    volatile uint8_t other = 0;
    for (size_t i = 0; i < bytes; i++) {
        other = (uint8_t)(other | (a[i] ^ b[i]));
    }
    return other == 0;
}

/* Finds a key for `use`. A key for administering may also read. */
static int find(const struct keys *k, enum key_use use, const uint8_t *hash) {
    int found = -1;
    for (int i = 0; i < k->count; i++) {
        const struct store_key *key = &k->slot[i].key;
        bool same = keys_are_equal(key->hash, hash, SHA256_BYTES);
        bool allows = k->slot[i].lives && (key->use == use || (key->use == KEY_ADMIN && use == KEY_READ));
        found = same && allows ? i : found;
    }
    return found;
}

int keys_check(struct keys *k, enum key_use use, const char *authorization) {
    static const char scheme[] = "Bearer ";
    uint8_t hash[SHA256_BYTES];
    if (authorization == NULL || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0) {
        return -1;
    }
    authorization += sizeof scheme - 1;
    sha256(authorization, strlen(authorization), hash);
    pthread_mutex_lock(&k->lock);
    int found = find(k, use, hash);
    if (found >= 0) {
        k->slot[found].used_ms = now_ms();
    }
    pthread_mutex_unlock(&k->lock);
    return found;
}

int64_t keys_id(struct keys *k, int key) {
    pthread_mutex_lock(&k->lock);
    int64_t id = k->slot[key].key.id;
    pthread_mutex_unlock(&k->lock);
    return id;
}

enum key_use keys_use(struct keys *k, int key) {
    pthread_mutex_lock(&k->lock);
    enum key_use use = k->slot[key].key.use;
    pthread_mutex_unlock(&k->lock);
    return use;
}

void keys_app(struct keys *k, int key, char app[STORE_APP_BYTES]) {
    pthread_mutex_lock(&k->lock);
    memcpy(app, k->slot[key].key.app, STORE_APP_BYTES);
    pthread_mutex_unlock(&k->lock);
}

int64_t keys_used_ms(struct keys *k, int64_t id) {
    int64_t used_ms = 0;
    pthread_mutex_lock(&k->lock);
    for (int i = 0; i < k->count; i++) {
        used_ms = k->slot[i].key.id == id ? k->slot[i].used_ms : used_ms;
    }
    pthread_mutex_unlock(&k->lock);
    return used_ms;
}

long keys_rate(const struct keys *k) {
    return k->rate;
}

void keys_limits(struct keys *k, struct key_limits *out) {
    pthread_mutex_lock(&k->lock);
    *out = k->limits;
    pthread_mutex_unlock(&k->lock);
}

static long wait_for_rate(const struct keys *k, struct slot *s) {
    double rate = (double)k->limits.reports_per_minute / 60, most = BURST_S * rate;
    int64_t now = monotonic_ns();
    if (rate <= 0) {
        return 0;
    }
    most = most > 1 ? most : 1;
    s->reports += (double)(now - s->at_ns) * 1e-9 * rate;
    s->reports = s->reports < most ? s->reports : most;
    s->at_ns = now;
    return s->reports > 0 ? 0 : 1 + (long)(-s->reports / rate);
}

static long wait_for_day(const struct keys *k, const struct slot *s) {
    int64_t now = now_ms() / 1000;
    int64_t sent = s->unstored + (s->key.day == now / DAY_S ? s->key.day_reports : 0);
    bool spent = k->limits.reports_per_day > 0 && sent >= k->limits.reports_per_day;
    return spent ? (long)(DAY_S - now % DAY_S) : 0;
}

long keys_wait(struct keys *k, int key) {
    pthread_mutex_lock(&k->lock);
    long rate = wait_for_rate(k, &k->slot[key]), day = wait_for_day(k, &k->slot[key]);
    pthread_mutex_unlock(&k->lock);
    return day > rate ? day : rate;
}

/* CPU time beyond what so many reports may take, as reports that could have come in that time. */
static double extra_reports(const struct keys *k, size_t reports, int64_t cpu_ns) {
    double extra_ns = (double)cpu_ns - (double)reports * CPU_OF_A_REPORT_NS;
    double rate = (double)k->limits.reports_per_minute / 60;
    return extra_ns > 0 ? extra_ns * 1e-9 * rate / CPU_SHARE : 0;
}

void keys_spend(struct keys *k, int key, size_t reports, int64_t cpu_ns) {
    pthread_mutex_lock(&k->lock);
    k->slot[key].reports -= (double)reports + extra_reports(k, reports, cpu_ns);
    k->slot[key].unstored += (int64_t)reports;
    pthread_mutex_unlock(&k->lock);
}
