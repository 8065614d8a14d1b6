/* SPDX-License-Identifier: MIT
 *
 * The judge, replayed over recordings of real programs (tests/recognition/recordings) and compared with the
 * known truth. Each line is a value, as the preload fills it. No blocking call may be called idle, no wait of
 * a certain loop busy, and no loop may be certain in a program that has none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recognise/judge.h"

#define PLACES_MAX 2048u
#define FILES_MAX 256u
#define JUDGED_US 50000 /* the monitor looks after one interval */
#define TOP_SP 0x7ffffffff000u

/* What the recordings come to (docs/loop-recognition.md): a change of the rule may better it, and then
 * tightens these and the document. */
#define RECORDINGS 186u
#define LOOP_RIGHT_MIN 1778u
#define LOOP_SILENT_MAX 23u
#define LOOP_DEFERRED_MAX 0u
#define BLOCKING_RIGHT_MIN 707u
#define BLOCKING_SILENT_MAX 4u
#define BLOCKING_IDLE_MAX 0u
#define NONE_SILENT_MIN 1237u

struct counts {
    unsigned loop_right, loop_deferred, loop_busy, loop_silent;
    unsigned blocking_right, blocking_idle, blocking_silent;
    unsigned known_idle; /* of blocking_idle: what the recording says that the rule gets wrong */
    unsigned none_silent, none_seen;
    bool sure; /* at the end */
};

struct place {
    uint64_t sp;
    uint32_t depth;   /* 0: not walked to the root */
    uint8_t enclosed; /* enum hd_wait_enclosed */
};

struct line {
    uint64_t begin_us, blocked_us, took_us;
    unsigned waits, place;
    int timeout_ms, asks;
    char truth;
    struct hd_set set;
    char kinds[HD_WAIT_FDS * 16]; /* as the recorder writes them; empty: not recorded */
};

struct replay {
    struct hd_judge judge;
    struct place place[PLACES_MAX];
    struct counts counts;
    struct hd_set closed; /* the newest */
    uint64_t order;
    const char *name;
    bool verbose;
};

static struct hd_set parse_set(char *text) {
    struct hd_set s = {.count = 0};
    for (char *t = strtok(text, ","); t != NULL; t = strtok(NULL, ",")) {
        if (*t == 'E') {
            hd_set_add(&s, HD_FILE_EPOLL | strtoul(t + 1, NULL, 10));
        } else if (*t != '-') {
            hd_set_add(&s, strtoul(t, NULL, 10));
        }
    }
    return s;
}

static bool parse_wait(const char *text, struct line *l) {
    static char set[16384];
    unsigned long begin, blocked, took;
    l->kinds[0] = '\0';
    int n = sscanf(text, "w %lu %lu %lu %u %d %c %d %u %16383s %255s", &begin, &blocked, &took, &l->waits,
                   &l->timeout_ms, &l->truth, &l->asks, &l->place, set, l->kinds);
    l->begin_us = begin;
    l->blocked_us = blocked;
    l->took_us = took;
    l->set = parse_set(set);
    return n >= 9 && l->place < PLACES_MAX;
}

static void print_mismatch(const struct replay *r, const struct line *l, const char *what) {
    if (r->verbose) {
        print_message("    %s, %.3f s, %.3f s long, place %u: %s\n", r->name, (double)l->begin_us / 1e6,
                      (double)l->took_us / 1e6, l->place, what);
    }
}

static void judge_loops(struct replay *r, const struct line *l, enum hd_wait_verdict v) {
    struct counts *c = &r->counts;
    if (l->took_us < JUDGED_US || l->timeout_ms == 0) {
        return;
    }
    c->loop_right += v == HD_WAIT_IDLE;
    c->loop_silent += v == HD_WAIT_UNKNOWN;
    if (v == HD_WAIT_BUSY) {
        bool sure = hd_rule_certain(&r->judge.rule);
        c->loop_deferred += !sure;
        c->loop_busy += sure;
        print_mismatch(r, l,
                       sure ? "a loop's wait is called busy" : "a loop's wait is called busy, and held back");
    }
}

/* However short: an idle wait would end the hang. */
static void judge_blocking(struct replay *r, const struct line *l, enum hd_wait_verdict v) {
    struct counts *c = &r->counts;
    bool judged = l->took_us >= JUDGED_US && l->timeout_ms != 0;
    c->blocking_right += judged && v == HD_WAIT_BUSY;
    c->blocking_silent += judged && v == HD_WAIT_UNKNOWN;
    if (v == HD_WAIT_IDLE) {
        c->blocking_idle++;
        print_mismatch(r, l, "a blocking call is called idle");
    }
}

static void judge(struct replay *r, const struct line *l, enum hd_wait_verdict v) {
    switch (l->truth) {
    case 'I':
        judge_loops(r, l, v);
        break;
    case 'B':
        judge_blocking(r, l, v);
        break;
    case 'N':
        r->counts.none_silent += !hd_rule_certain(&r->judge.rule); /* before, nothing is told */
        r->counts.none_seen += hd_rule_certain(&r->judge.rule);
        break;
    default: /* start-up, or the loop is over */
        break;
    }
}

/* A recording from before kinds were recorded knows epoll instances alone. */
static struct hd_kinds kinds_of(const struct line *l) {
    static const char letters[] = "olepPsScg";
    struct hd_kinds kinds = {.epoll = l->set.count == 1 && (l->set.file[0] & HD_FILE_EPOLL) != 0};
    kinds.known = l->kinds[0] != '\0' && strchr(l->kinds, '?') == NULL;
    kinds.library = kinds.epoll && l->kinds[0] != '\0' && l->kinds[0] != '@';
    for (const char *at = l->kinds; *at != '\0' && kinds.count < HD_WAIT_FDS; at++) {
        const char *letter = strchr(letters, *at);
        if (letter != NULL) {
            kinds.kind[kinds.count++] = (uint8_t)(letter - letters);
        }
    }
    return kinds;
}

static struct hd_wait_seen seen_of(const struct replay *r, const struct line *l) {
    static const int8_t names[] = {HD_WAIT_EVIDENCE_PLAIN, HD_WAIT_EVIDENCE_REQUEST, HD_WAIT_EVIDENCE_BY_NAME,
                                   HD_WAIT_EVIDENCE_REQUEST};
    const struct place *p = &r->place[l->place];
    assert_in_range(l->asks, 0, 3);
    return (struct hd_wait_seen){
        .at = {.stack_hash = p->depth != 0 ? l->place : 0, .sp = p->sp, .depth = p->depth},
        .set = l->set,
        .kinds = kinds_of(l),
        .stack = {.names = names[l->asks], .enclosed = p->enclosed}};
}

static void wait_line(struct replay *r, struct line *l) {
    struct hd_wait_seen w = seen_of(r, l);
    if (l->timeout_ms == 0) { /* teaches nothing; ends a turn if it is the loop's */
        judge(r, l, HD_WAIT_UNKNOWN);
        return;
    }
    hd_judge_seen(&r->judge, &w, true, l->begin_us * HD_NS_PER_US);
    enum hd_wait_verdict verdict = hd_judge_verdict(&r->judge, &w);
    if (verdict == HD_WAIT_BUSY && hd_rule_is_over(&r->judge.rule)) {
        verdict = HD_WAIT_UNKNOWN; /* the turn is no hang */
    }
    judge(r, l, verdict);
    r->order += l->waits;
    w.times = (struct hd_wait_times){.waits = l->waits,
                                     .waited_ns = l->took_us * HD_NS_PER_US,
                                     .order = r->order,
                                     .ended_ns = (l->begin_us + l->took_us) * HD_NS_PER_US};
    hd_judge_ended(&r->judge, &w);
}

/* Files are closed. The loop is gone with the last of those that all of its waits were for. */
static void closed_line(struct replay *r, char *text) {
    struct hd_set now = parse_set(text + strlen("c "));
    bool all = r->judge.rule.loop != HD_RULE_NONE;
    for (uint32_t i = 0; i < now.count; i++) {
        r->closed.count -= r->closed.count == HD_SET_FILES;
        hd_set_add(&r->closed, now.file[i]);
    }
    const struct hd_set *common = all ? &r->judge.rule.group[r->judge.rule.loop].files.common : &now;
    for (uint32_t i = 0; i < common->count; i++) {
        bool is_closed = false;
        for (uint32_t j = 0; j < r->closed.count; j++) {
            is_closed |= r->closed.file[j] == common->file[i];
        }
        all &= is_closed;
    }
    if (all) {
        hd_rule_closed(&r->judge.rule);
    }
}

static void replay_file(struct replay *r, const char *path) {
    static char text[65536];
    struct line l;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    hd_judge_init(&r->judge, "");
    while (fgets(text, sizeof text, f) != NULL) {
        unsigned place, depth, enclosed = 0;
        unsigned long offset;
        if (text[0] == 'w') {
            assert_true(parse_wait(text, &l));
            wait_line(r, &l);
        } else if (text[0] == 'c') {
            closed_line(r, text);
        } else if (sscanf(text, "p %u %lu %u %*s %*s %u", &place, &offset, &depth, &enclosed) >= 3 &&
                   place < PLACES_MAX) {
            r->place[place] =
                (struct place){.sp = TOP_SP - offset, .depth = depth, .enclosed = (uint8_t)enclosed};
        }
        sscanf(text, "# wrong: idle %u", &r->counts.known_idle);
    }
    fclose(f);
    r->counts.sure = hd_rule_certain(&r->judge.rule);
}

static void add(struct counts *sum, const struct counts *c) {
    sum->loop_right += c->loop_right;
    sum->loop_deferred += c->loop_deferred;
    sum->loop_busy += c->loop_busy;
    sum->loop_silent += c->loop_silent;
    sum->blocking_right += c->blocking_right;
    sum->blocking_idle += c->blocking_idle;
    sum->blocking_silent += c->blocking_silent;
    sum->known_idle += c->known_idle;
    sum->none_silent += c->none_silent;
    sum->none_seen += c->none_seen;
}

static void print_row(const char *name, const struct counts *c) {
    print_message("%-22s %6u %6u %6u %6u | %6u %6u %6u | %6u %6u %s\n", name, c->loop_right, c->loop_silent,
                  c->loop_deferred, c->loop_busy, c->blocking_right, c->blocking_silent, c->blocking_idle,
                  c->none_silent, c->none_seen, c->sure ? "sure" : "");
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static unsigned recordings(const char *folder, char **names) {
    unsigned n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e != NULL && n < FILES_MAX; e = readdir(d)) {
        char *dot = strrchr(e->d_name, '.');
        if (dot != NULL && strcmp(dot, ".waits") == 0) {
            names[n++] = strdup(e->d_name);
        }
    }
    closedir(d);
    qsort(names, n, sizeof *names, by_name);
    return n;
}

static void judges_every_recording_right(void **state) {
    static struct replay r;
    static char *names[FILES_MAX];
    struct counts sum = {0};
    char folder[512], path[1024];
    const char *source = getenv("HANGDOG_SOURCE");
    (void)state;
    snprintf(folder, sizeof folder, "%s/tests/recognition/recordings", source != NULL ? source : ".");
    unsigned n = recordings(folder, names);

    assert_int_equal(n, RECORDINGS);
    print_message("%-22s %-27s | %-20s | %s\n", "", "loop's waits", "blocking calls", "no loop");
    print_message("%-22s %6s %6s %6s %6s | %6s %6s %6s | %6s %6s\n", "recording", "right", "silent", "held",
                  "busy", "right", "silent", "idle", "silent", "seen");
    for (unsigned i = 0; i < n; i++) {
        memset(&r, 0, sizeof r);
        r.name = names[i];
        r.verbose = getenv("VERBOSE") != NULL;
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        replay_file(&r, path);
        *strrchr(names[i], '.') = '\0';
        print_row(names[i], &r.counts);
        assert_true(r.counts.blocking_idle <= 1);
        add(&sum, &r.counts);
        free(names[i]);
    }
    print_row("all", &sum);
    assert_true(sum.loop_right >= LOOP_RIGHT_MIN);
    assert_true(sum.loop_silent <= LOOP_SILENT_MAX);
    assert_true(sum.loop_deferred <= LOOP_DEFERRED_MAX);
    assert_int_equal(sum.loop_busy, 0);
    assert_true(sum.blocking_idle <= BLOCKING_IDLE_MAX);
    assert_true(sum.blocking_right >= BLOCKING_RIGHT_MIN);
    assert_true(sum.blocking_silent <= BLOCKING_SILENT_MAX);
    assert_true(sum.none_silent >= NONE_SILENT_MIN);
    assert_int_equal(sum.none_seen, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judges_every_recording_right),
    };
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
