/* SPDX-License-Identifier: MIT
 *
 * A run begins at a page of anonymous memory, and says so. Only pages that were touched are read: the others
 * stay untouched. Ordinary code.
 */
#include "cli/live/run_view.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/live/process.h"
#include "watch/run.h"

#define PAGE 4096u
#define PAGE_TOUCHED (UINT64_C(3) << 62) /* present, or swapped: Documentation/admin-guide/mm/pagemap.rst */
#define MAPPING_PAGES_MAX 4096u          /* of one mapping; the library's are smaller */
#define PAGES_MAX (1024u * 1024u)        /* of all: the stacks of 500 threads */
#define RUN_BYTES_MAX (8u << 20)         /* from the run's place to its end */
#define RATE_MAX (1ULL << 40)            /* 256 ns a tick */

static bool read_at(const struct live_process *p, uint64_t address, void *to, size_t n) {
    return address < INT64_MAX && pread(p->mem_fd, to, n, (off_t)address) == (ssize_t)n;
}

/* ---- finding it ------------------------------------------------------------------------------- */

static bool is_place(const struct live_process *p, uint64_t address) {
    struct hd_run_place place;
    return read_at(p, address, &place, sizeof place) && place.magic == HD_RUN_MAGIC &&
           place.run_bytes == sizeof(struct hd_run) && place.watch_bytes == sizeof(struct hd_watch) &&
           place.run > address && place.run - address < RUN_BYTES_MAX && place.run % 8 == 0;
}

/* The address of the place in a mapping, 0: it is not there. */
static uint64_t search_mapping(const struct live_process *p, int pages, uint64_t lo, uint64_t count) {
    static uint64_t word[MAPPING_PAGES_MAX];
    ssize_t got =
        pages >= 0 ? pread(pages, word, count * sizeof word[0], (off_t)(lo / PAGE * sizeof word[0])) : -1;
    for (size_t i = 0; got > 0 && i < (size_t)got / sizeof word[0]; i++) {
        uint64_t magic = 0;
        if ((word[i] & PAGE_TOUCHED) != 0 && read_at(p, lo + i * PAGE, &magic, sizeof magic) &&
            magic == HD_RUN_MAGIC && is_place(p, lo + i * PAGE)) {
            return lo + i * PAGE;
        }
    }
    return 0;
}

/* Private memory of no file, that may be written. */
static bool is_candidate(const char *line, uint64_t *lo, uint64_t *count) {
    unsigned long from, to, inode;
    char mode[8];
    int end = 0;
    if (sscanf(line, "%lx-%lx %7s %*x %*x:%*x %lu %n", &from, &to, mode, &inode, &end) < 4 || end == 0 ||
        to <= from) {
        return false;
    }
    *lo = from;
    *count = (to - from) / PAGE;
    return strcmp(mode, "rw-p") == 0 && inode == 0 && line[end] == '\0' && *count <= MAPPING_PAGES_MAX;
}

static uint64_t search(const struct live_process *p, FILE *maps, int pages) {
    char *line = NULL;
    size_t room = 0;
    uint64_t found = 0, lo, count, searched = 0;
    while (found == 0 && searched < PAGES_MAX && getline(&line, &room, maps) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (is_candidate(line, &lo, &count)) {
            found = search_mapping(p, pages, lo, count);
            searched += count;
        }
    }
    free(line);
    return found;
}

bool run_view_find(struct run_view *v, const struct live_process *p) {
    int fd = openat(p->proc_fd, "maps", O_RDONLY | O_CLOEXEC);
    int pages = openat(p->proc_fd, "pagemap", O_RDONLY | O_CLOEXEC);
    FILE *maps = fd >= 0 ? fdopen(fd, "r") : NULL;
    *v = (struct run_view){0};
    if (maps != NULL) {
        v->place = search(p, maps, pages);
        fclose(maps);
    } else if (fd >= 0) {
        close(fd);
    }
    if (pages >= 0) {
        close(pages);
    }
    return v->place != 0;
}

/* ---- reading it ------------------------------------------------------------------------------- */

struct rate {
    uint64_t ns_per_tick_32, now_ticks;
};

static bool read_rate(const struct live_process *p, uint64_t run, struct rate *out) {
    struct hd_clock clock;
    uint8_t is_tsc;
    if (!read_at(p, run + offsetof(struct hd_run, clock), &clock, sizeof clock) ||
        !read_at(p, run + offsetof(struct hd_run, ticks_are_tsc), &is_tsc, sizeof is_tsc)) {
        return false;
    }
    out->now_ticks = is_tsc == 1 ? hd_ticks_read() : hd_os_now_ns();
    out->ns_per_tick_32 = atomic_load(&clock.ns_per_tick_32);
    return out->ns_per_tick_32 != 0 && out->ns_per_tick_32 < RATE_MAX;
}

static uint64_t bounded(uint64_t value) {
    return value < INT64_MAX ? value : INT64_MAX;
}

static void sum_up(const struct hd_loop *l, const struct rate *rate, struct run_loop *out) {
    uint64_t word = atomic_load(&l->word), pending = atomic_load(&l->pending_ticks);
    unsigned activity = hd_loop_activity(l, word);
    uint64_t start = hd_loop_turn_start(l, word, activity);
    bool runs = !hd_activity_is_idle(activity) && start < rate->now_ticks;
    out->running_ns = runs ? hd_ticks_to_ns(rate->now_ticks - start, rate->ns_per_tick_32) : 0;
    out->busy_ns = bounded(hd_ticks_to_ns(atomic_load(&l->busy_ticks) + pending, rate->ns_per_tick_32));
    out->busy_ns = bounded(out->busy_ns + bounded(out->running_ns));
    for (unsigned b = 0; b < HD_TURN_HISTOGRAM; b++) {
        out->turns[b] = bounded(atomic_load(&l->histogram[b]));
    }
    if (pending != 0) { /* the loop adds a turn to the histogram when the next turn ends */
        out->turns[hd_turn_bucket(hd_ticks_to_ns(pending, rate->ns_per_tick_32))]++;
    }
    out->frames = bounded(atomic_load(&l->frames.presented));
    out->tid = hd_thread_id_tid(hd_loop_thread(l));
}

/* Of one instant, unless a turn ends at each try. */
static bool read_watch(const struct live_process *p, uint64_t address, struct hd_watch *w) {
    uint64_t word = 0;
    for (unsigned tries = 0; tries < 4; tries++) {
        if (!read_at(p, address, w, sizeof *w) ||
            !read_at(p, address + offsetof(struct hd_watch, loop.word), &word, sizeof word)) {
            return false;
        }
        if (word == atomic_load(&w->loop.word)) {
            break;
        }
    }
    return true;
}

static uint64_t watch_address(const struct live_process *p, uint64_t table, uint32_t slot) {
    uint64_t block = table + offsetof(struct hd_watch_table, watch);
    uint64_t pointer = table + offsetof(struct hd_watch_table, more) +
                       (slot / HD_BLOCK_LOOPS - 1) * sizeof(struct hd_watch *);
    if (slot >= HD_BLOCK_LOOPS && (!read_at(p, pointer, &block, sizeof block) || block == 0)) {
        return 0;
    }
    return block + slot % HD_BLOCK_LOOPS * sizeof(struct hd_watch);
}

static void read_loops(struct run_view *v, const struct live_process *p, uint64_t run,
                       const struct rate *rate) {
    uint64_t table = run + offsetof(struct hd_run, watches);
    uint32_t slots = 0;
    (void)read_at(p, table + offsetof(struct hd_watch_table, slots), &slots, sizeof slots);
    for (uint32_t i = 0; i < slots && i < HD_LOOPS_MAX; i++) {
        struct hd_watch w;
        uint64_t address = watch_address(p, table, i);
        if (address == 0 || !read_watch(p, address, &w) || atomic_load(&w.use) != HD_WATCH_ON) {
            continue;
        }
        if (v->loops == RUN_LOOPS_MAX) {
            v->more++;
            continue;
        }
        struct run_loop *out = &v->loop[v->loops++];
        *out = (struct run_loop){.slot = i, .generation = atomic_load(&w.generation)};
        memcpy(out->name, w.name, sizeof out->name - 1);
        sum_up(&w.loop, rate, out);
    }
}

static void read_hangs(struct run_view *v, const struct live_process *p, uint64_t run) {
    static struct hd_record r;
    uint64_t address;
    if (!read_at(p, run + offsetof(struct hd_run, record), &address, sizeof address) ||
        !read_at(p, address, &r, sizeof r) || r.magic != HD_RECORD_MAGIC) {
        return;
    }
    uint32_t open = atomic_load(&r.open.state);
    v->hangs = (struct run_hangs){.count = bounded(atomic_load(&r.hangs.count)),
                                  .lost_ns = bounded(atomic_load(&r.hangs.total_ns)),
                                  .longest_ns = bounded(atomic_load(&r.hangs.max_ns)),
                                  .lasts = open == HD_RECORD_HANG_LASTS,
                                  .ended = open == HD_RECORD_HANG_ENDED,
                                  .since_ns = atomic_load(&r.open.since_ns)};
    v->hangs.for_ns =
        bounded(v->hangs.ended ? atomic_load(&r.open.ended_duration_ns) : atomic_load(&r.open.duration_ns));
}

bool run_view_read(struct run_view *v, const struct live_process *p) {
    struct hd_run_place place;
    struct rate rate;
    uint32_t alive = 0;
    v->loops = v->more = 0;
    v->hangs = (struct run_hangs){0};
    if (v->place == 0 || !is_place(p, v->place) || !read_at(p, v->place, &place, sizeof place) ||
        place.run <= v->place || place.run - v->place >= RUN_BYTES_MAX ||
        !read_at(p, place.run + offsetof(struct hd_run, alive), &alive, sizeof alive) || alive == 0 ||
        !read_rate(p, place.run, &rate)) {
        return false;
    }
    v->at_ns = hd_os_now_ns();
    read_loops(v, p, place.run, &rate);
    read_hangs(v, p, place.run);
    return true;
}
