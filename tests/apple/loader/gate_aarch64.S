// SPDX-License-Identifier: MIT
//
// The gate on arm64 (gate.h). A stub of a system library puts the number of the import into x17 and jumps here. Variadic
// arguments of Apple's calls lie on the stack, which the gate copies; variadic_* fetch them.
        .text
        .globl  gate_entry
        .type   gate_entry, %function
gate_entry:
        stp     x29, x30, [sp, #-16]!
        mov     x29, sp
        sub     sp, sp, #400            // struct gate_registers (392)
        stp     x0, x1, [sp, #0]
        stp     x2, x3, [sp, #16]
        stp     x4, x5, [sp, #32]
        stp     x6, x7, [sp, #48]
        stp     x8, x9, [sp, #64]
        stp     x10, x11, [sp, #80]
        stp     x12, x13, [sp, #96]
        stp     x14, x15, [sp, #112]
        stp     x16, x17, [sp, #128]
        stp     x18, x19, [sp, #144]
        stp     x20, x21, [sp, #160]
        stp     x22, x23, [sp, #176]
        stp     x24, x25, [sp, #192]
        stp     x26, x27, [sp, #208]
        ldr     x9, [x29]
        stp     x28, x9, [sp, #224]
        add     x9, x29, #16
        stp     x30, x9, [sp, #240]     // the return address, the stack pointer
        stp     q0, q1, [sp, #256]
        stp     q2, q3, [sp, #288]
        stp     q4, q5, [sp, #320]
        stp     q6, q7, [sp, #352]
        mov     x0, sp
        mov     w1, w17
        bl      gate_enter
        mov     x16, x0
        ldp     x0, x1, [sp, #0]
        ldp     x2, x3, [sp, #16]
        ldp     x4, x5, [sp, #32]
        ldp     x6, x7, [sp, #48]
        ldr     x8, [sp, #64]
        ldp     q0, q1, [sp, #256]
        ldp     q2, q3, [sp, #288]
        ldp     q4, q5, [sp, #320]
        ldp     q6, q7, [sp, #352]
        sub     sp, sp, #128            // arguments on the stack, copied
        .set    i, 0
        .rept   8
        ldp     x9, x10, [x29, #16+16*i]
        stp     x9, x10, [sp, #16*i]
        .set    i, i+1
        .endr
        blr     x16
        stp     x0, x1, [sp, #0]
        str     q0, [sp, #16]
        bl      gate_leave
        ldp     x0, x1, [sp, #0]
        ldr     q0, [sp, #16]
        mov     sp, x29
        ldp     x29, x30, [sp], #16
        ret

        .globl  gate_call_darwin
        .type   gate_call_darwin, %function
gate_call_darwin:
        stp     x29, x30, [sp, #-160]!
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mov     x9, x0
        mov     x0, x1
        mov     x1, x2
        mov     x2, x3
        mov     x29, xzr                // the end of the walk
        mov     x30, xzr
        br      x4                      // the stub calls x9 and jumps to gate_return

        .globl  gate_return
        .type   gate_return, %function
gate_return:
        ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        ldp     x29, x30, [sp], #160
        ret

        .globl  gate_tls_thunk
        .type   gate_tls_thunk, %function
gate_tls_thunk:                         // all registers but x0 stay as they are
        stp     x29, x30, [sp, #-16]!
        mov     x29, sp
        sub     sp, sp, #656
        stp     x1, x2, [sp, #0]
        stp     x3, x4, [sp, #16]
        stp     x5, x6, [sp, #32]
        stp     x7, x8, [sp, #48]
        stp     x9, x10, [sp, #64]
        stp     x11, x12, [sp, #80]
        stp     x13, x14, [sp, #96]
        stp     x15, x16, [sp, #112]
        str     x17, [sp, #128]
        add     x9, sp, #144
        .irp    x, 0,2,4,6,16,18,20,22,24,26,28,30
        stp     q\x, q31, [x9], #32
        .endr
        add     x9, sp, #144
        str     q1, [x9, #16]
        str     q3, [x9, #48]
        str     q5, [x9, #80]
        str     q7, [x9, #112]
        str     q17, [x9, #144]
        str     q19, [x9, #176]
        str     q21, [x9, #208]
        str     q23, [x9, #240]
        str     q25, [x9, #272]
        str     q27, [x9, #304]
        str     q29, [x9, #336]
        bl      tls_address
        add     x9, sp, #144
        .irp    x, 0,2,4,6,16,18,20,22,24,26,28
        ldr     q\x, [x9], #32
        .endr
        ldp     q30, q31, [x9]
        add     x9, sp, #144
        ldr     q1, [x9, #16]
        ldr     q3, [x9, #48]
        ldr     q5, [x9, #80]
        ldr     q7, [x9, #112]
        ldr     q17, [x9, #144]
        ldr     q19, [x9, #176]
        ldr     q21, [x9, #208]
        ldr     q23, [x9, #240]
        ldr     q25, [x9, #272]
        ldr     q27, [x9, #304]
        ldr     q29, [x9, #336]
        ldp     x1, x2, [sp, #0]
        ldp     x3, x4, [sp, #16]
        ldp     x5, x6, [sp, #32]
        ldp     x7, x8, [sp, #48]
        ldp     x9, x10, [sp, #64]
        ldp     x11, x12, [sp, #80]
        ldp     x13, x14, [sp, #96]
        ldp     x15, x16, [sp, #112]
        ldr     x17, [sp, #128]
        mov     sp, x29
        ldp     x29, x30, [sp], #16
        ret

// Fetch what the caller passed on the stack: one word, or the address of all.
        .macro  variadic name, register
        .globl  variadic_\name
        .type   variadic_\name, %function
variadic_\name:
        ldr     \register, [sp]
        b       fake_\name
        .endm
        variadic open, x2
        variadic openat, x3
        variadic fcntl, x2
        variadic ioctl, x2
        .macro  formatted name, register
        .globl  variadic_\name
        .type   variadic_\name, %function
variadic_\name:
        mov     \register, sp
        b       fake_\name
        .endm
        formatted printf, x1
        formatted fprintf, x2
        formatted dprintf, x2
        formatted snprintf, x3
        .section .note.GNU-stack,"",%progbits
