/* SPDX-License-Identifier: MIT */
#include "import.h"

#include <string.h>

extern const struct import imports_of_mach[], imports_of_task[], imports_of_port[], imports_of_semaphore[],
    imports_of_file[], imports_of_folder[], imports_of_memory[], imports_of_pthread[], imports_of_lock[],
    imports_of_signal[], imports_of_clock[], imports_of_sysctl[], imports_of_string[], imports_of_print[],
    imports_of_dyld[], imports_of_event[], imports_of_process[], imports_of_dispatch[], imports_of_testing[],
    imports_of_exception[];

static const struct import *const tables[] = {
    imports_of_mach,   imports_of_task,    imports_of_port,     imports_of_semaphore, imports_of_file,
    imports_of_folder, imports_of_memory,  imports_of_pthread,  imports_of_lock,      imports_of_signal,
    imports_of_clock,  imports_of_sysctl,  imports_of_string,   imports_of_print,     imports_of_dyld,
    imports_of_event,  imports_of_process, imports_of_dispatch, imports_of_testing,   imports_of_exception};

uint32_t import_count(void) {
    uint32_t n = 0;
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        for (const struct import *i = tables[t]; i->name; i++) {
            n++;
        }
    }
    return n;
}

const struct import *import_at(uint32_t index) {
    static const struct import *flat[1024];
    if (!flat[0]) {
        uint32_t n = 0;
        for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
            for (const struct import *i = tables[t]; i->name; i++) {
                flat[n++] = i;
            }
        }
    }
    return flat[index];
}

const struct import *import_find(const char *name) {
    for (uint32_t i = 0; i < import_count(); i++) {
        if (!strcmp(import_at(i)->name, name)) {
            return import_at(i);
        }
    }
    return NULL;
}

bool import_is_kernel(const struct import *i) {
    return i->kind == IMPORT_KERNEL || i->kind == IMPORT_SUSPENDED;
}

/* The instruction that enters the kernel is never run: a suspended caller shows the address after it. */
static void write_stub(FILE *out, const struct import *i, uint32_t index) {
    fprintf(out, "    .globl %s\n    .p2align 4\n%s:\n    .cfi_startproc\n", i->name, i->name);
#if defined(__x86_64__)
    fprintf(out, "    movl $%u, %%r11d\n    jmpq *_fake_gate(%%rip)\n%s    retq\n", index,
            import_is_kernel(i) ? "    syscall\n" : "");
#else
    fprintf(out, "    mov w17, #%u\n    adrp x16, _fake_gate@PAGE\n    ldr x16, [x16, _fake_gate@PAGEOFF]\n",
            index);
    fprintf(out, "    br x16\n%s    ret\n", import_is_kernel(i) ? "    svc #0x80\n" : "");
#endif
    fprintf(out, "    .cfi_endproc\n");
}

/* The function below which all functions of a thread run. */
static void write_start(FILE *out, const char *name) {
    fprintf(out, "    .globl %s\n    .p2align 4\n%s:\n    .cfi_startproc\n", name, name);
#if defined(__x86_64__)
    fprintf(
        out,
        "    pushq %%rbp\n    .cfi_def_cfa_offset 16\n    .cfi_offset %%rbp, -16\n    movq %%rsp, %%rbp\n"
        "    .cfi_def_cfa_register %%rbp\n    callq *%%r10\n    popq %%rbp\n    jmpq *_fake_return(%%rip)\n");
#else
    fprintf(out,
            "    stp x29, x30, [sp, #-16]!\n    mov x29, sp\n    .cfi_def_cfa w29, 16\n"
            "    .cfi_offset w30, -8\n    .cfi_offset w29, -16\n    blr x9\n    ldp x29, x30, [sp], #16\n"
            "    adrp x16, _fake_return@PAGE\n    ldr x16, [x16, _fake_return@PAGEOFF]\n    br x16\n");
#endif
    fprintf(out, "    .cfi_endproc\n");
}

void import_write_stubs(FILE *out, bool kernel) {
    fprintf(out, "    .section __TEXT,__text,regular,pure_instructions\n");
    for (uint32_t n = 0; n < import_count(); n++) {
        const struct import *i = import_at(n);
        if (i->kind != IMPORT_DATA && i->kind != IMPORT_CODE && import_is_kernel(i) == kernel) {
            write_stub(out, i, n);
        }
    }
    if (!kernel) {
        write_start(out, "start");
        write_start(out, "_thread_start");
        write_start(out, "__sigtramp");
    }
    fprintf(out,
            "    .section __DATA,__data\n    .globl _fake_gate\n    .p2align 3\n_fake_gate:\n    .quad 0\n");
    fprintf(out, "    .globl _fake_return\n_fake_return:\n    .quad 0\n    .subsections_via_symbols\n");
}
