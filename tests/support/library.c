/* SPDX-License-Identifier: MIT
 *
 * Spool, loop and blocks of the library's tests.
 */
#include "library.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

/* ---- time ----------------------------------------------------------------------------------------- */

uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static uint64_t wall_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

void nap_ms(uint64_t ms) {
    struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * MS)};
    while (nanosleep(&t, &t) != 0 && errno == EINTR) {
    }
}

void spin_ms(uint64_t ms) {
    uint64_t end = now_ns() + ms * MS;
    while (now_ns() < end) {
    }
}

bool wait_for(bool (*condition)(void *), void *arg) {
    uint64_t end = now_ns() + (SLOW ? 180 : 60) * SECOND;
    while (!condition(arg)) {
        if (now_ns() > end) {
            return false;
        }
        nap_ms(2);
    }
    return true;
}

unsigned entries_of(const char *folder) {
    unsigned count = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        count += e->d_name[0] != '.';
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

static bool has_threads(void *count) {
    return entries_of("/proc/self/task") <= *(unsigned *)count;
}

void assert_threads(unsigned count) {
    assert_true(wait_for(has_threads, &count));
}

/* ---- the spool ------------------------------------------------------------------------------------ */

void spool_make(struct spool *s) {
    snprintf(s->path, sizeof s->path, "/tmp/hangdog-test-XXXXXX");
    assert_non_null(mkdtemp(s->path));
    s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(s->fd >= 0);
}

void spool_open(struct spool *s, const char *path) {
    snprintf(s->path, sizeof s->path, "%s", path);
    s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(s->fd >= 0);
}

void spool_remove(struct spool *s) {
    DIR *dir = fdopendir(s->fd);
    if (dir != NULL) {
        rewinddir(dir);
        for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
            unlinkat(dirfd(dir), e->d_name, 0);
        }
        closedir(dir);
    }
    rmdir(s->path);
    s->fd = -1;
}

static bool is_report(const char *name) {
    size_t n = strlen(name);
    return name[0] != '.' && n > 5 && strcmp(name + n - 5, ".json") == 0;
}

size_t spool_count(const struct spool *s) {
    _Alignas(8) char buf[4096];
    size_t count = 0;
    if (lseek(s->fd, 0, SEEK_SET) != 0) {
        return 0;
    }
    for (long n; (n = syscall(SYS_getdents64, s->fd, buf, sizeof buf)) > 0;) {
        for (long at = 0; at < n;) {
            unsigned short length;
            memcpy(&length, buf + at + 16, sizeof length); /* linux_dirent64: ino, off, reclen, type, name */
            count += is_report(buf + at + 19);
            at += length;
        }
    }
    return count;
}

static int by_id(const void *a, const void *b) {
    return strcmp(report_text(*(json_t *const *)a, "id"), report_text(*(json_t *const *)b, "id"));
}

static size_t load_all(const struct spool *s, json_t **reports, size_t most) {
    size_t count = 0;
    DIR *dir = opendir(s->path);
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL && count < most;) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", s->path, e->d_name);
        json_t *report = is_report(e->d_name) ? json_load_file(path, 0, NULL) : NULL;
        if (report != NULL) {
            reports[count++] = report;
        }
    }
    closedir(dir);
    qsort(reports, count, sizeof(json_t *),
          by_id); // NOLINT(bugprone-sizeof-expression): an array of pointers
    return count;
}

/* "ran on a CPU for 98% of the time": the part in nanoseconds. */
static double part_of(const char *detail, double ns) {
    const char *percent = detail != NULL ? strstr(detail, "% of the time") : NULL;
    size_t digits = 0;
    while (percent != NULL && percent - detail > (ptrdiff_t)digits &&
           percent[-1 - (ptrdiff_t)digits] >= '0' && percent[-1 - (ptrdiff_t)digits] <= '9') {
        digits++;
    }
    return digits > 0 ? strtod(percent - digits, NULL) / 100 * ns : 0;
}

/* No part of a hang exceeds it. */
static void assert_parts_fit(const json_t *report) {
    const json_t *cause = json_object_get(report, "cause");
    double ns = (double)report_ns(report, "duration_ns");
    double parts[] = {
        part_of(report_text(cause, "detail"), ns),
        (double)json_integer_value(json_object_get(cause, "run_delay_ns")),
        (double)json_integer_value(json_object_get(cause, "throttled_ns")),
        (double)json_integer_value(json_object_get(json_object_get(report, "hot_stack"), "duration_ns"))};
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i] > ns + 1e6) {
            print_error("%.0f ns of %.0f ns: %s\n", parts[i], ns, report_text(cause, "detail"));
            fail();
        }
    }
}

json_t *spool_reports(const struct spool *s, const char *kind, bool complete) {
    json_t *all[256], *array = json_array();
    size_t count = load_all(s, all, sizeof all / sizeof all[0]);
    for (size_t i = 0; i < count; i++) {
        const char *its = report_text(all[i], "kind");
        bool wanted = kind != NULL ? strcmp(its, kind) == 0 : strcmp(its, "session") != 0;
        if (wanted && (!complete || json_is_true(json_object_get(all[i], "complete")))) {
            if (strcmp(its, "session") != 0 && json_is_true(json_object_get(all[i], "complete"))) {
                assert_parts_fit(all[i]);
            }
            json_array_append(array, all[i]);
        }
        json_decref(all[i]);
    }
    return array;
}

/* Of more than `count`, those of a thread that got no processor go: true hangs, which no test made. */
static unsigned ignored;

static void print_ignored(void) {
    fprintf(stderr, "ignored in this program: %u\n", ignored);
}

static void drop_starved(json_t *reports, size_t count) {
    for (size_t i = 0; i < json_array_size(reports) && json_array_size(reports) > count;) {
        if (strcmp(report_cause(json_array_get(reports, i)), "starved") == 0) {
            if (ignored++ == 0) {
                atexit(print_ignored);
            }
            print_message("ignored: a hang that the machine made, with cause starved\n");
            json_array_remove(reports, i);
        } else {
            i++;
        }
    }
}

void spool_expect(const struct spool *s, size_t count) {
    json_t *reports = spool_reports(s, NULL, false);
    drop_starved(reports, count);
    assert_int_equal(json_array_size(reports), count);
    json_decref(reports);
}

struct expected {
    const struct spool *spool;
    const char *kind;
    size_t count;
    json_t *found;
    uint64_t came_ns;
};

/* One that is starved may be the machine's, and the test's own still to come: for a second. */
static bool has_come(void *arg) {
    struct expected *e = arg;
    size_t starved = 0;
    json_decref(e->found);
    e->found = spool_reports(e->spool, e->kind, true);
    for (size_t i = 0; i < json_array_size(e->found); i++) {
        starved += strcmp(report_cause(json_array_get(e->found, i)), "starved") == 0;
    }
    if (json_array_size(e->found) < e->count) {
        return false;
    }
    e->came_ns = e->came_ns != 0 ? e->came_ns : now_ns();
    return json_array_size(e->found) - starved >= e->count || now_ns() > e->came_ns + SECOND;
}

json_t *spool_wait(const struct spool *s, const char *kind, size_t count) {
    struct expected e = {.spool = s, .kind = kind, .count = count};
    if (!wait_for(has_come, &e)) {
        fail_msg("waited for %zu reports of kind %s, %zu are there", count, kind != NULL ? kind : "any",
                 json_array_size(e.found));
    }
    drop_starved(e.found, count);
    assert_int_equal(json_array_size(e.found), count);
    return e.found;
}

void assert_near(uint64_t reported_ns, uint64_t truth_ns) {
    assert_between(reported_ns, (struct between){truth_ns, truth_ns});
}

void assert_between(uint64_t reported_ns, struct between truth) {
    uint64_t off = reported_ns > truth.most_ns    ? reported_ns - truth.most_ns
                   : reported_ns < truth.least_ns ? truth.least_ns - reported_ns
                                                  : 0;
    if (off > (SLOW ? 1500 : 60) * MS + truth.least_ns / 40) {
        fail_msg("told %.1f ms, truly %.1f to %.1f ms", (double)reported_ns / MS, (double)truth.least_ns / MS,
                 (double)truth.most_ns / MS);
    }
}

static bool has_one(void *s) {
    return spool_count(s) > 0;
}

void spool_wait_for_one(const struct spool *s) {
    assert_true(wait_for(has_one, (void *)(uintptr_t)s));
}

uint64_t report_ns(const json_t *report, const char *key) {
    const json_t *value = json_object_get(report, key);
    assert_true(json_is_integer(value));
    return (uint64_t)json_integer_value(value);
}

const char *report_text(const json_t *report, const char *key) {
    const char *text = json_string_value(json_object_get(report, key));
    return text != NULL ? text : "";
}

const char *report_cause(const json_t *report) {
    return report_text(json_object_get(report, "cause"), "kind");
}

uint64_t report_started_ns(const json_t *report) {
    struct tm t = {0};
    unsigned long ns = 0;
    int n = sscanf(report_text(report, "started_at"), "%d-%d-%dT%d:%d:%d.%9luZ", &t.tm_year, &t.tm_mon,
                   &t.tm_mday, &t.tm_hour, &t.tm_min, &t.tm_sec, &ns);
    assert_int_equal(n, 7);
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    return (uint64_t)timegm(&t) * SECOND + ns;
}

static int first_bias(struct dl_phdr_info *info, size_t size, void *bias) {
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr; /* the program itself comes first */
    return 1;
}

bool report_guesses(const json_t *report) {
#if defined(__SANITIZE_ADDRESS__)
    const json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
    for (size_t i = 0; i < json_array_size(frames); i++) {
        if (strcmp(report_text(json_array_get(frames, i), "trust"), "scan") == 0) {
            return true;
        }
    }
#else
    (void)report;
#endif
    return false;
}

bool report_blames(const json_t *report, void (*function)(uint64_t)) {
    uint64_t bias = 0;
    dl_iterate_phdr(first_bias, &bias);
    uint64_t wanted = (uint64_t)(uintptr_t)function - bias;
    const json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const char *start = report_text(json_array_get(frames, i), "start");
        if (start[0] != '\0' && strtoull(start, NULL, 16) == wanted) {
            return true;
        }
    }
    return report_guesses(report);
}

/* ---- start ---------------------------------------------------------------------------------------- */

static int sync_at_once(int fd) {
    (void)fd;
    return 0;
}

void library_quick_disk(void) {
    hd_os.fsync = sync_at_once;
}

hangdog_options library_options(const struct spool *s) {
    hangdog_options o = {.size = sizeof o,
                         .app_name = "library-test",
                         .spool = s->path,
                         .interval_ns = INTERVAL_MS * MS,
                         .reports_per_day = UINT32_MAX,
                         .reports_per_fingerprint = UINT32_MAX};
    for (unsigned i = 0; i < HANGDOG_STATES; i++) {
        o.threshold_ns[i] = THRESHOLD_MS * MS;
    }
    return o;
}

void library_start(const struct spool *s) {
    hangdog_options o = library_options(s);
    assert_int_equal(hangdog_start(&o), 0);
}

/* ---- a loop --------------------------------------------------------------------------------------- */

static void run_posted(struct looper *l) {
    uint64_t value;
    (void)!read(l->event_fd, &value, sizeof value);
    pthread_mutex_lock(&l->lock);
    void (*call)(uint64_t) = l->call;
    uint64_t argument = l->argument;
    l->call = NULL;
    pthread_mutex_unlock(&l->lock);
    if (call == NULL) {
        return;
    }
    uint64_t wall = wall_ns(), begin = now_ns();
    call(argument);
    uint64_t took = now_ns() - begin;
    pthread_mutex_lock(&l->lock);
    l->took_ns = took;
    l->began_wall_ns = wall;
    pthread_mutex_unlock(&l->lock);
}

/* What was posted is done once the loop waits again: only then has its turn ended. */
static void *run_loop(void *arg) {
    struct looper *l = arg;
    l->loop = hangdog_loop_watch(l->name, l->threshold_ns);
    for (unsigned ran = 0;;) {
        struct epoll_event event;
        hangdog_before_wait(l->loop);
        pthread_mutex_lock(&l->lock);
        l->done = ran;
        bool leave = l->leave;
        pthread_cond_broadcast(&l->changed);
        pthread_mutex_unlock(&l->lock);
        int n = leave ? 0 : epoll_wait(l->epoll_fd, &event, 1, -1);
        hangdog_after_wait(l->loop);
        if (leave) {
            break;
        }
        if (n > 0) {
            pthread_mutex_lock(&l->lock);
            ran = l->posted;
            pthread_mutex_unlock(&l->lock);
            run_posted(l);
        }
    }
    hangdog_loop_unwatch(l->loop);
    return NULL;
}

void looper_start(struct looper *l, const char *name, uint64_t threshold_ns) {
    *l = (struct looper){.name = name, .threshold_ns = threshold_ns, .posted = 1};
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    l->event_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    assert_int_equal(epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->event_fd, &event), 0);
    assert_int_equal(pthread_create(&l->thread, NULL, run_loop, l), 0);
    looper_wait(l);
}

void looper_post(struct looper *l, void (*call)(uint64_t), uint64_t argument) {
    pthread_mutex_lock(&l->lock);
    l->call = call;
    l->argument = argument;
    l->posted++;
    pthread_mutex_unlock(&l->lock);
    uint64_t one = 1;
    assert_int_equal(write(l->event_fd, &one, sizeof one), sizeof one);
}

void looper_wait(struct looper *l) {
    pthread_mutex_lock(&l->lock);
    while (l->done != l->posted) {
        pthread_cond_wait(&l->changed, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
}

uint64_t looper_call(struct looper *l, void (*call)(uint64_t), uint64_t argument) {
    looper_post(l, call, argument);
    looper_wait(l);
    return l->took_ns;
}

void looper_stop(struct looper *l) {
    pthread_mutex_lock(&l->lock);
    l->leave = true;
    pthread_mutex_unlock(&l->lock);
    uint64_t one = 1;
    assert_int_equal(write(l->event_fd, &one, sizeof one), sizeof one);
    assert_int_equal(pthread_join(l->thread, NULL), 0);
    close(l->event_fd);
    close(l->epoll_fd);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->changed);
}

/* ---- a test's set-up ------------------------------------------------------------------------------ */

struct spool spool;
struct looper looper;

int begin_spool(void **state) {
    (void)state;
    spool_make(&spool);
    return 0;
}

int begin_library(void **state) {
    begin_spool(state);
    library_start(&spool);
    return 0;
}

int end_library(void **state) {
    (void)state;
    hangdog_stop();
    spool_remove(&spool);
    return 0;
}

/* ---- blocks --------------------------------------------------------------------------------------- */

__attribute__((noinline)) void block_sleep(uint64_t ms) {
    nap_ms(ms);
    __asm__ volatile(""); /* no tail call: the function stays on the stack */
}

__attribute__((noinline)) void block_sleep_other(uint64_t ms) {
    nap_ms(ms);
    __asm__ volatile("nop");
}

__attribute__((noinline)) void block_spin(uint64_t ms) {
    spin_ms(ms);
    __asm__ volatile("");
}
