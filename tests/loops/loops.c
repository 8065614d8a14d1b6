/* SPDX-License-Identifier: MIT
 *
 * The cases of docs/loops.md, for the loop of loops.h.
 */
#include "loops.h"

#include <dirent.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_WAITS /* the main thread is watched from the start to the stop, whatever its loop */
#include "hangdog/waits.h"
#define hangdog_start hangdog_waits_start
#define hangdog_stop() (hangdog_waits_stop(), 0)
#define WATCHES_WAITS true
#else
#define WATCHES_WAITS false
#endif

#define BLOCK_MS 500
#define NOT_POSSIBLE 77
#define TURNS 20000 /* or as the environment has it */
#define ROUNDS 7
#ifdef TEXTBOOK
#define PATIENCE 100 /* of 10 ms: no report comes */
#else
#define PATIENCE 3000
#endif

static unsigned hangs; /* that the case makes */

static void sleep_ms(unsigned ms) {
    struct timespec rest = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&rest, NULL);
}

static uint64_t now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The reports name this function. Prints how long the block took. */
__attribute__((noinline)) static void block(void) {
    uint64_t started = now_ns(CLOCK_MONOTONIC);
    sleep_ms(BLOCK_MS);
    printf("%lu\n", (unsigned long)(now_ns(CLOCK_MONOTONIC) - started));
}

static struct call call_of(void (*run)(struct loop *, void *), void *argument) {
    return (struct call){run, argument};
}

static void quit(struct loop *loop, void *argument) {
    (void)argument;
    loop_quit(loop);
}

static void block_and_quit(struct loop *loop, void *argument) {
    (void)argument;
    block();
    loop_after(loop, 100, call_of(quit, NULL));
}

/* ---- the cases of one loop --------------------------------------------------------------------------- */

static int ends[2]; /* of a pipe */

static void send(struct loop *loop, void *argument) {
    (void)loop;
    (void)argument;
    if (write(ends[1], "", 1) != 1) {
        exit(1);
    }
}

static void receive(struct loop *loop, void *argument) {
    char byte;
    if (read(ends[0], &byte, 1) != 1) {
        exit(1);
    }
    block_and_quit(loop, argument);
}

static void in_io(struct loop *loop) {
    loop_on_input(loop, ends[0], call_of(receive, NULL));
    loop_after(loop, 100, call_of(send, NULL));
}

static void in_timer(struct loop *loop) {
    loop_after(loop, 100, call_of(block_and_quit, NULL));
}

static void start_idle(struct loop *loop, void *argument) {
    (void)argument;
    loop_on_idle(loop, call_of(block_and_quit, NULL));
}

static void in_idle(struct loop *loop) {
    loop_after(loop, 100, call_of(start_idle, NULL));
}

static void block_only(struct loop *loop, void *argument) {
    (void)loop;
    (void)argument;
    block();
}

/* The nested loop waits for longer than the threshold, before its hang and after it. */
static void nest(struct loop *loop, void *argument) {
    (void)argument;
    loop_after(loop, 400, call_of(block_only, NULL));
    loop_after(loop, 1300, call_of(quit, NULL));
    loop_run(loop);
    loop_after(loop, 400, call_of(quit, NULL));
}

static void in_nested(struct loop *loop) {
    if (loop_never_nests != NULL) {
        puts(loop_never_nests);
        exit(NOT_POSSIBLE);
    }
    loop_after(loop, 100, call_of(nest, NULL));
}

struct start {
    void (*run)(struct loop *loop);
};

static void start(struct loop *loop, void *argument) {
    ((struct start *)argument)->run(loop);
}

/* A callback prepares the case, so that the loop waits once before: else a block is a slow launch. A loop
 * that is found by its waits is known a little later. */
static void run(const char *name, void (*prepare)(struct loop *)) {
    struct start first = {prepare};
    struct loop *loop = loop_make(name);
    loop_after(loop, WATCHES_WAITS ? 1000 : 50, call_of(start, &first));
    loop_run(loop);
    loop_free(loop);
}

/* ---- two loops ----------------------------------------------------------------------------------------- */

static void later(struct loop *loop) {
    loop_after(loop, 300, call_of(block_and_quit, NULL));
}

static void *second(void *unused) {
    (void)unused;
    run("second", later);
    return NULL;
}

static void run_two(void) {
    pthread_t thread;
    if (WATCHES_WAITS) {
        puts("only the main thread is watched");
        exit(NOT_POSSIBLE);
    }
    hangs = 2;
    if (pthread_create(&thread, NULL, second, NULL) != 0) {
        exit(1);
    }
    run("main", in_timer);
    pthread_join(thread, NULL);
}

/* ---- wake-ups ------------------------------------------------------------------------------------------ */

/* How often the threads of the process but this one have waited for something. */
static unsigned long switches(void) {
    DIR *tasks = opendir("/proc/self/task");
    unsigned long sum = 0;
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char path[64], line[128];
        if (task->d_name[0] == '.' || strtol(task->d_name, NULL, 10) == (long)gettid()) {
            continue;
        }
        snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task->d_name);
        FILE *status = fopen(path, "re");
        while (status != NULL && fgets(line, sizeof line, status) != NULL) {
            if (strncmp(line, "voluntary_ctxt_switches:", 24) == 0) {
                sum += strtoul(line + 24, NULL, 10);
            }
        }
        if (status != NULL) {
            fclose(status);
        }
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return sum;
}

/* Prints the least of eight figures: a busy machine starts a program late. */
static void *count(void *unused) {
    unsigned long least = ~0UL;
    (void)unused;
    for (unsigned i = 0; i < 8 && least > 0; i++) {
        sleep_ms(1000);
        unsigned long before = switches();
        sleep_ms(2000);
        unsigned long counted = switches() - before;
        least = counted < least ? counted : least;
    }
    printf("%lu\n", least);
    exit(0);
}

static void wait_long(struct loop *loop) {
    loop_after(loop, 60000, call_of(quit, NULL));
}

static void run_quiet(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, count, NULL) != 0) {
        exit(1);
    }
    run("main", wait_long);
}

/* ---- the cost of a turn ---------------------------------------------------------------------------------
 */

static unsigned turns;

static unsigned turns_of_round(void) {
    static unsigned count;
    const char *given = getenv("TURNS");
    count = count > 0 ? count : given != NULL ? (unsigned)strtoul(given, NULL, 10) : TURNS;
    return count > 0 ? count : 1;
}

static void pass_on(struct loop *loop, void *argument) {
    char byte;
    (void)argument;
    if (read(ends[0], &byte, 1) != 1) {
        exit(1);
    }
    if (++turns < turns_of_round()) {
        send(loop, NULL);
    } else {
        loop_quit(loop);
    }
}

static uint64_t turn_ns(const char *name) {
    struct loop *loop = loop_make(name);
    turns = 0;
    loop_on_input(loop, ends[0], call_of(pass_on, NULL));
    send(loop, NULL);
    uint64_t started = now_ns(CLOCK_THREAD_CPUTIME_ID);
    loop_run(loop);
    uint64_t took = now_ns(CLOCK_THREAD_CPUTIME_ID) - started;
    loop_free(loop);
    return took / turns_of_round();
}

static int by_size(const void *a, const void *b) {
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

/* Prints the CPU time that a watch adds to a turn, how far apart the rounds are, and the time of a turn that
 * is not watched, in nanoseconds. The first is a median; the second is without the two farthest rounds. */
static void run_cost(void) {
    int64_t added[ROUNDS], plain[ROUNDS];
    if (WATCHES_WAITS) {
        puts("the watch lasts as long as the program");
        exit(NOT_POSSIBLE);
    }
    hangs = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        int64_t watched = (int64_t)turn_ns("main");
        plain[i] = (int64_t)turn_ns(NULL);
        added[i] = watched - plain[i];
    }
    qsort(added, ROUNDS, sizeof *added, by_size);
    qsort(plain, ROUNDS, sizeof *plain, by_size);
    printf("%ld %ld %ld\n", (long)added[ROUNDS / 2], (long)(added[ROUNDS - 2] - added[1]),
           (long)plain[ROUNDS / 2]);
}

/* ---- main ---------------------------------------------------------------------------------------------- */

static void run_case(const char *name) {
    static const struct {
        const char *name;
        void (*prepare)(struct loop *);
        void (*run)(void);
    } cases[] = {{"io", in_io, NULL},         {"timer", in_timer, NULL}, {"idle", in_idle, NULL},
                 {"nested", in_nested, NULL}, {"two", NULL, run_two},    {"quiet", NULL, run_quiet},
                 {"cost", NULL, run_cost}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, name) == 0 && cases[i].run != NULL) {
            cases[i].run();
            return;
        }
        if (strcmp(cases[i].name, name) == 0) {
            hangs = 1;
            run("main", cases[i].prepare);
            return;
        }
    }
    exit(2);
}

int main(int argc, char **argv) {
    hangdog_options options = {.size = sizeof options, .spool = argc == 3 ? argv[2] : NULL};
    hangdog_totals totals = {.size = sizeof totals};
    options.threshold_ns[HANGDOG_STATE_FOREGROUND] = 250000000;
    if (argc != 3 || pipe(ends) != 0 || hangdog_start(&options) != 0) {
        return 2;
    }
    run_case(argv[1]);
    for (unsigned i = 0; i < PATIENCE && hangdog_stats(&totals) == 0 && totals.reports_written < hangs; i++) {
        sleep_ms(10); /* a stop on a busy machine may leave a report unfinished */
    }
    return hangdog_stop() == 0 ? 0 : 1;
}
