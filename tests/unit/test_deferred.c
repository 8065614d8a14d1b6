/* SPDX-License-Identifier: MIT
 *
 * Which reports readers see. Some are deferred until their loop is certain, and the table of them is full at
 * some time. The caps suppress others: too many of one fingerprint, or of one day.
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
#include <time.h>

#include "folder.h"
#include "os/os.h"
#include "publish/deferred.h"
#include "publish/publish.h"
#include "record/uuid.h"

#define HANGS 70u
#define HANG_NS HD_NS_PER_S

static char folder[64];
static struct hd_publisher publisher, *p = &publisher;
static struct hd_turns turns;
static struct hd_modules modules;
static struct hd_scripts scripts;
static const struct hd_facts facts;
static struct hd_run *run;
static struct hd_record record;
static int (*true_clock)(int, struct timespec *);
static int (*true_wall_clock)(uint64_t *);

/* Files in the spool whose name ends with `end`. */
static unsigned files(const char *end) {
    unsigned count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        size_t n = strlen(e->d_name);
        count += n > strlen(end) && strcmp(e->d_name + n - strlen(end), end) == 0;
    }
    closedir(dir);
    return count;
}

static int fresh(void **state) {
    (void)state;
    strcpy(folder, "/tmp/hangdog-held-XXXXXX");
    if (mkdtemp(folder) == NULL || (run = calloc(1, sizeof *run)) == NULL) {
        return -1;
    }
    memset(&turns, 0, sizeof turns);
    memset(&record, 0, sizeof record);
    publisher = (struct hd_publisher){
        .run = run,
        .turns = &turns,
        .code = {.pool = &turns.pool, .modules = &modules, .scripts = &scripts, .executable = ""},
        .scratch = calloc(1, hd_report_scratch_bytes())};
    run->record = &record;
    run->settings.deferred = true;
    run->settings.reports_per_day = run->settings.reports_per_fingerprint = UINT32_MAX;
    hd_modules_init_live(&modules, -1);
    hd_turns_init(&turns);
    assert_int_equal(hd_spool_open(&p->spool, folder), 0);
    return 0;
}

static int clean(void **state) {
    (void)state;
    hd_os.clock = true_clock;
    hd_os.wall_clock = true_wall_clock;
    hd_spool_close(&p->spool);
    free(p->scratch);
    free(run);
    return folder_remove(folder);
}

static struct hd_turn *begun(uint64_t number) {
    struct hd_turn *h = &turns.turn[0];
    *h = (struct hd_turn){.used = true,
                          .report = {.opened = true},
                          .state = HANGDOG_STATE_FOREGROUND,
                          .times = {.start_ns = number * HANG_NS, .duration_ns = HANG_NS / 2}};
    hd_uuid_make(h->report.id, number * HANG_NS);
    hd_tree_init(&h->samples.tree, &turns.pool);
    return h;
}

/* Published while it lasts, and at its end. */
static void run_to_end(struct hd_turn *h) {
    hd_publish(p, h, &facts, false);
    h->times.duration_ns = HANG_NS;
    hd_publish(p, h, &facts, true);
    hd_tree_free(&h->samples.tree);
    h->used = false;
}

/* All hangs are in one function. */
static void hang(uint64_t number) {
    static const struct hd_frame frame = {.pc = 0x1010, .start = 0x1000};
    struct hd_turn *h = begun(number);
    hd_tree_charge(&h->samples.tree, hd_tree_add(&h->samples.tree, &frame, 1, h->times.start_ns),
                   h->times.duration_ns);
    run_to_end(h);
}

static void hangs(void) {
    for (unsigned i = 0; i < HANGS; i++) {
        hang(i + 1);
    }
    assert_int_equal(atomic_load(&record.hangs.count), HANGS);
    assert_int_equal(atomic_load(&record.losses.suppressed), HANGS - HD_DEFERRED_MAX);
    assert_int_equal(atomic_load(&record.losses.suppressed_ns), (HANGS - HD_DEFERRED_MAX) * HANG_NS);
    assert_int_equal(atomic_load(&record.losses.suppressed_max_ns), HANG_NS);
}

static void what_is_not_remembered_is_counted_and_none_of_it_stays(void **state) {
    (void)state;
    hangs();
    assert_int_equal(files(".held"), HD_DEFERRED_MAX);
    hd_publish_void(p, 0, 0);
    assert_int_equal(files(".held"), 0);
    assert_int_equal(files(".json"), 0);
    hang(HANGS + 1); /* there is room again */
    assert_int_equal(files(".held"), 1);
}

static void what_is_remembered_is_shown_when_its_loop_is_sure(void **state) {
    (void)state;
    hangs();
    hd_publish_certain(p, 0, 0);
    assert_int_equal(files(".held"), 0);
    assert_int_equal(files(".json"), HD_DEFERRED_MAX);
}

/* ---- of one kind ---------------------------------------------------------------------------------- */

#define BURST 3u

static uint64_t clock_ns;

static int fake_clock(int clock, struct timespec *time) {
    (void)clock;
    *time = (struct timespec){.tv_sec = (time_t)(clock_ns / HD_NS_PER_S),
                              .tv_nsec = (long)(clock_ns % HD_NS_PER_S)};
    return 0;
}

/* Has `count` more hangs. Returns how many of them readers see. */
static unsigned shown(unsigned count) {
    static uint64_t number;
    unsigned before = files(".json");
    for (unsigned i = 0; i < count; i++) {
        hang(++number);
    }
    return files(".json") - before;
}

static void of_one_kind_some_are_shown_and_one_more_every_ten_minutes(void **state) {
    (void)state;
    clock_ns = 7 * HD_NS_PER_S;
    hd_os.clock = fake_clock;
    run->settings.deferred = false;
    run->settings.reports_per_fingerprint = BURST;
    assert_int_equal(shown(BURST + 2), BURST);
    clock_ns += 600 * HD_NS_PER_S - 1;
    assert_int_equal(shown(1), 0);
    clock_ns += 1;
    assert_int_equal(shown(2), 1);
    clock_ns += 2 * 600 * HD_NS_PER_S + 300 * HD_NS_PER_S; /* and half of a token, which is kept */
    assert_int_equal(shown(4), 2);
    clock_ns += 300 * HD_NS_PER_S;
    assert_int_equal(shown(2), 1);
    clock_ns += 24 * 3600 * HD_NS_PER_S; /* however long it was quiet */
    assert_int_equal(shown(BURST + 2), BURST);
    assert_int_equal(atomic_load(&record.losses.suppressed), 2 + 1 + 1 + 2 + 1 + 2);
}

static void without_a_stack_none_is_of_anothers_kind(void **state) {
    (void)state;
    run->settings.deferred = false;
    run->settings.reports_per_fingerprint = 1;
    run->settings.reports_per_day = 4;
    for (unsigned i = 0; i < 6; i++) {
        run_to_end(begun(i + 1));
    }
    assert_int_equal(files(".json"), 4);
    assert_int_equal(atomic_load(&record.losses.suppressed), 2); /* by the day's cap */
}

/* Reports that the spool's limit has removed count for the day, too. */
static void a_small_spool_does_not_lift_the_cap_of_a_day(void **state) {
    (void)state;
    run->settings.deferred = false;
    run->settings.reports_per_day = 3;
    p->spool.max_reports = 2;
    for (unsigned i = 0; i < 10; i++) {
        p->caps.day_checked_ns = 0;
        hang(i + 1);
    }
    assert_int_equal(files(".json"), 2);
    assert_int_equal(p->spool.dropped, 1);
    assert_int_equal(atomic_load(&record.losses.suppressed), 7);
}

static void suppressed_or_withdrawn_reports_do_not_count_for_the_day(void **state) {
    (void)state;
    run->settings.deferred = false;
    run->settings.reports_per_day = 2;
    run->settings.reports_per_fingerprint = 1;
    assert_int_equal(shown(4), 1);
    hd_publish(p, begun(HANGS), &facts, false);
    assert_int_equal(files(".json"), 2);
    hd_publish_withdraw(p, &turns.turn[0]);
    assert_int_equal(files(".json"), 1);
    run->settings.reports_per_fingerprint = UINT32_MAX;
    assert_int_equal(shown(2), 1);
    assert_int_equal(atomic_load(&record.losses.suppressed), 3 + 1);
}

static void deferred_reports_of_no_loop_do_not_count_for_the_day(void **state) {
    (void)state;
    run->settings.reports_per_day = 1;
    hang(1);
    hd_publish_void(p, 0, 0);
    hang(2);
    assert_int_equal(files(".held"), 1);
}

/* Ahead of the true clock, which dates files, by the time of the other clock. */
static int fake_wall_clock(uint64_t *ns) {
    int r = true_wall_clock(ns);
    *ns += clock_ns;
    return r;
}

/* The worker counts the day's reports again and again; the program is not started anew. */
static void the_cap_of_a_day_is_over_when_the_day_is(void **state) {
    (void)state;
    clock_ns = 1;
    hd_os.clock = fake_clock;
    hd_os.wall_clock = fake_wall_clock;
    run->settings.deferred = false;
    run->settings.reports_per_day = 2;
    for (unsigned i = 0; i < 3; i++) {
        hang(i + 1);
    }
    assert_int_equal(files(".json"), 2);
    clock_ns += 61 * HD_NS_PER_S;
    hang(4);
    assert_int_equal(files(".json"), 2);
    clock_ns += 24 * 3600 * HD_NS_PER_S;
    hang(5);
    assert_int_equal(files(".json"), 3);
    assert_int_equal(atomic_load(&record.losses.suppressed), 2);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fresh, clean)
    const struct CMUnitTest tests[] = {
        CASE(what_is_not_remembered_is_counted_and_none_of_it_stays),
        CASE(what_is_remembered_is_shown_when_its_loop_is_sure),
        CASE(of_one_kind_some_are_shown_and_one_more_every_ten_minutes),
        CASE(without_a_stack_none_is_of_anothers_kind),
        CASE(a_small_spool_does_not_lift_the_cap_of_a_day),
        CASE(the_cap_of_a_day_is_over_when_the_day_is),
        CASE(suppressed_or_withdrawn_reports_do_not_count_for_the_day),
        CASE(deferred_reports_of_no_loop_do_not_count_for_the_day),
    };
    hd_os_clock_init();
    true_clock = hd_os.clock;
    true_wall_clock = hd_os.wall_clock;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
