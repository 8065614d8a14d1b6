/* SPDX-License-Identifier: MIT
 *
 * How a run ended, by what the dead process left; its open hang becomes a fatal one; its record outlives it
 * in the spool.
 *
 * sources: src/publish/darwin/life.c
 * sources: src/publish/darwin/run_end.c
 * sources: src/publish/darwin/fatal_report.c
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "os/darwin/mach.h"
#include "os/darwin/system_state.h"
#include "os/darwin/system_values.h"
#include "publish/darwin/fatal_report.h"
#include "publish/darwin/run_end.h"
#include "publish/life.h"
#include "record/uuid.h"
#include "report/spool_files.h"

/* ---- the system ----------------------------------------------------------------------------------- */

static const char *boot = "BOOT-1", *pressure;
static uint64_t footprint = 100, remaining = 900;
static bool traced;
static void (*pressed)(void);

static int read_task(struct hd_mach_task *out) {
    *out = (struct hd_mach_task){.footprint_bytes = footprint, .limit_remaining_bytes = remaining};
    return 0;
}

struct hd_mach_calls hd_mach = {.task = read_task};

void hd_system_text(const char *name, char *text, size_t size) {
    (void)snprintf(text, size, "%s", strcmp(name, "kern.bootsessionuuid") == 0 ? boot : "");
}

bool hd_system_has_debugger(void) {
    return traced;
}

const char *hd_system_memory_pressure(void) {
    return pressure;
}

void hd_system_state_start(void (*changed)(void)) {
    pressed = changed;
}

/* ---- how a run ended ------------------------------------------------------------------------------ */

static struct hd_record was;
static struct hd_life_values of, now;

static int reset(void **state) {
    (void)state;
    memset(&was, 0, sizeof was);
    memset(&of, 0, sizeof of);
    (void)snprintf(of.boot, sizeof of.boot, "B");
    (void)snprintf(of.os_version, sizeof of.os_version, "iOS 17");
    (void)snprintf(of.app_version, sizeof of.app_version, "1.0");
    now = of;
    atomic_store(&was.turns.foreground_since_ns, 1);
    return 0;
}

#define ASSERT_END(word) assert_string_equal(hd_run_end(&was, &of, &now), word)

static void the_first_reason_that_applies_is_the_end(void **state) {
    (void)state;
    ASSERT_END("killed");
    atomic_store(&was.turns.foreground_since_ns, 0);
    ASSERT_END("unknown");
    atomic_store(&of.pressed, true);
    ASSERT_END("unknown"); /* in the background the system needs no reason */
    atomic_store(&was.turns.foreground_since_ns, 1);
    ASSERT_END("out-of-memory");
    atomic_store(&was.open.state, HD_RECORD_HANG_ENDED);
    ASSERT_END("out-of-memory");
    atomic_store(&was.open.state, HD_RECORD_HANG_LASTS);
    ASSERT_END("fatal-hang");
    now.build_id[3] = 1;
    ASSERT_END("upgrade");
    now.boot[0] = 'C';
    ASSERT_END("reboot");
    now.os_version[5] = '8';
    ASSERT_END("system-upgrade");
    atomic_store(&of.debugger, true);
    ASSERT_END("debugger");
    atomic_store(&was.status.end, HD_RECORD_STOPPED);
    ASSERT_END("clean");
    atomic_store(&of.crashed, true);
    ASSERT_END("crash");
}

static void memory_near_its_limit_is_a_reason(void **state) {
    (void)state;
    atomic_store(&of.footprint_bytes, 949);
    atomic_store(&of.limit_remaining_bytes, 51);
    ASSERT_END("killed");
    atomic_store(&of.footprint_bytes, 1950);
    ASSERT_END("out-of-memory");
    atomic_store(&of.limit_remaining_bytes, 0); /* no limit is known */
    ASSERT_END("killed");
    atomic_store(&of.footprint_bytes, UINT64_MAX - 5); /* the sum is too large */
    atomic_store(&of.limit_remaining_bytes, 6);
    ASSERT_END("killed");
    now.app_version[0] = '2';
    ASSERT_END("upgrade");
}

/* ---- the report of a fatal hang ------------------------------------------------------------------- */

static char folder[] = "/tmp/hangdog-life-XXXXXX";
static int dir_fd;
static const uint8_t id[HD_UUID_BYTES] = {1, 2, 3};

static int open_folder(void **state) {
    (void)reset(state);
    memcpy(strrchr(folder, '-'), "-XXXXXX", 8);
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    dir_fd = open(folder, O_RDONLY | O_DIRECTORY);
    return dir_fd < 0;
}

static int remove_folder(void **state) {
    (void)state;
    (void)close(dir_fd);
    return folder_remove(folder);
}

static void put_file(enum hd_spool_file what, const char *text) {
    char name[HD_SPOOL_NAME_BYTES];
    hd_spool_name(name, id, what);
    int fd = openat(dir_fd, name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

static const char *get_file(const char *name) {
    static char text[1 << 16];
    int fd = openat(dir_fd, name, O_RDONLY);
    long n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    text[n > 0 ? n : 0] = '\0';
    (void)close(fd);
    return fd >= 0 ? text : NULL;
}

static const char *get_report(enum hd_spool_file what) {
    char name[HD_SPOOL_NAME_BYTES];
    hd_spool_name(name, id, what);
    return get_file(name);
}

#define HEAD \
    "{\"format\":\"hangdog-report/1\",\"id\":\"01\",\"kind\":\"%s\",\"started_at\":\"now\",\"duration_ns\":%s"
#define REST ",\"complete\":%s,\"app\":{\"kind\":\"hang\",\"duration_ns\":7}}\n"

static void an_open_hang_becomes_a_fatal_one(void **state) {
    char before[400], after[400];
    (void)state;
    (void)snprintf(before, sizeof before, HEAD REST, "hang", "2000000000", "false");
    (void)snprintf(after, sizeof after, HEAD REST, "fatal-hang", "34000000005", "false");
    put_file(HD_SPOOL_REPORT, before);
    put_file(HD_SPOOL_OPEN, "12345678");
    assert_int_equal(hd_fatal_report_finish(dir_fd, id, 34000000005), 0);
    assert_string_equal(get_report(HD_SPOOL_REPORT), after);
    assert_null(get_report(HD_SPOOL_OPEN));
    assert_null(get_report(HD_SPOOL_TEMP));
    /* a report that knows of a longer time keeps it */
    assert_int_equal(hd_fatal_report_finish(dir_fd, id, 5), 0);
    assert_string_equal(get_report(HD_SPOOL_REPORT), after);
}

static void a_long_report_is_copied_whole(void **state) {
    static char before[20000];
    (void)state;
    int n = snprintf(before, sizeof before, HEAD ",\"complete\":false,\"x\":\"", "launch", "1");
    for (int i = n; i < (int)sizeof before - 3; i++) {
        before[i] = (char)('a' + i % 26);
    }
    memcpy(before + sizeof before - 3, "}\n", 3);
    put_file(HD_SPOOL_REPORT, before);
    assert_int_equal(hd_fatal_report_finish(dir_fd, id, 12), 0);
    const char *after = get_report(HD_SPOOL_REPORT);
    assert_int_equal(strlen(after), strlen(before) + strlen("fatal-hang") - strlen("launch") + 1);
    assert_string_equal(strstr(after, "\"x\""), strstr(before, "\"x\""));
}

static void other_files_stay_as_they_are(void **state) {
    static const char *const texts[] = {"",
                                        "{",
                                        "{\"kind\":\"hang\",\"complete\":false}",
                                        "{\"kind\":\"hang\",\"duration_ns\":5,\"complete\":true}",
                                        "{\"duration_ns\":5,\"kind\":\"hang\",\"complete\":false}",
                                        "{\"kind\":\"",
                                        "{\"kind\":\"hang\",\"complete\":false,\"duration_ns\":5}",
                                        "{\"complete\":false"};
    (void)state;
    assert_int_equal(hd_fatal_report_finish(dir_fd, id, 5), -ENOENT);
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        put_file(HD_SPOOL_REPORT, texts[i]);
        assert_int_equal(hd_fatal_report_finish(dir_fd, id, 5), -EINVAL);
        assert_string_equal(get_report(HD_SPOOL_REPORT), texts[i]);
        assert_null(get_report(HD_SPOOL_TEMP));
    }
}

/* ---- a run after a dead one ----------------------------------------------------------------------- */

#define LIFE_BYTES 16384

/* Starts a run as the worker does. The record is at an address of whole pages. */
static struct hd_publisher *start_run(uint8_t session) {
    static struct hd_publisher p;
    static struct hd_app app = {.name = "Shop", .version = "1.0"};
    static struct hd_host host = {.os_version = "iOS 17"};
    static struct hd_run *run;
    static uint8_t *memory;
    if (run == NULL) {
        run = calloc(1, sizeof *run);
    }
    memory = mmap(NULL, 2 * LIFE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    run->record =
        (struct hd_record *)(void *)(((uintptr_t)memory + LIFE_BYTES - 1) & ~(uintptr_t)(LIFE_BYTES - 1));
    run->record->magic = HD_RECORD_MAGIC;
    run->record->bytes = sizeof *run->record;
    run->record->options.session[0] = session;
    run->record->options.started_ns = 1000;
    (void)snprintf(run->record->options.app_name, sizeof run->record->options.app_name, "Shop");
    atomic_store(&run->record->turns.foreground_since_ns, 1);
    free(p.scratch);
    p = (struct hd_publisher){.run = run, .app = &app, .host = &host};
    p.scratch = calloc(1, hd_report_scratch_bytes());
    app.pid = getpid();
    assert_int_equal(hd_spool_open(&p.spool, folder), 0);
    hd_life_start(&p);
    return &p;
}

/* Runs a process that is killed. */
static void die(void (*live)(struct hd_publisher *p), uint8_t session) {
    pid_t child = fork();
    if (child == 0) {
        live(start_run(session));
        (void)kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void live_in_a_hang(struct hd_publisher *p) {
    struct hd_record *r = p->run->record;
    char text[400];
    (void)snprintf(text, sizeof text, HEAD REST, "hang", "2000000000", "false");
    put_file(HD_SPOOL_REPORT, text);
    put_file(HD_SPOOL_OPEN, "12345678");
    memcpy(r->open.hang_id, id, sizeof id);
    atomic_store(&r->open.duration_ns, 9000000000);
    atomic_store(&r->status.alive_ns, 60000001000);
    atomic_store(&r->turns.histogram[3], 5);
    atomic_store(&r->open.state, HD_RECORD_HANG_LASTS);
}

static void live_under_pressure(struct hd_publisher *p) {
    (void)p;
    pressure = "critical";
    pressed();
}

static void live_in_peace(struct hd_publisher *p) {
    (void)p;
}

static void live_to_a_stop(struct hd_publisher *p) {
    hd_life_end();
    atomic_store(&p->run->record->status.end, HD_RECORD_STOPPED);
}

static void live_to_a_crash(struct hd_publisher *p) {
    (void)p;
    hd_life_store_crash();
}

static const char *session_report(void) {
    DIR *dir = opendir(folder);
    const char *found = NULL;
    for (struct dirent *e; found == NULL && (e = readdir(dir)) != NULL;) {
        const char *text = hd_spool_what(e->d_name) == HD_SPOOL_REPORT ? get_file(e->d_name) : NULL;
        found = text != NULL && strstr(text, "\"kind\":\"session\"") != NULL ? text : NULL;
    }
    (void)closedir(dir);
    return found;
}

static void a_dead_runs_hang_and_session_are_finished(void **state) {
    (void)state;
    die(live_in_a_hang, 1);
    assert_string_equal(start_run(2)->previous_end, "fatal-hang");
    hd_life_end();
    assert_non_null(strstr(get_report(HD_SPOOL_REPORT), "\"kind\":\"fatal-hang\""));
    assert_non_null(strstr(get_report(HD_SPOOL_REPORT), "\"duration_ns\":9000000000"));
    assert_null(get_report(HD_SPOOL_OPEN));
    const char *session = session_report();
    assert_non_null(session);
    assert_non_null(strstr(session, "\"end\":\"fatal-hang\""));
    assert_non_null(strstr(session, "\"used_ns\":60000000000"));
    assert_non_null(strstr(session, "\"turns\":5"));
}

static void each_end_is_known_at_the_next_start(void **state) {
    static const struct {
        void (*live)(struct hd_publisher *p);
        const char *end;
    } ends[] = {{live_in_peace, "killed"},
                {live_under_pressure, "out-of-memory"},
                {live_to_a_stop, "clean"},
                {live_to_a_crash, "crash"}};
    (void)state;
    assert_null(start_run(1)->previous_end); /* the first run of all */
    hd_life_end();
    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        die(ends[i].live, (uint8_t)(10 + i));
        assert_string_equal(start_run((uint8_t)(20 + i))->previous_end, ends[i].end);
        hd_life_end();
    }
    boot = "BOOT-2";
    die(live_in_peace, 30);
    boot = "BOOT-3";
    assert_string_equal(start_run(31)->previous_end, "reboot");
    hd_life_end();
}

/* A second process of the same name leaves the file to the first. */
static void a_living_runs_file_is_not_touched(void **state) {
    (void)state;
    struct hd_publisher *p = start_run(1);
    struct hd_record *r = p->run->record;
    pid_t child = fork();
    if (child == 0) {
        _exit(start_run(2)->previous_end != NULL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(r->options.session[0], 1);
    hd_life_end();
}

/* A stop and a new start in the same process: the record is zeroed and filled in the mapped file. */
static void a_runs_own_file_is_no_dead_run(void **state) {
    (void)state;
    struct hd_publisher *p = start_run(1);
    hd_life_end();
    p->run->record->options.session[0] = 2; /* the new run's, in the file of the old one */
    assert_null(start_run(2)->previous_end);
    hd_life_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_first_reason_that_applies_is_the_end, reset),
        cmocka_unit_test_setup(memory_near_its_limit_is_a_reason, reset),
        cmocka_unit_test_setup_teardown(an_open_hang_becomes_a_fatal_one, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_long_report_is_copied_whole, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(other_files_stay_as_they_are, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_dead_runs_hang_and_session_are_finished, open_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(each_end_is_known_at_the_next_start, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_living_runs_file_is_not_touched, open_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_runs_own_file_is_no_dead_run, open_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
