// SPDX-License-Identifier: MIT
//
// The gate on x86-64 (gate.h). A stub of a system library puts the number of the import into r11 and jumps here.
        .text
        .globl  gate_entry
        .type   gate_entry, @function
gate_entry:
        push    %rbp
        mov     %rsp, %rbp
        sub     $416, %rsp              // struct gate_registers (392), aligned
        mov     %rax, 0(%rsp)
        mov     %rbx, 8(%rsp)
        mov     %rcx, 16(%rsp)
        mov     %rdx, 24(%rsp)
        mov     %rdi, 32(%rsp)
        mov     %rsi, 40(%rsp)
        mov     (%rbp), %r10
        mov     %r10, 48(%rsp)          // rbp
        lea     8(%rbp), %r10
        mov     %r10, 56(%rsp)          // rsp: at the return address
        mov     %r8, 64(%rsp)
        mov     %r9, 72(%rsp)
        mov     %r12, 96(%rsp)
        mov     %r13, 104(%rsp)
        mov     %r14, 112(%rsp)
        mov     %r15, 120(%rsp)
        movups  %xmm0, 256(%rsp)
        movups  %xmm1, 272(%rsp)
        movups  %xmm2, 288(%rsp)
        movups  %xmm3, 304(%rsp)
        movups  %xmm4, 320(%rsp)
        movups  %xmm5, 336(%rsp)
        movups  %xmm6, 352(%rsp)
        movups  %xmm7, 368(%rsp)
        mov     %rsp, %rdi
        mov     %r11d, %esi
        call    gate_enter
        mov     %rax, %r11
        mov     0(%rsp), %rax
        mov     16(%rsp), %rcx
        mov     24(%rsp), %rdx
        mov     32(%rsp), %rdi
        mov     40(%rsp), %rsi
        mov     64(%rsp), %r8
        mov     72(%rsp), %r9
        movups  256(%rsp), %xmm0
        movups  272(%rsp), %xmm1
        movups  288(%rsp), %xmm2
        movups  304(%rsp), %xmm3
        movups  320(%rsp), %xmm4
        movups  336(%rsp), %xmm5
        movups  352(%rsp), %xmm6
        movups  368(%rsp), %xmm7
        sub     $128, %rsp              // arguments on the stack, copied
        .set    i, 0
        .rept   16
        mov     16+8*i(%rbp), %r10
        mov     %r10, 8*i(%rsp)
        .set    i, i+1
        .endr
        call    *%r11
        mov     %rax, 0(%rsp)
        mov     %rdx, 8(%rsp)
        movups  %xmm0, 16(%rsp)
        call    gate_leave
        mov     0(%rsp), %rax
        mov     8(%rsp), %rdx
        movups  16(%rsp), %xmm0
        leave
        ret

        .globl  gate_call_darwin
        .type   gate_call_darwin, @function
gate_call_darwin:
        push    %rbp
        push    %rbx
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        sub     $8, %rsp                // 64 bytes below the caller's aligned stack
        mov     %rdi, %r10
        mov     %rsi, %rdi
        mov     %rdx, %rsi
        mov     %rcx, %rdx
        xor     %ebp, %ebp              // the end of the walk
        push    $0
        jmp     *%r8                    // the stub calls r10 and jumps to gate_return

        .globl  gate_return
        .type   gate_return, @function
gate_return:
        add     $16, %rsp
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbx
        pop     %rbp
        ret

        .globl  gate_tls_thunk
        .type   gate_tls_thunk, @function
gate_tls_thunk:                         // all registers but rax stay as they are
        push    %rbp
        mov     %rsp, %rbp
        and     $-16, %rsp
        sub     $320, %rsp
        mov     %rcx, 0(%rsp)
        mov     %rdx, 8(%rsp)
        mov     %rsi, 16(%rsp)
        mov     %rdi, 24(%rsp)
        mov     %r8, 32(%rsp)
        mov     %r9, 40(%rsp)
        mov     %r10, 48(%rsp)
        mov     %r11, 56(%rsp)
        .set    i, 0
        .irp    x, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        movups  %xmm\x, 64+16*i(%rsp)
        .set    i, i+1
        .endr
        call    tls_address
        .set    i, 0
        .irp    x, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        movups  64+16*i(%rsp), %xmm\x
        .set    i, i+1
        .endr
        mov     0(%rsp), %rcx
        mov     8(%rsp), %rdx
        mov     16(%rsp), %rsi
        mov     24(%rsp), %rdi
        mov     32(%rsp), %r8
        mov     40(%rsp), %r9
        mov     48(%rsp), %r10
        mov     56(%rsp), %r11
        leave
        ret
        .section .note.GNU-stack,"",@progbits
