/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/live/motion.h"

#define RAN_NS 50000000 /* the kernel writes a running thread's time anew within that */

static sem_t woken, done;
static atomic_int tid, stop;

/* The thread waits, then runs. */
static void *work(void *unused) {
    (void)unused;
    atomic_store(&tid, (int)syscall(SYS_gettid));
    sem_post(&done);
    sem_wait(&woken);
    sem_post(&done);
    while (!atomic_load(&stop)) {
    }
    return NULL;
}

/* A report of that thread, which is in `function`. */
static json_t *report_in(const char *function) {
    return json_pack("{s:[{s:i, s:{s:[{s:s}]}}]}", "threads", "tid", atomic_load(&tid), "stack", "frames",
                     "function", function);
}

static void assert_motion(const char *want, const struct motion *before, int proc, const char *function) {
    struct motion now;
    json_t *report = report_in(function);
    motion_take(&now, proc, report);
    motion_add(before, &now, report);
    const json_t *thread = json_array_get(json_object_get(report, "threads"), 0);
    assert_string_equal(want, json_string_value(json_object_get(thread, "motion")));
    motion_free(&now);
    json_decref(report);
}

static void wait_until_asleep(int proc) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "self/task/%d/stat", atomic_load(&tid));
    while (strstr(text, ") S") == NULL) {
        int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
        close(fd);
    }
}

/* The clock of the other thread counts its time on a CPU only. */
static void wait_until_it_ran(pthread_t thread) {
    struct timespec start, now;
    clockid_t clock;
    assert_int_equal(0, pthread_getcpuclockid(thread, &clock));
    clock_gettime(clock, &start);
    do {
        usleep(1000);
        clock_gettime(clock, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < RAN_NS);
}

static void a_thread_is_parked_or_spins_or_moves(void **state) {
    (void)state;
    pthread_t thread;
    struct motion before;
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), own = openat(proc, "self", O_RDONLY);
    sem_init(&woken, 0, 0);
    sem_init(&done, 0, 0);
    assert_int_equal(0, pthread_create(&thread, NULL, work, NULL));
    sem_wait(&done);
    wait_until_asleep(proc);
    json_t *report = report_in("wait");
    motion_take(&before, own, report);
    assert_motion("parked", &before, own, "wait");
    motion_free(&before);
    sem_post(&woken);
    sem_wait(&done);
    motion_take(&before, own, report);
    wait_until_it_ran(thread);
    assert_motion("spinning", &before, own, "wait");
    assert_motion("moving", &before, own, "another");
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    motion_free(&before);
    json_decref(report);
    close(own);
    close(proc);
}

static void a_thread_without_an_earlier_look_has_no_word(void **state) {
    (void)state;
    struct motion before = {0}, now;
    int own = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    atomic_store(&tid, (int)syscall(SYS_gettid));
    json_t *report = report_in("wait");
    motion_take(&now, own, report);
    motion_add(&before, &now, report);
    assert_null(json_object_get(json_array_get(json_object_get(report, "threads"), 0), "motion"));
    motion_free(&now);
    json_decref(report);
    close(own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_is_parked_or_spins_or_moves),
        cmocka_unit_test(a_thread_without_an_earlier_look_has_no_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
