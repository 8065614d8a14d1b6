/* SPDX-License-Identifier: MIT
 *
 * The spool's limits, and what a report's age is: also on machines whose clock is set back, or that do not
 * keep the time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "os/os.h"
#include "record/uuid.h"
#include "report/spool.h"
#include "report/spool_files.h"

#define NS_PER_DAY (86400 * HD_NS_PER_S)
#define TODAY (20000 * NS_PER_DAY) /* in 2024 */
#define MONTH (30 * NS_PER_DAY)

static char folder[64];
static struct hd_spool spool;
static struct hd_report_scratch *scratch;
static struct hd_os_calls real;
static uint64_t now_ns; /* by the machine's clock */

static int clock_of_the_test(uint64_t *ns) {
    *ns = now_ns;
    return 0;
}

/* ---- reports ------------------------------------------------------------------------------ */

/* Of a process of its own: an id is made by the clock, and not one after those before it. */
static void make_id(uint8_t id[HD_UUID_BYTES]) {
    static uint8_t count;
    uint64_t ms = now_ns / HD_NS_PER_MS;
    memset(id, 0, HD_UUID_BYTES);
    for (unsigned i = 0; i < 6; i++) {
        id[i] = (uint8_t)(ms >> (40 - 8 * i));
    }
    id[6] = 0x70;
    id[7] = count++;
}

static void path_of(char path[160], const uint8_t id[HD_UUID_BYTES]) {
    char name[HD_SPOOL_NAME_BYTES];
    hd_spool_name(name, id, HD_SPOOL_REPORT);
    snprintf(path, 160, "%s/%s", folder, name);
}

/* The file system goes by the machine's clock. */
static void date(const uint8_t id[HD_UUID_BYTES], uint64_t wall_ns) {
    char path[160];
    struct timespec at = {.tv_sec = (time_t)(wall_ns / HD_NS_PER_S), .tv_nsec = wall_ns % HD_NS_PER_S};
    struct timespec times[2] = {at, at};
    path_of(path, id);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static struct hd_report write_as(const uint8_t id[HD_UUID_BYTES]) {
    struct hd_report r = {.started_wall_ns = now_ns, .cpu_percent = -1};
    memcpy(r.id, id, sizeof r.id);
    assert_int_equal(hd_spool_write(&spool, &r, scratch, false), 0);
    date(r.id, now_ns);
    now_ns += HD_NS_PER_S;
    return r;
}

static struct hd_report write_one(void) {
    uint8_t id[HD_UUID_BYTES];
    make_id(id);
    return write_as(id);
}

static bool exists(const struct hd_report *r) {
    char path[160];
    path_of(path, r->id);
    return access(path, F_OK) == 0;
}

static unsigned left(const struct hd_report *r, unsigned count) {
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++) {
        n += exists(&r[i]);
    }
    return n;
}

static uint32_t of_the_last_day(void) {
    uint32_t count = 99;
    assert_int_equal(hd_spool_count_last(&spool, NS_PER_DAY, &count), 0);
    return count;
}

static int fresh(void **state) {
    (void)state;
    strcpy(folder, "/tmp/hangdog-spool-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(hd_spool_open(&spool, folder), 0);
    now_ns = TODAY;
    hd_os.wall_clock = clock_of_the_test;
    return 0;
}

static int clean(void **state) {
    (void)state;
    hd_os = real;
    hd_spool_close(&spool);
    return folder_remove(folder);
}

/* ---- limits ------------------------------------------------------------------------------- */

static void the_oldest_go_first_and_are_counted(void **state) {
    (void)state;
    struct hd_report r[100];
    for (int i = 0; i < 100; i++) {
        r[i] = write_one();
    }
    spool.max_reports = 10; /* a limit that was lowered: more than one walk's worth has to go */
    struct hd_report last = write_one();
    assert_int_equal(spool.dropped, 91);
    assert_int_equal(left(r, 100), 9);
    assert_int_equal(left(r + 91, 9), 9);
    assert_true(exists(&last));
}

static void ids_of_one_clock_tick_are_in_order(void **state) {
    (void)state;
    struct hd_report r[10];
    spool.max_reports = 0;
    for (int i = 0; i < 10; i++) {
        r[i] = write_one();
    }
    for (int i = 0; i < 10; i++) {
        date(r[i].id, TODAY);
    }
    spool.max_reports = 5;
    write_one();
    assert_int_equal(left(r, 6), 0);
    assert_int_equal(left(r + 6, 4), 4);
}

static void keeps_to_the_limit_of_bytes_and_keeps_the_newest(void **state) {
    (void)state;
    char path[160];
    struct stat st;
    struct hd_report r[10], first = write_one();
    path_of(path, first.id);
    assert_int_equal(stat(path, &st), 0);
    spool.max_bytes = (uint64_t)st.st_size * 3 + 10;
    for (int i = 0; i < 10; i++) {
        r[i] = write_one();
    }
    assert_int_equal(left(r, 10), 3);
    assert_int_equal(spool.dropped, 8);
    spool.max_bytes = 1;
    struct hd_report last = write_one();
    assert_int_equal(left(r, 10), 0);
    assert_true(exists(&last));
}

static void who_asks_for_nothing_gets_limits(void **state) {
    (void)state;
    struct hd_spool other;
    memset(&other, 0, sizeof other);
    assert_int_equal(hd_spool_open(&other, folder), 0);
    assert_int_equal(other.max_reports, 500);
    assert_int_equal(other.max_bytes, 256 << 20);
    hd_spool_close(&other);
}

static void room_is_made_for_one(void **state) {
    (void)state;
    struct hd_report r[5];
    for (int i = 0; i < 5; i++) {
        r[i] = write_one();
    }
    spool.max_reports = 5;
    hd_spool_make_room(&spool);
    assert_int_equal(spool.dropped, 1);
    assert_int_equal(left(r + 1, 4), 4);
    write_one();
    assert_int_equal(spool.dropped, 1);
    spool.max_reports = 1; /* there is none for it beside another */
    hd_spool_make_room(&spool);
    assert_int_equal(left(r, 5), 0);
    assert_int_equal(spool.dropped, 5);
}

/* ---- a folder that users share ------------------------------------------------------------ */

static bool is_others(const char *name) {
    return strstr(name, "1.json") != NULL;
}

static int stat_shared(int dir, const char *path, void *to, int flags) {
    struct stat *st = to;
    int r = real.stat_at(dir, path, st, flags);
    if (S_ISDIR(st->st_mode)) {
        st->st_mode |= S_ISVTX;
    }
    st->st_uid += S_ISDIR(st->st_mode) || is_others(path) ? 2 : 1; /* we are not root */
    return r;
}

static int unlink_own(int dir, const char *path) {
    return is_others(path) ? -EPERM : real.unlink_at(dir, path);
}

static void where_each_removes_only_his_own_the_limits_are_his_own(void **state) {
    (void)state;
    struct hd_report others[40], own[6];
    uint8_t id[HD_UUID_BYTES];
    for (int i = 0; i < 40; i++) {
        make_id(id);
        id[15] = 1;
        others[i] = write_as(id);
    }
    hd_os.stat_at = stat_shared;
    hd_os.unlink_at = unlink_own;
    spool.max_reports = 3;
    for (int i = 0; i < 6; i++) {
        own[i] = write_one();
    }
    assert_int_equal(spool.error, 0);
    assert_int_equal(left(own, 6), 3);
    assert_int_equal(left(own + 3, 3), 3);
    assert_int_equal(left(others, 40), 40);
    hd_spool_close(&spool);
    assert_int_equal(hd_spool_open(&spool, folder), 0); /* by who has not written yet */
    spool.max_reports = 3;
    hd_spool_make_room(&spool);
    assert_int_equal(left(own, 6), 2);
}

/* ---- time --------------------------------------------------------------------------------- */

static void reports_of_the_last_day_are_counted(void **state) {
    (void)state;
    write_one();
    now_ns += NS_PER_DAY - HD_NS_PER_S;
    write_one();
    write_one();
    assert_int_equal(of_the_last_day(), 2);
}

/* Neither as long as they are there, nor when they went for the limits. */
static void of_the_last_days_reports_sessions_are_none(void **state) {
    (void)state;
    uint8_t id[HD_UUID_BYTES];
    for (int i = 0; i < 3; i++) {
        hd_uuid_make_session(id, now_ns);
        write_as(id);
    }
    write_one();
    assert_int_equal(of_the_last_day(), 1);
    spool.max_reports = 2;
    write_one();
    assert_int_equal(spool.dropped, 3);
    assert_int_equal(of_the_last_day(), 2);
}

static void after_the_clock_was_set_back_what_is_still_to_come_is_not_of_the_last_day(void **state) {
    (void)state;
    now_ns = TODAY + MONTH;
    for (int i = 0; i < 5; i++) {
        write_one();
    }
    now_ns = TODAY;
    assert_int_equal(of_the_last_day(), 0);
    write_one();
    assert_int_equal(of_the_last_day(), 1);
}

/* A file system's clock may be another machine's, and a clock that is put right moves by seconds. */
static void some_lead_is_none(void **state) {
    (void)state;
    struct hd_report r = write_one();
    date(r.id, now_ns + 60 * HD_NS_PER_S);
    assert_int_equal(of_the_last_day(), 1);
}

static void a_machine_that_begins_in_1970_counts_its_reports(void **state) {
    (void)state;
    write_one();
    now_ns = 10 * HD_NS_PER_S;
    assert_int_equal(of_the_last_day(), 0);
    write_one();
    write_one();
    assert_int_equal(of_the_last_day(), 2);
}

/* A full spool of a time that is still to come: a new report does not take the place of the one before it. */
static void after_the_clock_was_set_back_new_reports_stay_and_old_ones_go(void **state) {
    (void)state;
    struct hd_report ahead[10], new[15];
    spool.max_reports = 10;
    now_ns = TODAY + MONTH;
    for (int i = 0; i < 10; i++) {
        ahead[i] = write_one();
    }
    now_ns = TODAY;
    for (int i = 0; i < 4; i++) {
        new[i] = write_one();
    }
    assert_int_equal(left(new, 4), 4);
    assert_int_equal(left(ahead, 10), 6);
    assert_int_equal(left(ahead + 4, 6), 6); /* of those too the oldest go first */
    for (int i = 4; i < 15; i++) {
        new[i] = write_one();
    }
    assert_int_equal(left(ahead, 10), 0);
    assert_int_equal(left(new, 5), 0);
    assert_int_equal(left(new + 5, 10), 10);
}

/* A process makes ids that go on from the one before, whatever the clock does. */
static void a_process_that_sees_the_clock_set_back_keeps_its_new_reports_too(void **state) {
    (void)state;
    struct hd_report old[10], new[3];
    uint8_t id[HD_UUID_BYTES];
    spool.max_reports = 10;
    for (int i = 0; i < 10; i++) {
        old[i] = write_one();
    }
    now_ns += MONTH;
    make_id(id);
    now_ns -= MONTH;
    for (int i = 0; i < 3; i++) {
        id[8]++;
        new[i] = write_as(id);
    }
    assert_int_equal(left(new, 3), 3);
    assert_int_equal(left(old, 3), 0);
    now_ns += 60 * HD_NS_PER_S;
    struct hd_report others = write_one(); /* another process's, whose ids are the clock's */
    struct hd_report again = write_one();
    assert_true(exists(&others) && exists(&again));
    assert_int_equal(left(new, 3), 3);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fresh, clean)
    const struct CMUnitTest tests[] = {
        CASE(the_oldest_go_first_and_are_counted),
        CASE(ids_of_one_clock_tick_are_in_order),
        CASE(keeps_to_the_limit_of_bytes_and_keeps_the_newest),
        CASE(who_asks_for_nothing_gets_limits),
        CASE(room_is_made_for_one),
        CASE(where_each_removes_only_his_own_the_limits_are_his_own),
        CASE(reports_of_the_last_day_are_counted),
        CASE(of_the_last_days_reports_sessions_are_none),
        CASE(after_the_clock_was_set_back_what_is_still_to_come_is_not_of_the_last_day),
        CASE(some_lead_is_none),
        CASE(a_machine_that_begins_in_1970_counts_its_reports),
        CASE(after_the_clock_was_set_back_new_reports_stay_and_old_ones_go),
        CASE(a_process_that_sees_the_clock_set_back_keeps_its_new_reports_too),
    };
    hd_os_clock_init();
    real = hd_os;
    scratch = malloc(hd_report_scratch_bytes());
    int failed = scratch == NULL ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
    free(scratch);
    return failed;
}
