/* SPDX-License-Identifier: MIT
 *
 * What a thread of Darwin waits for: the call by the code of its stub, the lock and its owner by the call's
 * arguments and one word of memory, the file or peer by a descriptor. Fakes stand for the kernel and the
 * images.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cause/darwin/wait_call.h"
#include "cause/deadlock.h"
#include "cause/pressure.h"
#include "cause/probe.h"
#include "cause/rows.h"
#include "cause/weighing.h"
#include "os/darwin/mach.h"
#include "os/darwin/open_file.h"
#include "os/darwin/syscall_number.h"
#include "os/darwin/system_values.h"
#include "os/syscall_table.h"

/* ---- fakes -------------------------------------------------------------------------------------- */

#define MEMORY 0x100000u
static uint8_t memory[8192];

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t n) {
    (void)ctx;
    if (addr < MEMORY || n > sizeof memory || addr - MEMORY > sizeof memory - n) {
        return -EFAULT;
    }
    memcpy(dst, memory + (addr - MEMORY), n);
    return 0;
}

static void put(uint64_t addr, const void *bytes, size_t n) {
    memcpy(memory + (addr - MEMORY), bytes, n);
}

static struct {
    const char *path;
    uint64_t lo;
} images[] = {{"/usr/lib/system/libsystem_kernel.dylib", 0x200000},
              {"/usr/lib/system/libsystem_pthread.dylib", 0x210000},
              {"/usr/lib/system/libsystem_platform.dylib", 0x220000},
              {"/usr/lib/system/libdispatch.dylib", 0x230000},
              {"/System/Library/Frameworks/AppKit.framework/Versions/C/AppKit", 0x250000},
              {"/Applications/My.app/Contents/MacOS/My", 0x240000}};
#define PTHREAD_CODE 0x210100u
#define PLATFORM_CODE 0x220100u
#define DISPATCH_CODE 0x230100u
#define APPKIT_CODE 0x250100u
#define OWN_CODE 0x240100u

static int find_image(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path, size_t size) {
    (void)m;
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        if (pc - images[i].lo < 0x10000) {
            out->lo = images[i].lo;
            out->hi = images[i].lo + 0x10000;
            if (path != NULL) {
                snprintf(path, size, "%s", images[i].path);
            }
            return 0;
        }
    }
    return -ENOENT;
}

static struct hd_mach_thread threads[4] = {
    {.id = 0x100000001, .handle = 0x70000}, {.id = 0x100000002, .handle = 0x80000}, {.id = 0x100000003}};
#define PORT(i) (0x1003u + 0x100u * (unsigned)(i))

static int fake_thread(hd_port port, struct hd_mach_thread *out) {
    for (unsigned i = 0; i < 3; i++) {
        if (port == PORT(i)) {
            *out = threads[i];
            return 0;
        }
    }
    return -ESRCH;
}

static struct hd_mach_task task;
static int fake_task(struct hd_mach_task *out) {
    *out = task;
    return 0;
}

struct hd_mach_calls hd_mach = {.thread = fake_thread, .task = fake_task};

static struct hd_open_file files[8];
void hd_open_file_read(int fd, struct hd_open_file *out) {
    *out = fd >= 0 && fd < 8 ? files[fd] : (struct hd_open_file){.kind = HD_OPEN_UNKNOWN};
}

void hd_system_process_name(int pid, char name[16]) {
    memcpy(name, pid == 8510 ? "sleep\0\0\0\0\0\0\0\0\0\0" : "0123456789abcdef", 16);
}

static struct hd_modules *modules;
static struct hd_probe_context *ctx;
static struct hd_probe probe;

static int start(void **state) {
    (void)state;
    modules = calloc(1, sizeof *modules);
    ctx = calloc(1, sizeof *ctx);
    assert_non_null(modules);
    assert_non_null(ctx);
    modules->memory = (struct hd_memory){.read = read_memory};
    modules->find = find_image;
    hd_probe_context_open(ctx);
    hd_probe_context_init(ctx, modules, HD_THREAD_ID_NONE);
    memset(memory, 0, sizeof memory);
    memset(files, 0, sizeof files);
    return 0;
}

static int stop(void **state) {
    (void)state;
    free(modules);
    free(ctx);
    return 0;
}

/* ---- stubs -------------------------------------------------------------------------------------- */

#define STUB (MEMORY + 0x800u) /* pc of a thread in a call */

/* Writes the stub of call `nr` for the CPU of this test before STUB. */
static void put_stub(int32_t nr) {
#ifdef __aarch64__
    uint32_t number = nr >= 0 ? (uint32_t)nr : (uint32_t)(-1 - nr);
    uint32_t code[2] = {(nr >= 0 ? 0xd2800010u : 0x92800010u) | number << 5, 0xd4001001u};
    put(STUB - sizeof code, code, sizeof code);
#else
    uint8_t bsd[10] = {0xb8, 0, 0, 0, 2, 0x49, 0x89, 0xca, 0x0f, 0x05};
    uint8_t mach[10] = {0x49, 0x89, 0xca, 0xb8, 0, 0, 0, 1, 0x0f, 0x05};
    uint8_t *code = nr >= 0 ? bsd : mach, *number = code + (nr >= 0 ? 1 : 4);
    uint32_t n = nr >= 0 ? (uint32_t)nr : (uint32_t)-nr;
    memcpy(number, &n, 3);
    put(STUB - 10, code, 10);
#endif
}

static struct hd_capture at_call(int32_t nr, uint64_t a, uint64_t b, uint64_t c) {
    put_stub(nr);
    return (struct hd_capture){
        .state = HD_RUN_BLOCKED, .regs.pc = STUB, .syscall_nr = HD_SYSCALL_NONE, .syscall_args = {a, b, c}};
}

/* Reads the probe of a thread in call `nr`, which code at `caller` makes. */
static void read_call(int32_t nr, uint64_t caller, uint64_t a, uint64_t b, uint64_t c) {
    struct hd_capture capture = at_call(nr, a, b, c);
    const struct hd_frame frames[] = {{.pc = STUB, .trust = HD_TRUST_CONTEXT},
                                      {.pc = caller, .start = caller, .trust = HD_TRUST_CFI}};
    hd_probe_read(ctx, hd_thread_id_self(), &capture, frames, 2, 0, &probe);
}

static struct hd_cause cause;
static void decide(void) {
    static struct hd_cause_sums sums;
    memset(&sums, 0, sizeof sums);
    probe.for_ns = HD_NS_PER_S;
    hd_cause_add(&sums, &probe);
    hd_cause_decide(&sums, &cause);
}

static void assert_cause(enum hd_cause_kind kind, const char *detail) {
    decide();
    assert_string_equal(cause.detail, detail);
    assert_int_equal(cause.kind, kind);
}

/* ---- the call ----------------------------------------------------------------------------------- */

static void reads_the_number_from_the_code_of_arm64(void **state) {
    (void)state;
    const uint8_t read_[10] = {0, 0, 0x70, 0x00, 0x80, 0xd2, 0x01, 0x10, 0x00, 0xd4}; /* mov x16, #3; svc */
    const uint8_t mach_msg2[10] = {0, 0, 0xd0, 0x05, 0x80, 0x92, 0x01, 0x10, 0x00, 0xd4}; /* #-47 */
    const uint8_t other[10] = {0, 0, 0x60, 0x00, 0x80, 0xd2, 0x01, 0x10, 0x00, 0xd4};     /* mov x0, #3 */
    const uint8_t no_call[10] = {0, 0, 0x70, 0x00, 0x80, 0xd2, 0xc0, 0x03, 0x5f, 0xd6};   /* ret */
    int32_t nr;
    assert_true(hd_wait_call_arm64(read_, &nr));
    assert_int_equal(nr, 3);
    assert_true(hd_wait_call_arm64(mach_msg2, &nr));
    assert_int_equal(nr, HD_DARWIN_MACH_MSG2);
    assert_true(hd_wait_call_arm64(other, &nr));
    assert_int_equal(nr, HD_SYSCALL_NONE);
    assert_false(hd_wait_call_arm64(no_call, &nr));
}

static void reads_the_number_from_the_code_of_x86_64(void **state) {
    (void)state;
    const uint8_t read_[10] = {0xb8, 3, 0, 0, 2, 0x49, 0x89, 0xca, 0x0f, 0x05};
    const uint8_t mach_msg[10] = {0x49, 0x89, 0xca, 0xb8, 31, 0, 0, 1, 0x0f, 0x05};
    const uint8_t other_class[10] = {0xb8, 3, 0, 0, 3, 0x49, 0x89, 0xca, 0x0f, 0x05};
    const uint8_t no_number[10] = {1, 2, 3, 4, 5, 0x49, 0x89, 0xca, 0x0f, 0x05};
    const uint8_t no_call[10] = {0xb8, 3, 0, 0, 2, 0x49, 0x89, 0xca, 0x0f, 0x0b};
    int32_t nr;
    assert_true(hd_wait_call_x86_64(read_, &nr));
    assert_int_equal(nr, 3);
    assert_true(hd_wait_call_x86_64(mach_msg, &nr));
    assert_int_equal(nr, HD_DARWIN_MACH_MSG);
    assert_true(hd_wait_call_x86_64(other_class, &nr));
    assert_int_equal(nr, HD_SYSCALL_NONE);
    assert_true(hd_wait_call_x86_64(no_number, &nr));
    assert_int_equal(nr, HD_SYSCALL_NONE);
    assert_false(hd_wait_call_x86_64(no_call, &nr));
}

static void only_a_blocked_thread_at_a_call_is_in_one(void **state) {
    (void)state;
    struct hd_capture c = at_call(3, 0, 0, 0);
    assert_int_equal(hd_probe_call(ctx, &c), 3);
    c.state = HD_RUN_RUNNING; /* x16 has the number of an earlier call */
    c.syscall_nr = 3;
    assert_int_equal(hd_probe_call(ctx, &c), HD_SYSCALL_NONE);
    c.state = HD_RUN_UNINTERRUPTIBLE;
    c.regs.pc = STUB + 64; /* a page fault: no call ends here */
    assert_int_equal(hd_probe_call(ctx, &c), HD_SYSCALL_NONE);
    c.regs.pc = 0x5000000; /* code that cannot be read: x16 has to do */
    assert_int_equal(hd_probe_call(ctx, &c), 3);
    c.regs.pc = 4;
    assert_int_equal(hd_probe_call(ctx, &c), HD_SYSCALL_NONE);
}

static void names_of_stubs_give_the_same_numbers(void **state) {
    static const struct {
        const char *stub;
        int32_t nr;
        enum hd_wait wait;
        const char *name;
    } cases[] = {{"read", 3, HD_WAIT_DESCRIPTOR, "read"},
                 {"__read_nocancel", 396, HD_WAIT_DESCRIPTOR, "read"},
                 {"__wait4", 7, HD_WAIT_CHILD, "wait4"},
                 {"__select", 93, HD_WAIT_ANY, "select"},
                 {"select$DARWIN_EXTSN$NOCANCEL", 93, HD_WAIT_ANY, "select"},
                 {"fsync$NOCANCEL", 408, HD_WAIT_FILE, "fsync"},
                 {"mach_msg2_trap", -47, HD_WAIT_ANY, "mach_msg2"},
                 {"semaphore_timedwait_trap", -38, HD_WAIT_LOCK, "semaphore_timedwait"},
                 {"_kernelrpc_mach_vm_map_trap", -15, HD_WAIT_MEMORY, "mach_vm_map"},
                 {"__psynch_mutexwait", 301, HD_WAIT_LOCK, "psynch_mutexwait"},
                 {"__ulock_wait2", 544, HD_WAIT_LOCK, "ulock_wait2"},
                 {"stat64", 338, HD_WAIT_FILE, "stat64"},
                 {"__getdirentries64", 344, HD_WAIT_FILE, "getdirentries-64"},
                 {"guarded_writev_np", 487, HD_WAIT_DESCRIPTOR, "guarded-writev_np"},
                 {"kevent_id", HD_DARWIN_KEVENT_ID, HD_WAIT_LOCK, "kevent-id"},
                 {"stat", 188, HD_WAIT_FILE, "stat"},
                 {"__semwait_signal", 334, HD_WAIT_TIME, "semwait_signal"},
                 {"swtch_pri", -59, HD_WAIT_OTHER, "swtch_pri"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(hd_syscall_of_stub(cases[i].stub), cases[i].nr);
        assert_int_equal(hd_syscall_wait(cases[i].nr), cases[i].wait);
        assert_string_equal(hd_syscall_name(cases[i].nr), cases[i].name);
    }
    assert_int_equal(hd_syscall_of_stub("mach_absolute_time"), HD_SYSCALL_NONE);
    assert_int_equal(hd_syscall_of_stub(""), HD_SYSCALL_NONE);
    assert_null(hd_syscall_name(12345));
    assert_int_equal(hd_syscall_wait(0), HD_WAIT_OTHER); /* no row has 0 as its second number */
}

/* ---- locks -------------------------------------------------------------------------------------- */

static void an_unfair_locks_word_names_its_owner(void **state) {
    (void)state;
    uint32_t word = PORT(0) & ~1u; /* a waiter clears the low bit */
    put(MEMORY + 0x40, &word, sizeof word);
    read_call(HD_DARWIN_ULOCK_WAIT2, PLATFORM_CODE, 0x01000002, MEMORY + 0x40, word);
    assert_int_equal(hd_evidence_lock(&probe)->owner.number, 0x100000001);
    assert_cause(HD_CAUSE_LOCK, "waited for an unfair lock held by thread 4294967297");
    assert_string_equal(hd_words_lock(cause.lock_kind), "unfair-lock");
    assert_int_equal(cause.lock_address, MEMORY + 0x40);

    word = PORT(1); /* the lock passes on, and the thread still waits */
    put(MEMORY + 0x40, &word, sizeof word);
    struct hd_capture c = at_call(HD_DARWIN_ULOCK_WAIT2, 0x01000002, MEMORY + 0x40, word);
    hd_probe_read_again(ctx, hd_thread_id_self(), &c, 0, &probe);
    assert_int_equal(hd_evidence_lock(&probe)->owner.number, 0x100000002);
    word = 0x7777; /* a port of no thread */
    put(MEMORY + 0x40, &word, sizeof word);
    hd_probe_read_again(ctx, hd_thread_id_self(), &c, 0, &probe);
    assert_cause(HD_CAUSE_LOCK, "waited for an unfair lock, owner unknown");
}

static void a_lock_that_cannot_be_read_has_no_owner(void **state) {
    (void)state;
    static const uint32_t words[] = {0, 1, 3, UINT32_MAX, UINT32_MAX & ~1u};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        put(MEMORY + 0x40, &words[i], sizeof words[i]);
        read_call(HD_DARWIN_ULOCK_WAIT, PLATFORM_CODE, 2, MEMORY + 0x40, words[i]);
        assert_true(hd_thread_id_is_none(hd_evidence_awaited_thread(&probe)));
    }
    read_call(HD_DARWIN_ULOCK_WAIT, PLATFORM_CODE, 2, 0xdeadbeef000, 0);
    assert_cause(HD_CAUSE_LOCK, "waited for an unfair lock, owner unknown");
    read_call(HD_DARWIN_PSYNCH_MUTEXWAIT, PTHREAD_CODE, UINT64_MAX - 3, 0, 0);
    assert_cause(HD_CAUSE_LOCK, "waited for a mutex, owner unknown");
}

static void a_mutex_stores_its_owners_id(void **state) {
    (void)state;
    uint64_t id = 0x300000009, switching = UINT64_MAX;
    put(MEMORY + 0x58, &id, sizeof id); /* a mutex at 0x40, and one at 0x3c that is not aligned */
    for (uint64_t mutex = MEMORY + 0x3c; mutex <= MEMORY + 0x40; mutex += 4) {
        read_call(HD_DARWIN_PSYNCH_MUTEXWAIT, PTHREAD_CODE, mutex, 0, 0);
        assert_cause(HD_CAUSE_LOCK, "waited for a mutex held by thread 12884901897");
    }
    read_call(HD_DARWIN_PSYNCH_RW_RDLOCK, PTHREAD_CODE, MEMORY + 0x40, 0, 0);
    assert_cause(HD_CAUSE_LOCK, "waited for a read-write lock held for writing by thread 12884901897");
    put(MEMORY + 0x58, &switching, sizeof switching);
    read_call(HD_DARWIN_PSYNCH_RW_WRLOCK, PTHREAD_CODE, MEMORY + 0x40, 0, 0);
    assert_cause(HD_CAUSE_LOCK, "waited for a read-write lock, owner unknown");
}

static void a_mutex_of_the_ulock_policy_has_a_port(void **state) {
    (void)state;
    uint32_t word = PORT(1) & ~2u;
    put(MEMORY + 0x40, &word, sizeof word);
    read_call(HD_DARWIN_ULOCK_WAIT, PTHREAD_CODE, 2, MEMORY + 0x40, word);
    assert_cause(HD_CAUSE_LOCK, "waited for a mutex held by thread 4294967298");
}

static void a_join_waits_in_the_other_threads_descriptor(void **state) {
    (void)state;
    uint32_t word = PORT(1);
    threads[1].handle = MEMORY + 0x1000 + 224;
    put(MEMORY + 0x1000 + 52, &word, sizeof word);
    read_call(HD_DARWIN_ULOCK_WAIT, PTHREAD_CODE, 2, MEMORY + 0x1000 + 52, word);
    threads[1].handle = 0x80000;
    assert_int_equal(hd_evidence_awaited_thread(&probe).number, 0x100000002);
    assert_cause(HD_CAUSE_LOCK, "waited for thread 4294967298 to end");
}

static void locks_without_an_owner_have_a_kind(void **state) {
    (void)state;
    read_call(HD_DARWIN_ULOCK_WAIT, DISPATCH_CODE, 1, MEMORY + 0x40, 0);
    assert_cause(HD_CAUSE_LOCK, "waited for a dispatch queue or group");
    read_call(HD_DARWIN_KEVENT_ID, DISPATCH_CODE, 0x1234, 0, 0);
    assert_cause(HD_CAUSE_LOCK, "waited for a dispatch queue or group");
    assert_int_equal(cause.lock_address, 0);
    read_call(HD_DARWIN_SEMAPHORE_WAIT, DISPATCH_CODE, 0x1603, 0, 0);
    assert_cause(HD_CAUSE_LOCK, "waited for a semaphore");
    read_call(HD_DARWIN_PSYNCH_CVWAIT, PTHREAD_CODE, MEMORY + 0x40, 0, 0);
    assert_cause(HD_CAUSE_LOCK, "waited for a condition variable");
    read_call(HD_DARWIN_ULOCK_WAIT, OWN_CODE, 5, MEMORY + 0x40, 0);
    assert_cause(HD_CAUSE_LOCK, "waited for a condition or lock, owner unknown");
}

static void owners_form_a_ring(void **state) {
    (void)state;
    struct hd_waits_for edges[3];
    struct hd_cause ring = {0};
    for (unsigned i = 0; i < 3; i++) {
        uint32_t word = PORT((i + 1) % 3);
        put(MEMORY + 0x40, &word, sizeof word);
        struct hd_capture c = at_call(HD_DARWIN_ULOCK_WAIT2, 2, MEMORY + 0x40, word);
        edges[i] = (struct hd_waits_for){{threads[i].id}, hd_probe_awaited_thread(ctx, &c, NULL, 0)};
    }
    assert_true(hd_cause_find_ring(&ring, edges, 3, (hd_thread_id){threads[0].id}));
    assert_string_equal(ring.detail, "deadlock: 4294967297 -> 4294967298 -> 4294967299 -> 4294967297");
}

/* ---- files, peers, children ------------------------------------------------------------------------ */

static void names_the_file_of_a_call(void **state) {
    char path[64];
    (void)state;
    files[3] = (struct hd_open_file){.kind = HD_OPEN_FILE, .path = "/Users/me/session.db"};
    read_call(408, OWN_CODE, 3, 0, 0); /* fsync without cancellation */
    assert_cause(HD_CAUSE_DISK, "waited for the disk: fsync of session.db");
    struct hd_capture c = at_call(408, 3, 0, 0);
    assert_true(hd_probe_file(ctx, hd_thread_id_self(), &c, path));
    assert_string_equal(path, "session.db");
    read_call(HD_DARWIN_FCNTL, OWN_CODE, 3, 51, 0); /* F_FULLFSYNC */
    assert_cause(HD_CAUSE_DISK, "waited for the disk: fcntl of session.db");
    read_call(HD_DARWIN_FCNTL_NOCANCEL, OWN_CODE, 3, 9, 0); /* F_SETLKW */
    assert_cause(HD_CAUSE_LOCK, "waited for a file lock in fcntl on session.db");
    put(MEMORY + 0x100, "/Volumes/Server/plan.txt", 25);
    read_call(5, OWN_CODE, MEMORY + 0x100, 0, 0);
    assert_cause(HD_CAUSE_DISK, "waited for the disk: open of plan.txt");
    read_call(463, OWN_CODE, 3, MEMORY + 0x100, 0);
    assert_cause(HD_CAUSE_DISK, "waited for the disk: openat of plan.txt");
    put(MEMORY + 0xffc, "/dev/ttys001", 13); /* over two pages */
    read_call(5, OWN_CODE, MEMORY + 0xffc, 0, 0);
    assert_string_equal(probe.evidence.name, "ttys001");
    assert_int_equal(probe.evidence.descriptor.kind, HD_FD_TTY);
    memset(memory + sizeof memory - 8, 'x', 8); /* a path that leads out of the mapped memory */
    read_call(338, OWN_CODE, MEMORY + sizeof memory - 8, 0, 0);
    assert_cause(HD_CAUSE_DISK, "waited for the disk: stat64 of a file");
    c = at_call(334, 0, 0, 0);
    assert_false(hd_probe_file(ctx, hd_thread_id_self(), &c, path));
}

static void names_the_peer_of_a_socket(void **state) {
    (void)state;
    files[4] = (struct hd_open_file){.kind = HD_OPEN_INET, .address = {192, 0, 2, 1}, .port = 5432};
    files[5] = (struct hd_open_file){.kind = HD_OPEN_LOCAL, .path = "/var/run/mDNSResponder"};
    read_call(29, OWN_CODE, 4, 0, 0);
    assert_cause(HD_CAUSE_NETWORK, "waited for the network: 192.0.2.1:5432 in recvfrom");
    read_call(3, OWN_CODE, 5, 0, 0);
    assert_cause(HD_CAUSE_NETWORK, "waited for the service mDNSResponder in read");
    const struct {
        int32_t fd;
        int16_t events, seen;
    } set[] = {{-1, 1, 0}, {5, 1, 0}, {4, 1, 0}};
    put(MEMORY + 0x200, set, sizeof set);
    read_call(230, OWN_CODE, MEMORY + 0x200, 3, UINT64_MAX);
    assert_cause(HD_CAUSE_NETWORK, "waited for the network: 192.0.2.1:5432 in poll");
    read_call(230, OWN_CODE, 0, 0, 500);
    assert_cause(HD_CAUSE_SLEEP, "slept in poll");
    uint8_t bits[1] = {1 << 4};
    put(MEMORY + 0x300, bits, 1);
    read_call(407, OWN_CODE, 5, MEMORY + 0x300, 0);
    assert_cause(HD_CAUSE_NETWORK, "waited for the network: 192.0.2.1:5432 in select");
    memset(memory + 0x400, 0xff,
           17 * sizeof set[0]); /* none of the first 16 counts, and one more is not read */
    read_call(230, OWN_CODE, MEMORY + 0x400, 17, 500);
    assert_cause(HD_CAUSE_UNKNOWN, "waited in poll");
    read_call(230, OWN_CODE, UINT64_MAX - 7, 1u << 31, 0);
    assert_cause(HD_CAUSE_UNKNOWN, "waited in poll");
}

static void waits_for_a_child_a_time_and_a_message(void **state) {
    (void)state;
    read_call(400, OWN_CODE, 8510, 0, 0);
    assert_cause(HD_CAUSE_CHILD, "waited for child 8510 (sleep) in wait4");
    read_call(173, OWN_CODE, 1, 77, 0);
    assert_cause(HD_CAUSE_CHILD, "waited for child 77 (0123456789abcdef) in waitid");
    read_call(173, OWN_CODE, 0, 77, 0); /* any child */
    assert_cause(HD_CAUSE_CHILD, "waited for a child process in waitid");
    read_call(7, OWN_CODE, UINT64_MAX, 0, 0);
    assert_int_equal(probe.child.pid, 0);
    assert_cause(HD_CAUSE_CHILD, "waited for a child process in wait4");
    read_call(334, OWN_CODE, 0, 0, 0);
    assert_cause(HD_CAUSE_SLEEP, "slept in semwait_signal");
    read_call(HD_DARWIN_MACH_MSG2, OWN_CODE, 0, 0, 0);
    assert_cause(HD_CAUSE_NETWORK, "waited for a reply by a Mach message in mach_msg2");
    read_call(HD_DARWIN_FLOCK, OWN_CODE, 3, 0, 0);
    assert_cause(HD_CAUSE_LOCK, "waited for a file lock in flock");
    struct hd_capture fault = {.state = HD_RUN_UNINTERRUPTIBLE, .regs.pc = STUB + 64, .syscall_nr = 3};
    hd_probe_read(ctx, hd_thread_id_self(), &fault, NULL, 0, 0, &probe);
    assert_cause(HD_CAUSE_PAGE_FAULT, "waited for memory to come from disk");
}

static void code_of_a_toolkit_is_seen(void **state) {
    (void)state;
    struct hd_capture c = {.state = HD_RUN_RUNNING, .regs.pc = APPKIT_CODE, .syscall_nr = HD_SYSCALL_NONE};
    const struct hd_frame frames[] = {{.pc = PLATFORM_CODE, .trust = HD_TRUST_CONTEXT},
                                      {.pc = APPKIT_CODE, .trust = HD_TRUST_CFI}};
    hd_probe_read(ctx, hd_thread_id_self(), &c, frames, 2, 0, &probe);
    assert_int_equal(probe.evidence.kind, HD_EVIDENCE_TOOLKIT);
    assert_string_equal(probe.evidence.name, "AppKit");
    probe.cpu_ns = HD_NS_PER_S;
    assert_cause(HD_CAUSE_UI, "ran a toolkit's code in AppKit");
}

static void the_process_has_memory_and_page_ins(void **state) {
    uint64_t used, limit;
    (void)state;
    task = (struct hd_mach_task){.footprint_bytes = 300, .limit_remaining_bytes = 100, .page_ins = 7};
    hd_pressure_memory(ctx, &used, &limit);
    assert_int_equal(used, 300);
    assert_int_equal(limit, 400);
    assert_int_equal(hd_pressure_major_faults(ctx, HD_THREAD_ID_NONE), 7);
    task.cpu_wait_ns = 9;
    uint64_t stall_ns[HD_PRESSURES] = {1, 1, 1};
    hd_pressure_read(ctx, stall_ns);
    assert_int_equal(stall_ns[HD_PRESSURE_CPU], 9);
    assert_int_equal(stall_ns[HD_PRESSURE_MEMORY] + stall_ns[HD_PRESSURE_IO], 0);
    task.limit_remaining_bytes = 0;
    hd_pressure_memory(ctx, &used, &limit);
    assert_int_equal(used + limit, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(reads_the_number_from_the_code_of_arm64),
        TEST(reads_the_number_from_the_code_of_x86_64),
        TEST(only_a_blocked_thread_at_a_call_is_in_one),
        TEST(names_of_stubs_give_the_same_numbers),
        TEST(an_unfair_locks_word_names_its_owner),
        TEST(a_lock_that_cannot_be_read_has_no_owner),
        TEST(a_mutex_stores_its_owners_id),
        TEST(a_mutex_of_the_ulock_policy_has_a_port),
        TEST(a_join_waits_in_the_other_threads_descriptor),
        TEST(locks_without_an_owner_have_a_kind),
        TEST(owners_form_a_ring),
        TEST(names_the_file_of_a_call),
        TEST(names_the_peer_of_a_socket),
        TEST(waits_for_a_child_a_time_and_a_message),
        TEST(code_of_a_toolkit_is_seen),
        TEST(the_process_has_memory_and_page_ins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
