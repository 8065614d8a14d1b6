/* SPDX-License-Identifier: MIT
 * `syscall` on x86-64. A sixth argument lies on the stack. If there is none, a variable of the caller may lie
 * there, which compiled code would read and write back while another thread writes it. Hence assembly.
 */
#include <sys/syscall.h>

#include "preload/interpose/syscall.h"

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)
#define WRAP(number) "cmp $" TEXT(number) ", %rdi\nje hd_syscall_wrapped\n"

// clang-format off
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".globl syscall\n"
    ".type syscall, @function\n"
    "syscall:\n"
    "    .cfi_startproc\n"
    "    endbr64\n"
    WRAP(SYS_prctl)
    WRAP(SYS_capset)
    WRAP(SYS_setuid)
    WRAP(SYS_setgid)
    WRAP(SYS_setreuid)
    WRAP(SYS_setregid)
    WRAP(SYS_setgroups)
    WRAP(SYS_setresuid)
    WRAP(SYS_setresgid)
    WRAP(SYS_chroot)
    WRAP(SYS_pivot_root)
    WRAP(SYS_unshare)
    WRAP(SYS_setns)
    WRAP(SYS_seccomp)
    WRAP(SYS_keyctl)
    WRAP(HD_LANDLOCK_RESTRICT_SELF)
    "    mov hd_real_syscall(%rip), %rax\n"
    "    test %rax, %rax\n"
    "    jz 1f\n"
    "    jmp *%rax\n"
    "1:\n" /* not resolved: another library's constructor runs before ours */
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
