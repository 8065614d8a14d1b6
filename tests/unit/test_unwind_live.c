/* SPDX-License-Identifier: MIT
 *
 * Walks of this process's own stacks, compared frame by frame with libunwind's: plain calls, callbacks from
 * libc, signal frames, the vDSO, blocked threads with all registers and with two.
 */
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/arch/machine.h"
#include "unwind_live.h"

static struct unwind_capture capture;
static struct hd_frame frames[UNWIND_FRAMES];
static struct hd_walk walk;

static void compare(void) {
    unwind_walk(&capture, false, 0, frames, UNWIND_FRAMES, &walk);
    unwind_assert_same(&capture, frames, &walk);
}

static void own_stack_is_walked_to_its_root(void **state) {
    (void)state;
    unwind_capture_here(&capture);
    compare();
    assert_int_equal(frames[0].trust, HD_TRUST_CONTEXT);
    assert_int_equal(frames[1].trust, HD_TRUST_CFI);
    assert_true(walk.root != 0);
    assert_int_equal(walk.cut, 0);
    assert_false(walk.used_scan);
}

static int captured;

static int compare_ints(const void *a, const void *b) {
    if (!captured) {
        captured = 1;
        unwind_capture_here(&capture);
    }
    return *(const int *)a - *(const int *)b;
}

static void callback_from_libc_is_walked(void **state) {
    (void)state;
    int numbers[64];
    for (int i = 0; i < 64; i++) {
        numbers[i] = i * 37 % 64;
    }
    captured = 0;
    qsort(numbers, 64, sizeof numbers[0], compare_ints);
    compare();
    assert_true(walk.count > 4);
}

static void on_usr2(int number) {
    (void)number;
    unwind_capture_here(&capture); /* NOLINT: raised here and now */
}

static void handler_is_walked_through_its_signal_frame(void **state) {
    (void)state;
    const char *emulator = getenv("HANGDOG_EMULATED");
    if (emulator != NULL && *emulator != 0) {
        skip(); /* the emulator's return from a handler lies in no module, the kernel's is in the vDSO */
    }
    signal(SIGUSR2, on_usr2);
    raise(SIGUSR2);
    compare();
    bool through = false;
    for (uint32_t i = 0; i < walk.count; i++) {
        through |= frames[i].trust == HD_TRUST_SIGNAL;
    }
    assert_true(through);
}

static ucontext_t outside, inside;

static void on_its_own_stack(void) {
    unwind_capture_here(&capture);
}

/* libunwind takes one step more, to what happens to lie there. */
static void a_coroutine_begins_where_makecontext_laid_its_return_address(void **state) {
    (void)state;
    static uint8_t stack[256 * 1024];
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = &outside;
    makecontext(&inside, on_its_own_stack, 0);
    swapcontext(&outside, &inside);
    unwind_walk(&capture, false, 0, frames, UNWIND_FRAMES, &walk);
    assert_int_equal(walk.stop, HD_STOP_ROOT);
    assert_true(walk.count >= 2);
    assert_int_equal(frames[walk.count - 1].pc, frames[walk.count - 1].start);
    assert_int_equal(frames[walk.count - 1].start, walk.root);
    assert_true(frames[walk.count - 2].start == (uint64_t)(uintptr_t)&on_its_own_stack);
}

/* ---- blocked threads ---------------------------------------------------------------------------- */

enum block {
    BLOCK_NANOSLEEP,
    BLOCK_READ,
    BLOCK_POLL,
    BLOCK_FUTEX,
    BLOCK_CONDITION,
    BLOCK_MUTEX,
    BLOCKS
};

static struct {
    enum block block;
    int tid;
    int pipe[2];
    uint32_t word;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    bool stop;
    bool by_number; /* the innermost function's caller has a number for a frame pointer */
} blocked;

/* With a frame pointer, without one, with a frame of unknown size, and with one that is realigned. */
#if defined(__clang__)
#define AS_WRITTEN __attribute__((noinline))
#define NO_FRAME_POINTER
#else
#define AS_WRITTEN __attribute__((noipa))
#define NO_FRAME_POINTER __attribute__((optimize("omit-frame-pointer")))
#endif
#define DEPTH 12

AS_WRITTEN static void block(enum block how) {
    char c;
    __atomic_store_n(&blocked.tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
    switch (how) {
    case BLOCK_NANOSLEEP:
        while (!__atomic_load_n(&blocked.stop, __ATOMIC_ACQUIRE)) {
            nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        }
        break;
    case BLOCK_READ:
        while (read(blocked.pipe[0], &c, 1) < 0)
            ;
        break;
    case BLOCK_POLL:
        while (poll(&(struct pollfd){.fd = blocked.pipe[0], .events = POLLIN}, 1, -1) < 0)
            ;
        break;
    case BLOCK_FUTEX:
        while (__atomic_load_n(&blocked.word, __ATOMIC_ACQUIRE) == 0) {
            syscall(SYS_futex, &blocked.word, FUTEX_WAIT, 0, NULL, NULL, 0);
        }
        break;
    case BLOCK_CONDITION:
        pthread_mutex_lock(&blocked.mutex);
        while (!blocked.stop) {
            pthread_cond_wait(&blocked.condition, &blocked.mutex);
        }
        pthread_mutex_unlock(&blocked.mutex);
        break;
    case BLOCK_MUTEX:
        pthread_mutex_lock(&blocked.mutex);
        pthread_mutex_unlock(&blocked.mutex);
        break;
    default:
        break;
    }
}

static void unblock(void) {
    if (blocked.block != BLOCK_MUTEX) {
        pthread_mutex_lock(&blocked.mutex);
    }
    __atomic_store_n(&blocked.stop, true, __ATOMIC_RELEASE);
    __atomic_store_n(&blocked.word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &blocked.word, FUTEX_WAKE, 1, NULL, NULL, 0);
    pthread_cond_broadcast(&blocked.condition);
    assert_int_equal(write(blocked.pipe[1], "x", 1), 1);
    pthread_mutex_unlock(&blocked.mutex);
}

/* Keeps a local array and what is done to it. */
#define KEEP(p) __asm__ volatile("" : : "r"(p) : "memory")

#if defined(__x86_64__)
/* Calls f(how) with a number where the frame pointer would be. */
void with_number(enum block how, void (*f)(enum block));
__asm__(".pushsection .text\n"
        ".type with_number, @function\n"
        "with_number: .cfi_startproc\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "mov $1000, %ebp\n"
        "call *%rsi\n"
        "pop %rbp\n"
        ".cfi_def_cfa_offset 8\n"
        "ret\n"
        ".cfi_endproc; .size with_number, . - with_number\n"
        ".popsection");
#else
static void with_number(enum block how, void (*f)(enum block)) {
    f(how);
}
#endif

AS_WRITTEN static int with_frame_pointer(int depth, enum block how);

AS_WRITTEN NO_FRAME_POINTER static int without_frame_pointer(int depth, enum block how) {
    char local[48];
    KEEP(local);
    int r = with_frame_pointer(depth - 1, how);
    KEEP(local);
    return r + 1;
}

AS_WRITTEN static int with_alloca(int depth, enum block how) {
    char *local = __builtin_alloca((size_t)depth * 16 + 16);
    KEEP(local);
    int r = without_frame_pointer(depth - 1, how);
    KEEP(local);
    return r + 1;
}

AS_WRITTEN static int with_realignment(int depth, enum block how) {
    _Alignas(64) char local[64];
    KEEP(local);
    int r = with_alloca(depth - 1, how);
    KEEP(local);
    return r + 1;
}

AS_WRITTEN static int with_frame_pointer(int depth, enum block how) {
    int r = 0;
    if (depth <= 0 && blocked.by_number) {
        with_number(how, block);
    } else if (depth <= 0) {
        block(how);
    } else {
        r = with_realignment(depth - 1, how);
    }
    __asm__ volatile("");
    return r + 1;
}

static void *blocked_thread(void *arg) {
    (void)arg;
    with_frame_pointer(DEPTH, blocked.block);
    return NULL;
}

static pthread_t start_blocked(enum block how, bool by_number) {
    pthread_t thread;
#if defined(__SANITIZE_THREAD__)
    skip(); /* it keeps signals from threads in system calls that it does not know */
#endif
    memset(&blocked, 0, sizeof blocked);
    blocked.block = how;
    blocked.by_number = by_number;
    assert_int_equal(pipe(blocked.pipe), 0);
    pthread_mutex_init(&blocked.mutex, NULL);
    pthread_cond_init(&blocked.condition, NULL);
    if (how == BLOCK_MUTEX) {
        pthread_mutex_lock(&blocked.mutex);
    }
    assert_int_equal(pthread_create(&thread, NULL, blocked_thread, NULL), 0);
    while (__atomic_load_n(&blocked.tid, __ATOMIC_ACQUIRE) == 0) {
        sched_yield();
    }
    assert_true(unwind_wait_blocked(blocked.tid));
    return thread;
}

static void blocked_threads_are_walked_to_their_root(void **state) {
    (void)state;
    for (int how = 0; how < BLOCKS; how++) {
        pthread_t thread = start_blocked((enum block)how, false);
        unwind_capture_thread(&capture, thread);
        compare();
        assert_true(walk.count > DEPTH);
        unblock();
        pthread_join(thread, NULL);
    }
}

static void stack_pointer_and_program_counter_are_enough(void **state) {
    (void)state;
#ifdef __aarch64__
    skip(); /* there a function that calls none keeps its return address in x30, which the two do not tell */
#endif
    for (int how = 0; how < 2 * BLOCKS; how++) {
        pthread_t thread = start_blocked((enum block)(how % BLOCKS), how >= BLOCKS);
        unwind_capture_thread(&capture, thread);
        compare();
        uint64_t root = walk.root;
        unwind_walk(&capture, true, root, frames, UNWIND_FRAMES, &walk);
        unwind_assert_same(&capture, frames, &walk);
        assert_int_equal(walk.root, root);
        unwind_walk(&capture, true, 0, frames, UNWIND_FRAMES, &walk);
        unwind_assert_same(&capture, frames, &walk);
        unblock();
        pthread_join(thread, NULL);
    }
}

#if defined(__x86_64__)
/* In the frame of block() a record lies from which a walk ends at once at a return address of 0. */
static void what_was_left_behind_ends_no_stack(void **state) {
    (void)state;
    pthread_t thread = start_blocked(BLOCK_READ, true);
    unwind_capture_thread(&capture, thread);
    compare();
    uint32_t i = 0;
    while (i + 2 < walk.count && frames[i].start != (uint64_t)(uintptr_t)&block) {
        i++;
    }
    assert_true(i + 2 < walk.count);
    uint64_t left[4] = {[1] = frames[i + 1].pc};
    assert_true(frames[i].at + sizeof left <= frames[i + 1].at - 16);
    memset(capture.stack + frames[i].at, 0, frames[i + 1].at - 16 - frames[i].at);
    memcpy(capture.stack + frames[i].at, left, sizeof left);
    unwind_walk(&capture, true, 0, frames, UNWIND_FRAMES, &walk);
    unwind_assert_same(&capture, frames, &walk);
    unblock();
    pthread_join(thread, NULL);
}
#endif

static void a_deep_stack_keeps_both_its_ends(void **state) {
    static struct hd_frame few[10];
    (void)state;
    pthread_t thread = start_blocked(BLOCK_READ, false);
    unwind_capture_thread(&capture, thread);
    compare();
    uint32_t all = walk.count;
    for (uint32_t max = 0; max <= 10; max++) {
        unwind_walk(&capture, false, 0, few, max, &walk);
        assert_int_equal(walk.stop, HD_STOP_ROOT);
        assert_int_equal(walk.count, max);
        assert_int_equal(walk.count + walk.cut, all);
        for (uint32_t i = 0; i < max; i++) {
            assert_int_equal(few[i].pc, i < max - max / 2 ? frames[i].pc : frames[all - (max - i)].pc);
        }
    }
    unblock();
    pthread_join(thread, NULL);
}

static void a_cut_copy_ends_the_walk_as_unreadable(void **state) {
    (void)state;
    unwind_capture_here(&capture);
    uint32_t whole = capture.stack_bytes;
    for (uint32_t bytes = 0; bytes < whole && bytes < 4096; bytes += 8) {
        capture.stack_bytes = bytes;
        unwind_walk(&capture, false, 0, frames, UNWIND_FRAMES, &walk);
        if (walk.stop != HD_STOP_ROOT) {
            assert_int_equal(walk.stop, HD_STOP_UNREADABLE);
        }
        for (uint32_t i = 0; i < walk.count; i++) {
            assert_int_equal(frames[i].pc, capture.peer[i]);
        }
    }
}

/* ---- code that nothing describes ------------------------------------------------------------------ */

#if defined(__x86_64__)
static struct unwind_capture outer;

/* Frames that both captures have, counted from the root: all of the outer one's but its own. */
static void ends_like_outer(void) {
    assert_int_equal(walk.stop, HD_STOP_ROOT);
    assert_true(walk.count > outer.peer_count);
    for (uint32_t i = 1; i < outer.peer_count; i++) {
        assert_int_equal(frames[walk.count - i].pc, outer.peer[outer.peer_count - i]);
    }
}

static void capture_from_generated_code(void) {
    unwind_capture_here(&capture);
}

/* A page of code that no module holds. */
static uint8_t *generated(const char *code, size_t n) {
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    memset(page, 0xcc, 4096);
    memcpy(page + 64, code, n);
    return page + 64;
}

static void generated_code_is_walked_by_its_frame_records(void **state) {
    (void)state;
    /* push %rbp; mov %rsp,%rbp; sub $16,%rsp; push %rbx; push %rbx; mov $-1,%rbx; call *%rdi; pop %rbx;
     * leave; ret */
    static const char code[] =
        "\x55\x48\x89\xe5\x48\x83\xec\x10\x53\x53\x48\xc7\xc3\xff\xff\xff\xff\xff\xd7\x5b"
        "\x5b\xc9\xc3";
    uint8_t *f = generated(code, sizeof code - 1);
    void (*call)(void (*)(void)) = (void (*)(void (*)(void)))(uintptr_t)f;
    unwind_capture_here(&outer);
    call(capture_from_generated_code);
    unwind_walk(&capture, false, 0, frames, UNWIND_FRAMES, &walk);
    ends_like_outer();
    assert_int_equal(walk.count, outer.peer_count + 2);
    assert_true(frames[1].pc == (uint64_t)(uintptr_t)f + 19);
    assert_int_equal(frames[1].trust, HD_TRUST_CFI);
    assert_int_equal(frames[1].start, 0);
    assert_int_equal(frames[2].trust, HD_TRUST_FRAME_POINTER);
    assert_int_equal(frames[3].trust, HD_TRUST_CFI);
    munmap((void *)((uintptr_t)f & ~UINT64_C(4095)), 4096);
}

/* The capture's innermost frame is put into other code, which it seems to have called. */
static void call_seems_to_go_to(uint64_t pc, unsigned pushed) {
    unwind_capture_here(&outer);
    capture = outer;
    uint8_t *at_sp = capture.stack + HD_RED_ZONE;
    memmove(at_sp + 8 * (pushed + 1), at_sp, capture.stack_bytes - HD_RED_ZONE - 8 * (pushed + 1));
    memset(at_sp, 0, 8 * pushed);
    memcpy(at_sp + 8 * pushed, &outer.peer[1], 8); /* a return address that follows a call */
    capture.stack_addr -= 8 * (pushed + 1);
    capture.regs.sp -= 8 * (pushed + 1);
    capture.regs.pc = pc;
    /* As if the caller were the one of the innermost frame: that frame's rows hold there too only by luck, so
     * the walk is looked at for its first step. */
    unwind_walk(&capture, false, 0, frames, UNWIND_FRAMES, &walk);
    assert_true(walk.count >= 2);
    assert_int_equal(frames[1].pc, outer.peer[1]);
}

static void a_prologue_in_generated_code_has_no_frame_yet(void **state) {
    static const char code[] = "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x90\xc9\xc3";
    (void)state;
    uint8_t *f = generated(code, sizeof code - 1);
    call_seems_to_go_to((uint64_t)(uintptr_t)f, 0);
    call_seems_to_go_to((uint64_t)(uintptr_t)f + 4, 0);
    call_seems_to_go_to((uint64_t)(uintptr_t)f + 5, 1);
    call_seems_to_go_to((uint64_t)(uintptr_t)f + 10, 0);
    munmap((void *)((uintptr_t)f & ~UINT64_C(4095)), 4096);
}

static void a_call_through_a_null_pointer_shows_its_caller(void **state) {
    (void)state;
    call_seems_to_go_to(0, 0);
    call_seems_to_go_to(64, 0);
}

static void the_vdso_is_walked(void **state) {
    (void)state;
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    if (vdso == 0) {
        skip();
    }
    int index = hd_modules_at(unwind_modules(), vdso);
    assert_true(index >= 0);
    uint64_t f = hd_module_symbol(unwind_modules(), (uint32_t)index, "__vdso_clock_gettime");
    if (f == 0) {
        skip();
    }
    call_seems_to_go_to(f, 0);
    assert_int_equal(frames[1].trust, HD_TRUST_CFI);
}
#endif

static void a_library_that_was_opened_later_is_walked(void **state) {
    (void)state;
    if (dlopen("libresolv.so.2", RTLD_NOW | RTLD_NOLOAD) != NULL) {
        skip(); /* somebody needs it */
    }
    void *library = dlopen("libresolv.so.2", RTLD_NOW);
    if (library == NULL) {
        skip();
    }
    void *f = dlsym(library, "ns_sprintrr");
    assert_non_null(f);
    int index = hd_modules_at(unwind_modules(), (uint64_t)(uintptr_t)f);
    assert_true(index >= 0);
    assert_non_null(strstr(hd_module_path(unwind_modules(), (uint32_t)index), "libresolv"));
#if defined(__x86_64__)
    call_seems_to_go_to((uint64_t)(uintptr_t)f, 0);
    assert_int_equal(frames[1].trust, HD_TRUST_CFI);
    assert_int_equal(frames[0].start, (uint64_t)(uintptr_t)f);
#endif
    assert_true(hd_modules_still_valid(unwind_modules(), false));
    dlclose(library); /* NOLINT: skip() does not return */
    assert_false(hd_modules_still_valid(unwind_modules(), false));
    hd_unwinder_flush(unwind_unwinder());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_stack_is_walked_to_its_root),
        cmocka_unit_test(callback_from_libc_is_walked),
        cmocka_unit_test(handler_is_walked_through_its_signal_frame),
        cmocka_unit_test(a_coroutine_begins_where_makecontext_laid_its_return_address),
        cmocka_unit_test(blocked_threads_are_walked_to_their_root),
        cmocka_unit_test(stack_pointer_and_program_counter_are_enough),
#if defined(__x86_64__)
        cmocka_unit_test(what_was_left_behind_ends_no_stack),
#endif
        cmocka_unit_test(a_deep_stack_keeps_both_its_ends),
#if defined(__x86_64__)
        cmocka_unit_test(generated_code_is_walked_by_its_frame_records),
        cmocka_unit_test(a_prologue_in_generated_code_has_no_frame_yet),
        cmocka_unit_test(a_call_through_a_null_pointer_shows_its_caller),
        cmocka_unit_test(the_vdso_is_walked),
#endif
        cmocka_unit_test(a_library_that_was_opened_later_is_walked),
        cmocka_unit_test(a_cut_copy_ends_the_walk_as_unreadable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
