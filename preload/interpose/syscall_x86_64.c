/* SPDX-License-Identifier: MIT
 *
 * `syscall` on x86-64. The sixth argument, if there is one, lies on the stack; a compiled function would read
 * and write it back, which may be a variable of the caller's that another thread writes.
 */
#include <sys/syscall.h>

#include "preload/interpose/syscall.h"

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)
#define LOOK_AT(number) "cmp $" TEXT(number) ", %rdi\nje hd_syscall_looked_at\n"

// clang-format off
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".globl syscall\n"
    ".type syscall, @function\n"
    "syscall:\n"
    "    .cfi_startproc\n"
    "    endbr64\n"
    LOOK_AT(SYS_prctl)
    LOOK_AT(SYS_capset)
    LOOK_AT(SYS_setuid)
    LOOK_AT(SYS_setgid)
    LOOK_AT(SYS_setreuid)
    LOOK_AT(SYS_setregid)
    LOOK_AT(SYS_setgroups)
    LOOK_AT(SYS_setresuid)
    LOOK_AT(SYS_setresgid)
    LOOK_AT(SYS_chroot)
    LOOK_AT(SYS_pivot_root)
    LOOK_AT(SYS_unshare)
    LOOK_AT(SYS_setns)
    LOOK_AT(SYS_seccomp)
    LOOK_AT(SYS_keyctl)
    LOOK_AT(HD_LANDLOCK_RESTRICT_SELF)
    "    mov hd_real_syscall(%rip), %rax\n"
    "    test %rax, %rax\n"
    "    jz 1f\n"
    "    jmp *%rax\n"
    "1:\n" /* another library's constructor was before ours */
    "    push %rdi\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    push %rsi\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    push %rdx\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    push %rcx\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    push %r8\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    push %r9\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    sub $8, %rsp\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    call hd_interpose_resolve_process\n"
    "    add $8, %rsp\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    pop %r9\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    pop %r8\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    pop %rcx\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    pop %rdx\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    pop %rsi\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    pop %rdi\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    jmp *hd_real_syscall(%rip)\n"
    "    .cfi_endproc\n"
    ".size syscall, . - syscall\n");
