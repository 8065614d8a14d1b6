/* SPDX-License-Identifier: MIT
 *
 * What watching costs while nothing happens: wake-ups and CPU time of our threads while the loop waits, after
 * the monitor has parked; and wake-ups of the monitor for each tick of a loop that ticks ten times a second.
 * The peer is a watchdog that looks at a heartbeat twice a second, as the nearest one does, in the same
 * process at the same time.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bench.h"
#include "hangdog/hangdog.h"

#define PEER_PERIOD_NS (500 * BENCH_MS)
#define TICK_NS (100 * BENCH_MS)

static struct {
    _Atomic bool stop;
    _Atomic uint64_t heartbeat, wakeups, cpu_ns;
} peer;

static void *peer_run(void *arg) {
    (void)arg;
    uint64_t seen = 0;
    while (!atomic_load(&peer.stop)) {
        bench_sleep_ns(PEER_PERIOD_NS);
        uint64_t now = atomic_load(&peer.heartbeat);
        seen = now != seen ? now : seen;
        struct rusage usage;
        getrusage(RUSAGE_THREAD, &usage);
        atomic_store(&peer.wakeups, (uint64_t)usage.ru_nvcsw);
        atomic_store(&peer.cpu_ns, bench_thread_cpu_ns());
    }
    return NULL;
}

static void idle(uint64_t ns) {
    struct bench_threads before, after;
    bool there = bench_own_threads(&before);
    uint64_t peer_wakeups = atomic_load(&peer.wakeups), peer_cpu_ns = atomic_load(&peer.cpu_ns);
    bench_sleep_ns(ns); /* the loop's wait: marked as such */
    there = bench_own_threads(&after) && there && before.count == 2 && after.count == 2;
    double wakeups =
        (double)(after.monitor_waits - before.monitor_waits + after.worker_waits - before.worker_waits);
    double cpu_ns =
        (double)(after.monitor_cpu_ns - before.monitor_cpu_ns + after.worker_cpu_ns - before.worker_cpu_ns);
    if (!there) {
        fprintf(stderr, "hangdog-bench: idle: the library's two threads are not both there\n");
    }
    bench_report("idle.wakeups", wakeups, "count", 0, there && wakeups <= 0, "heartbeat poller, 500 ms",
                 (double)(atomic_load(&peer.wakeups) - peer_wakeups));
    bench_report("idle.cpu", cpu_ns, "ns", 0, there && cpu_ns <= 0, "heartbeat poller, 500 ms",
                 (double)(atomic_load(&peer.cpu_ns) - peer_cpu_ns));
}

static int ticking(hangdog_loop *loop, unsigned ticks) {
    struct itimerspec period = {.it_interval.tv_nsec = TICK_NS, .it_value.tv_nsec = TICK_NS};
    struct bench_threads before, after;
    uint64_t expired;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (timer < 0 || timerfd_settime(timer, 0, &period, NULL) != 0) {
        perror("hangdog-bench: idle: timerfd");
        return 1;
    }
    bench_own_threads(&before);
    for (unsigned i = 0; i < ticks; i++) {
        if (read(timer, &expired, sizeof expired) != sizeof expired) {
            perror("hangdog-bench: idle: read of a timerfd");
            close(timer);
            return 1;
        }
        hangdog_after_wait(loop);
        atomic_fetch_add(&peer.heartbeat, 1);
        hangdog_before_wait(loop);
    }
    bench_own_threads(&after);
    close(timer);
    double wakeups = (double)(after.monitor_waits - before.monitor_waits) / ticks;
    bench_report("idle.ticking", wakeups, "per tick", 2, wakeups <= 2, NULL, 0);
    bench_report("idle.ticking-cpu", (double)(after.monitor_cpu_ns - before.monitor_cpu_ns) / 1000 / ticks,
                 "us per tick", NAN, true, NULL, 0);
    return 0;
}

int bench_idle(void) {
    char folder[BENCH_PATH];
    pthread_t thread;
    if (bench_folder_make(folder) != 0) {
        return 1;
    }
    hangdog_loop *loop = bench_watch(folder, 0);
    int rc = loop == NULL || pthread_create(&thread, NULL, peer_run, NULL) != 0;
    if (rc == 0) {
        bench_sleep_ns(PEER_PERIOD_NS + 200 * BENCH_MS); /* the peer has told its first figures */
        idle(bench_options.fast ? 3 * BENCH_S : 10 * BENCH_S);
        rc = ticking(loop, bench_options.fast ? 30 : 100);
        atomic_store(&peer.stop, true);
        pthread_join(thread, NULL);
    }
    hangdog_stop();
    bench_folder_remove(folder);
    return rc;
}
