/* SPDX-License-Identifier: MIT
 *
 * Why it hung: evidence of each sample weighed over the hang. Pure functions on plain structs.
 */
#ifndef HD_CAUSE_H
#define HD_CAUSE_H

#include "cause/evidence.h"
#include "cause/probe_context.h"

#define HD_DEADLOCK_MAX 8 /* threads in a ring; a longer one is not told */

struct hd_cause {
    uint8_t kind; /* enum hd_cause_kind */
    double share;
    int32_t syscall_nr; /* the one that weighed most within the kind */
    char path[64], peer[64];
    int32_t child_pid;
    uint64_t run_delay_ns, throttled_ns, major_faults;
    uint64_t stall_ns[HD_PRESSURES];    /* in which some task of the process's group waited */
    uint64_t memory_used, memory_limit; /* of the group; 0: it has no limit */
    uint64_t lock_address;
    int32_t lock_owner_tid;
    uint8_t lock_kind; /* enum hd_lock_kind */
    int32_t deadlock[HD_DEADLOCK_MAX];
    uint32_t deadlock_count;
    char detail[192]; /* one sentence for a person */
};

/* Running sums of one hang; zero-initialise. */
struct hd_cause_sums {
    uint64_t ns[HD_CAUSE_KINDS];
    uint64_t total_ns, delay_ns;
    struct hd_probe call;  /* the last one of a blocked thread; its for_ns 0: none yet */
    uint64_t throttled_ns; /* in which the group's quota was used up; written before a cause is decided */
    uint64_t gc_ns;        /* of ns[HD_CAUSE_CPU], as sampled */
    uint64_t drawn_ns;     /* the same, in a toolkit's code */
    struct {               /* the thread that had the lock when the hang opened; before a cause is decided */
        int32_t tid, syscall_nr;
        char name[16];
        const char *path; /* of the file that its call works on; NULL */
    } owner;
    uint8_t collector;   /* enum hd_collector, the last one */
    uint64_t assumed_ns; /* part of ns[HD_CAUSE_CPU] for which no figure vouches yet */
    struct hd_cause_best {
        uint64_t ns;       /* lead of the evidence kept over all other evidence of its kind */
        uint64_t other_ns; /* of it, lead of the lock's owner over all others, or the child's own */
        uint64_t run_ns;   /* the same of the newest child: they are waited for one after the other; else the
                            * time of the evidence kept, without what it had before other evidence was kept */
        int32_t run_pid;
        bool several; /* other owners, or other children, had some of the time */
        struct hd_probe probe;
    } best[HD_CAUSE_KINDS];
};

void hd_cause_add(struct hd_cause_sums *s, const struct hd_probe *e);
/* No more than this much is the hang's after all: it ended before its newest samples. */
void hd_cause_limit(struct hd_cause_sums *s, uint64_t total_ns);
/* Forgets the files and peers of waits: what is decided then does not name them. */
void hd_cause_forget_paths(struct hd_cause_sums *s);
/* Writes all of *out but throttled_ns, major_faults, deadlock and what the group waited for and used, which
 * are zeroed. */
void hd_cause_decide(const struct hd_cause_sums *s, struct hd_cause *out);

/* The time in a garbage collector, running or waiting for its other threads. */
static inline uint64_t hd_cause_collected_ns(const struct hd_cause_sums *s) {
    uint64_t ran_ns = s->gc_ns < s->ns[HD_CAUSE_CPU] ? s->gc_ns : s->ns[HD_CAUSE_CPU];
    return ran_ns + s->ns[HD_CAUSE_GC];
}

/* The time that it ran in a toolkit's code. */
static inline uint64_t hd_cause_drawn_ns(const struct hd_cause_sums *s) {
    return s->drawn_ns < s->ns[HD_CAUSE_CPU] ? s->drawn_ns : s->ns[HD_CAUSE_CPU];
}

/* What the time of a thread that does not run goes to. */
enum hd_cause_kind hd_cause_of_block(const struct hd_probe *e);

/* One thread waits for a lock that another one holds. */
struct hd_waits_for {
    int32_t tid, owner;
};
/* Follows the owners from `tid`. When they form a ring, writes it to c->deadlock and says so in c->detail:
 * true. */
bool hd_cause_find_ring(struct hd_cause *c, const struct hd_waits_for *edges, uint32_t count, int32_t tid);
void hd_cause_say_ring(struct hd_cause *c); /* of its deadlock */

#endif
