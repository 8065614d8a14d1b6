/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "capture/arch/linux_context.h"

#if defined(__x86_64__)

static uint64_t slots[8]; /* all the memory there is */

static long read_memory(uint64_t addr, void *to, size_t n) {
    uint64_t at = addr - (uint64_t)(uintptr_t)slots;
    if (at >= sizeof slots || sizeof slots - at < n) {
        return -EFAULT;
    }
    memcpy(to, (const uint8_t *)slots + at, n);
    return (long)n;
}

static long number_of(const char *code, size_t n, const ucontext_t *context) {
    uint8_t before[HD_CODE_BYTES];
    memset(before, 0x90, sizeof before);
    memcpy(before + sizeof before - n, code, n);
    return hd_machine_number(before, context, read_memory);
}
#define NUMBER(text, context) number_of(text, sizeof(text) - 1, context)

static void the_number_is_found_as_libc_writes_it(void **state) {
    ucontext_t c = {0};
    (void)state;
    assert_int_equal(NUMBER("\xb8\x07\x00\x00\x00", &c), 7);                   /* poll */
    assert_int_equal(NUMBER("\xb8\x19\x01\x00\x00\x8b\x7c\x24\x04", &c), 281); /* epoll_pwait */
    assert_int_equal(NUMBER("\xb8\x2d\x00\x00\x00\x48\x8b\x54\x24\x10\x48\x8b\x74\x24\x08", &c),
                     45);                                                          /* recvfrom */
    assert_int_equal(NUMBER("\xb8\x46\x00\x00\x00\x8b\x7c\x24\x08", &c), 70);      /* msgrcv */
    assert_int_equal(NUMBER("\x8b\x7c\x24\x08\x31\xc0", &c), 0);                   /* read */
    assert_int_equal(NUMBER("\xb8\xa4\x00\x00\x00\x31\xff", &c), 164);             /* xor %edi,%edi */
    assert_int_equal(NUMBER("\xb8\x21\x01\x00\x00\xba\x08\x00\x00\x00", &c), 289); /* mov $8,%edx */
}

static void the_number_may_be_in_a_register_that_is_still_there(void **state) {
    ucontext_t c = {0};
    (void)state;
    c.uc_mcontext.gregs[REG_R8] = 202;
    c.uc_mcontext.gregs[REG_RBP] = 203;
    assert_int_equal(NUMBER("\x44\x89\xc0", &c), 202); /* mov %r8d,%eax */
    assert_int_equal(NUMBER("\x90\x89\xe8", &c), 203); /* mov %ebp,%eax */
    assert_int_equal(NUMBER("\x90\x89\xc8", &c), -1);  /* mov %ecx,%eax: the call has replaced it */
}

/* As glibc 2.41 and later write it where a call can be cancelled. */
static void the_number_may_be_an_argument_on_the_stack(void **state) {
    ucontext_t c = {0};
    (void)state;
    c.uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)slots;
    c.uc_mcontext.gregs[REG_RBP] = (greg_t)(uintptr_t)(slots + 4);
    slots[1] = 7;
    slots[2] = 271;
    slots[3] = 232;
    slots[4] = 1ULL << 32 | 7;
    slots[5] = (uint64_t)-1;
    assert_int_equal(NUMBER("\x49\x89\xca\x48\x8b\x44\x24\x08", &c), 7); /* mov %rcx,%r10; mov 8(%rsp),%rax */
    assert_int_equal(NUMBER("\x48\x8b\x44\x24\x10\x49\x89\xca", &c), 271);
    assert_int_equal(NUMBER("\x48\x8b\x45\xf8\x49\x89\xca", &c), 232); /* mov -8(%rbp),%rax */
    assert_int_equal(NUMBER("\x90\x8b\x44\x24\x10", &c), 271);         /* mov 16(%rsp),%eax */
    assert_int_equal(NUMBER("\x48\x8b\x44\x24\x20", &c), -1);          /* no number */
    assert_int_equal(NUMBER("\x48\x8b\x44\x24\x28", &c), -1);
    assert_int_equal(NUMBER("\x48\x8b\x44\x24\x78", &c), -1);                     /* not there */
    assert_int_equal(NUMBER("\x4c\x8b\x44\x24\x08", &c), -1);                     /* mov 8(%rsp),%r8 */
    assert_int_equal(NUMBER("\x48\x8b\x44\x24\x08\x48\x89\xfc", &c), -1);         /* mov %rdi,%rsp */
    assert_int_equal(NUMBER("\x48\x8b\x44\x24\x08\x48\x89\x74\x24\x08", &c), -1); /* it stores there */
}

static void other_code_shows_no_number(void **state) {
    ucontext_t c = {0};
    (void)state;
    assert_int_equal(NUMBER("", &c), -1);
    assert_int_equal(NUMBER("\x41\xb8\x07\x00\x00\x00", &c), -1);             /* mov $7,%r8d */
    assert_int_equal(NUMBER("\xb8\x07\x00\x00\x00\x8b\x44\x24\x04", &c), -1); /* and then eax is loaded */
    assert_int_equal(NUMBER("\xb8\x07\x00\x00\x00\xff\xd0", &c), -1);
    assert_int_equal(NUMBER("\xb8\x07\x00\x01\x00", &c), -1);             /* no call has such a number */
    assert_int_equal(NUMBER("\x48\x89\xf8\x4c\x8b\x4c\x24\x08", &c), -1); /* syscall(): any number */
}

static void any_bytes_are_read_within_bounds(void **state) {
    static const uint8_t likely[] = {0xb8, 0x31, 0xc0, 0x8b, 0x48, 0x44, 0x24, 0x00, 0x89, 0x8d, 0x04, 0x05};
    ucontext_t c = {0};
    uint32_t random = 1;
    (void)state;
    for (int i = 0; i < 300000; i++) {
        uint8_t code[HD_CODE_BYTES];
        for (size_t k = 0; k < sizeof code; k++) {
            random = random * 1664525 + 1013904223;
            uint8_t any = (uint8_t)(random >> 24);
            code[k] = (random >> 16 & 3) != 0 ? likely[any % sizeof likely] : any;
        }
        assert_true(hd_machine_number(code, &c, read_memory) <= 0xffff);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_number_is_found_as_libc_writes_it),
        cmocka_unit_test(the_number_may_be_in_a_register_that_is_still_there),
        cmocka_unit_test(the_number_may_be_an_argument_on_the_stack),
        cmocka_unit_test(other_code_shows_no_number),
        cmocka_unit_test(any_bytes_are_read_within_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
int main(void) {
    return 77; /* arm64 keeps the number in x8, but not the first argument */
}
#endif
