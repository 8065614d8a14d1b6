/* SPDX-License-Identifier: MIT
 *
 * `syscall` on x86-64. The sixth argument, if there is one, lies on the stack; a compiled function would read
 * and write it back, which may be a variable of the caller's that another thread writes.
 */
#include <sys/syscall.h>

#include "preload/interpose/syscall.h"

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)

__asm__(
    ".text\n"
    ".p2align 4\n"
    ".globl syscall\n"
    ".type syscall, @function\n"
    "syscall:\n"
    "    .cfi_startproc\n"
    "    endbr64\n"
    "    cmp $" TEXT(
        SYS_prctl) ", %rdi\n"
                   "    je hd_syscall_looked_at\n"
                   "    cmp $" TEXT(
                       SYS_unshare) ", %rdi\n"
                                    "    je hd_syscall_looked_at\n"
                                    "    cmp $" TEXT(
                                        SYS_setns) ", %rdi\n"
                                                   "    je hd_syscall_looked_at\n"
                                                   "    cmp $" TEXT(
                                                       SYS_seccomp) ", %rdi\n"
                                                                    "    je hd_syscall_looked_at\n"
                                                                    "    mov hd_real_syscall(%rip), %rax\n"
                                                                    "    test %rax, %rax\n"
                                                                    "    jz 1f\n"
                                                                    "    jmp *%rax\n"
                                                                    "1:\n" /* another library's constructor
                                                                              was before ours */
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
