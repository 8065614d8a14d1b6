/* SPDX-License-Identifier: MIT
 *
 * The thread that receives Mach exceptions. The crashed thread waits in the kernel for the answer, and cannot
 * run any code. So this thread stores its registers, wakes the worker, and waits for the report.
 */
#include "crash/darwin/mach_exceptions.h"

#include <signal.h>
#include <stdatomic.h>

#include "capture/darwin/registers.h"
#include "crash/crash.h"
#include "os/os.h"

#define NAP_NS (1 * HD_NS_PER_MS)
#define INVALID_ADDRESS 1 /* the kernel's error of an access to memory that is not there */

static _Atomic hd_port own_port; /* 0: no thread receives */

/* Returns the signal that the kernel makes of the exception. */
static int signal_of(const struct hd_mach_exception *e) {
    switch (e->type) {
    case HD_MACH_BAD_ACCESS:
        return e->code[0] == INVALID_ADDRESS ? SIGSEGV : SIGBUS;
    case HD_MACH_BAD_INSTRUCTION:
        return SIGILL;
    case HD_MACH_ARITHMETIC:
        return SIGFPE;
    default:
        return SIGTRAP;
    }
}

/* Returns false if the thread has ended, or if another crash came first. */
static bool store(const struct hd_mach_exception *e) {
    uint32_t none = HD_CRASH_NONE;
    struct hd_mach_registers registers;
    struct hd_mach_thread thread;
    if (hd_mach.registers(e->thread, &registers) != 0 || hd_mach.thread(e->thread, &thread) != 0 ||
        !atomic_compare_exchange_strong(&hd_crash.phase, &none, HD_CRASH_STORING)) {
        return false;
    }
    hd_crash.thread = hd_thread_id_of(thread.id);
    hd_crash.signal = signal_of(e);
    hd_crash.code = 1;
    hd_crash.address = e->type == HD_MACH_BAD_ACCESS ? (uint64_t)e->code[1] : registers.pc;
    hd_crash.at_ns = hd_os_now_ns();
    hd_registers_store(&hd_crash.regs, &registers);
    atomic_store_explicit(&hd_crash.phase, HD_CRASH_STORED, memory_order_release);
    return true;
}

static void wait_for_report(void) {
    uint64_t until_ns = hd_os_now_ns() + HD_CRASH_WAIT_NS;
    _Atomic uint32_t *wake = atomic_load(&hd_crash_wake);
    if (wake == NULL) {
        return;
    }
    atomic_fetch_add(wake, 1);
    hd_os.futex_wake((uint32_t *)wake, INT32_MAX, false);
    while (atomic_load(&hd_crash.phase) != HD_CRASH_WRITTEN && hd_os_now_ns() < until_ns) {
        hd_os_nap(NAP_NS);
    }
}

/* The ports are restored before the answer: the kernel then finds the receiver that was there before us. The
 * signal that follows meets our handler, which knows of the crash and lets it happen. */
static void *receive(void *unused) {
    struct hd_mach_exception e;
    (void)unused;
    hd_port port = atomic_load(&own_port);
    while (hd_mach_exception_calls.receive(port, &e) == 0) {
        if (store(&e)) {
            wait_for_report();
        }
        hd_mach_exception_calls.restore();
        hd_mach_exception_calls.refuse(&e);
        hd_mach.release(e.thread);
    }
    return NULL;
}

int hd_mach_exceptions_begin(void) {
    hd_port port = 0;
    int rc = hd_mach_exception_calls.take(&port);
    if (rc != 0) {
        return rc;
    }
    atomic_store(&own_port, port);
    rc = hd_os_thread_start_shared(receive, NULL);
    if (rc != 0) {
        hd_mach_exceptions_end();
    }
    return rc;
}

void hd_mach_exceptions_end(void) {
    hd_port port = atomic_exchange(&own_port, 0);
    if (port != 0) {
        hd_mach_exception_calls.restore();
        hd_mach_exception_calls.close(port);
    }
}
