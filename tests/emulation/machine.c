/* SPDX-License-Identifier: MIT */
#include "emulation/machine.h"

#include <stdlib.h>
#include <string.h>

#include "chance.h"

#define PAGE 4096u
#define PAGES_MAX 1500u /* Unicorn 2.0 ends at 4096 areas */
#define CALLERS_BYTES (4u << 20)
#define OUTLINED_MAX 24u /* instructions */

static const int arm_regs[] = {UC_ARM64_REG_X0,  UC_ARM64_REG_X1,  UC_ARM64_REG_X2,  UC_ARM64_REG_X3,
                               UC_ARM64_REG_X4,  UC_ARM64_REG_X5,  UC_ARM64_REG_X6,  UC_ARM64_REG_X7,
                               UC_ARM64_REG_X8,  UC_ARM64_REG_X9,  UC_ARM64_REG_X10, UC_ARM64_REG_X11,
                               UC_ARM64_REG_X12, UC_ARM64_REG_X13, UC_ARM64_REG_X14, UC_ARM64_REG_X15,
                               UC_ARM64_REG_X16, UC_ARM64_REG_X17, UC_ARM64_REG_X18, UC_ARM64_REG_X19,
                               UC_ARM64_REG_X20, UC_ARM64_REG_X21, UC_ARM64_REG_X22, UC_ARM64_REG_X23,
                               UC_ARM64_REG_X24, UC_ARM64_REG_X25, UC_ARM64_REG_X26, UC_ARM64_REG_X27,
                               UC_ARM64_REG_X28, UC_ARM64_REG_X29, UC_ARM64_REG_X30};
/* by DWARF's numbers */
static const int intel_regs[] = {UC_X86_REG_RAX, UC_X86_REG_RDX, UC_X86_REG_RCX, UC_X86_REG_RBX,
                                 UC_X86_REG_RSI, UC_X86_REG_RDI, UC_X86_REG_RBP, UC_X86_REG_RSP,
                                 UC_X86_REG_R8,  UC_X86_REG_R9,  UC_X86_REG_R10, UC_X86_REG_R11,
                                 UC_X86_REG_R12, UC_X86_REG_R13, UC_X86_REG_R14, UC_X86_REG_R15};
#define ARM_SAVED (UINT64_C(0x7ff) << 19)
#define INTEL_SAVED (UINT64_C(1) << 3 | UINT64_C(1) << 6 | UINT64_C(0xf) << 12)

static const int *regs_of(const struct machine *m) {
    return m->arm ? arm_regs : intel_regs;
}

static unsigned regs_count(const struct machine *m) {
    return m->arm ? 31 : 16;
}

static uint64_t saved_of(const struct machine *m) {
    return m->arm ? ARM_SAVED : INTEL_SAVED;
}

static unsigned fp_of(const struct machine *m) {
    return m->arm ? 29 : 6;
}

static uint64_t get(struct machine *m, int reg) {
    uint64_t value = 0;
    uc_reg_read(m->uc, reg, &value);
    return value;
}

static void set(struct machine *m, int reg, uint64_t value) {
    uc_reg_write(m->uc, reg, &value);
}

static uint64_t get_sp(struct machine *m) {
    return get(m, m->arm ? UC_ARM64_REG_SP : UC_X86_REG_RSP);
}

static void set_pc(struct machine *m, uint64_t pc) {
    m->pc = pc;
    set(m, m->arm ? UC_ARM64_REG_PC : UC_X86_REG_RIP, pc);
    memset(m->code, 0, sizeof m->code);
    for (size_t n = sizeof m->code; n > 0 && uc_mem_read(m->uc, pc, m->code, n) != UC_ERR_OK; n /= 2) {
    }
}

static uint64_t scratch_pointer(void) {
    return SCRATCH + 64 * (uint64_t)any(SCRATCH_BYTES / 128);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Memory appears where the code uses it. */
static bool on_unmapped(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value,
                        void *data) {
    struct machine *m = data;
    (void)size;
    (void)value;
    if (type == UC_MEM_FETCH_UNMAPPED || m->mapped >= PAGES_MAX) {
        return false;
    }
    m->mapped++;
    uint64_t page = address & ~(uint64_t)(PAGE - 1);
    return uc_mem_map(uc, page, 2 * PAGE, UC_PROT_READ | UC_PROT_WRITE) == UC_ERR_OK ||
           uc_mem_map(uc, page, PAGE, UC_PROT_READ | UC_PROT_WRITE) == UC_ERR_OK ||
           uc_mem_map(uc, page + PAGE, PAGE, UC_PROT_READ | UC_PROT_WRITE) == UC_ERR_OK;
}

/* Notices stores over the caller's registers: values that the code computes are random. */
static void on_write(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, void *data) {
    struct machine *m = data;
    uint64_t end = address + (uint64_t)size, mark = UINT64_C(1) << 60;
    (void)uc;
    (void)type;
    if (size == 8 && (uint64_t)value == m->caller_pc) {
        m->ra_slot = address;
    } else if (size == 8 && ((uint64_t)value & ~mark) == m->caller_fp) {
        m->fp_slot = address;
    } else if ((address < m->ra_slot + 8 && end > m->ra_slot && m->ra_slot >= get_sp(m)) ||
               (address < m->fp_slot + 8 && end > m->fp_slot && m->fp_slot >= get_sp(m))) {
        m->overwritten = true;
    }
}

bool machine_open(struct machine *m, struct macho_file *file) {
    uint64_t size = (file->bytes_count + PAGE - 1) / PAGE * PAGE;
    uc_hook hook, writes;
    memset(m, 0, sizeof *m);
    m->file = file;
    m->arm = file->cpu == HD_MACHO_CPU_ARM64;
    if (uc_open(m->arm ? UC_ARCH_ARM64 : UC_ARCH_X86, m->arm ? UC_MODE_ARM : UC_MODE_64, &m->uc) !=
        UC_ERR_OK) {
        return false;
    }
    uint64_t *words = malloc(SCRATCH_BYTES);
    for (size_t i = 0; words != NULL && i < SCRATCH_BYTES / 8; i++) {
        words[i] = any(4) != 0 ? scratch_pointer() : any(16);
    }
    bool fine =
        words != NULL && uc_mem_map(m->uc, file->base, size, UC_PROT_READ | UC_PROT_EXEC) == UC_ERR_OK &&
        uc_mem_write(m->uc, file->base, file->bytes, file->bytes_count) == UC_ERR_OK &&
        uc_mem_map(m->uc, STACK_TOP - STACK_BYTES, STACK_BYTES, UC_PROT_READ | UC_PROT_WRITE) == UC_ERR_OK &&
        uc_mem_map(m->uc, CALLERS, CALLERS_BYTES, UC_PROT_READ | UC_PROT_EXEC) == UC_ERR_OK &&
        uc_mem_map(m->uc, SCRATCH, SCRATCH_BYTES, UC_PROT_READ | UC_PROT_WRITE) == UC_ERR_OK &&
        uc_mem_write(m->uc, SCRATCH, words, SCRATCH_BYTES) == UC_ERR_OK &&
        uc_hook_add(m->uc, &writes, UC_HOOK_MEM_WRITE, (void *)on_write, m, STACK_TOP - STACK_BYTES,
                    STACK_TOP) == UC_ERR_OK &&
        uc_hook_add(m->uc, &hook, UC_HOOK_MEM_UNMAPPED, (void *)on_unmapped, m, 1, 0) == UC_ERR_OK;
    free(words);
    return fine;
}

/* ---- start and end of a run ------------------------------------------------------------------ */

static uint64_t sentinel(unsigned reg) {
    return UINT64_C(0x5151000000000000) + 0x10001 * (uint64_t)(reg + 1);
}

/* Any values for registers that a call does not preserve. */
static void clobber(struct machine *m) {
    unsigned last = m->arm ? 17 : 11;
    for (unsigned i = 0; i <= last; i++) {
        if ((saved_of(m) >> i & 1) == 0 && (m->arm || i != 7)) {
            set(m, regs_of(m)[i], any(5) != 0 ? scratch_pointer() : any(3));
        }
    }
}

void machine_enter(struct machine *m, uint64_t start, uint64_t caller) {
    uint8_t frames[CALLER_BYTES];
    memset(frames, 0, sizeof frames);
    m->caller_pc = caller;
    m->caller_sp = STACK_TOP - CALLER_BYTES;
    m->caller_fp = m->caller_sp + 96;
    uint64_t record[2] = {m->caller_fp + 128, OUTER + 16};
    memcpy(frames + 96, record, sizeof record);
    uc_mem_write(m->uc, m->caller_sp, frames, sizeof frames);
    clobber(m);
    for (unsigned i = 0; i < regs_count(m); i++) {
        if ((saved_of(m) >> i & 1) != 0) {
            set(m, regs_of(m)[i], i == fp_of(m) ? m->caller_fp : sentinel(i));
        }
    }
    if (m->arm) {
        set(m, UC_ARM64_REG_X30, caller);
        set(m, UC_ARM64_REG_SP, m->caller_sp);
    } else {
        uint64_t sp = m->caller_sp - 8;
        uc_mem_write(m->uc, sp, &caller, 8);
        set(m, UC_X86_REG_RSP, sp);
    }
    m->outlined = 0;
    m->overwritten = false;
    m->fp_slot = 0;
    m->ra_slot = m->arm ? 0 : m->caller_sp - 8;
    set_pc(m, start);
}

bool machine_is_whole(struct machine *m, bool returned) {
    uint64_t record[2];
    uc_mem_read(m->uc, m->caller_fp, record, sizeof record);
    bool fine = !m->overwritten && record[0] == m->caller_fp + 128 && record[1] == OUTER + 16;
    if (!returned) {
        return fine;
    }
    for (unsigned i = 0; i < regs_count(m); i++) {
        if ((saved_of(m) >> i & 1) != 0) {
            fine &= get(m, regs_of(m)[i]) == (i == fp_of(m) ? m->caller_fp : sentinel(i));
        }
    }
    return fine && get_sp(m) == m->caller_sp;
}

bool machine_sample(struct machine *m, struct sample *s, uint8_t *stack) {
    s->cpu = m->file->cpu;
    s->pc = m->pc;
    s->sp = get_sp(m);
    for (unsigned i = 0; i < regs_count(m); i++) {
        s->r[i] = get(m, regs_of(m)[i]);
    }
    s->caller_pc = m->caller_pc;
    s->caller_sp = m->caller_sp;
    s->caller_saved = saved_of(m);
    for (unsigned i = 0; i < regs_count(m); i++) {
        if ((s->caller_saved >> i & 1) != 0) {
            s->caller_r[i] = i == fp_of(m) ? m->caller_fp : sentinel(i);
        }
    }
    s->stack_addr = s->sp - 128;
    if (s->sp < STACK_TOP - SAMPLE_STACK_MAX + 128 || s->sp >= STACK_TOP) {
        return false;
    }
    s->stack_bytes = (uint32_t)(STACK_TOP - s->stack_addr);
    if (uc_mem_read(m->uc, s->stack_addr, stack, s->stack_bytes) != UC_ERR_OK) {
        return false;
    }
    if (s->kind == SAMPLE_CALLER) {
        s->pc = LEAF;
        if (m->arm) {
            s->r[30] = s->call;
        } else {
            s->sp -= 8;
            memcpy(stack + 120, &s->call, 8);
        }
    }
    return true;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static uint32_t word_of(const struct machine *m) {
    uint32_t word;
    memcpy(&word, m->code, 4);
    return word;
}

/* The length of `call r/m64` by its bytes; 0: another instruction. */
static unsigned indirect_call(const uint8_t *c) {
    unsigned rex = (c[0] & 0xf0) == 0x40, at = rex + 2, mod = c[rex + 1] >> 6, rm = c[rex + 1] & 7;
    if (c[rex] != 0xff || (c[rex + 1] >> 3 & 7) != 2) {
        return 0;
    }
    bool base = rm == 4 && mod != 3 && (c[at] & 7) == 5 && mod == 0;
    at += rm == 4 && mod != 3;
    return at + (mod == 1 ? 1 : mod == 2 || (mod == 0 && rm == 5) || base ? 4 : 0);
}

uint64_t machine_call(struct machine *m) {
    if (m->arm) {
        uint32_t word = word_of(m);
        return (word & 0xfc000000) == 0x94000000 || (word & 0xfefff000) == 0xd63f0000 ? m->pc + 4 : 0;
    }
    unsigned length = m->code[0] == 0xe8 ? 5 : indirect_call(m->code);
    return length != 0 ? m->pc + length : 0;
}

/* True if the code at `at` goes straight to its return, in few instructions. */
static bool is_outlined(struct machine *m, uint64_t at) {
    for (unsigned i = 0; i < OUTLINED_MAX; i++, at += 4) {
        uint32_t word;
        if (at - m->file->base >= m->file->bytes_count - 4 || uc_mem_read(m->uc, at, &word, 4) != UC_ERR_OK) {
            return false;
        }
        if (word == 0xd65f03c0) {
            return true;
        }
        if ((word & 0x1c000000) == 0x14000000) { /* branches and system instructions */
            return false;
        }
    }
    return false;
}

static uint64_t call_target(const struct machine *m) {
    return m->pc + (uint64_t)((int64_t)((uint64_t)word_of(m) << 38) >> 36);
}

bool machine_follows(struct machine *m) {
    return m->arm && !m->outlined && (word_of(m) & 0xfc000000) == 0x94000000 &&
           is_outlined(m, call_target(m));
}

static enum machine_state skip_call(struct machine *m, uint64_t ra) {
    if (machine_follows(m)) {
        set(m, UC_ARM64_REG_X30, ra);
        m->outlined = ra;
        set_pc(m, call_target(m));
        return MACHINE_RUNS;
    }
    clobber(m);
    if (m->arm) {
        set(m, UC_ARM64_REG_X30, ra);
    }
    set_pc(m, ra);
    return MACHINE_RUNS;
}

static int64_t extend(uint64_t value, unsigned bits) {
    return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

/* The target of the conditional branch at pc, and the address behind it. False: another instruction. */
static bool branch_of(const struct machine *m, uint64_t *target, uint64_t *next) {
    const uint8_t *c = m->code;
    if (m->arm) {
        uint32_t word = word_of(m);
        *next = m->pc + 4;
        if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) {
            *target = m->pc + (uint64_t)(extend(word >> 5 & 0x7ffff, 19) * 4);
            return true;
        }
        *target = m->pc + (uint64_t)(extend(word >> 5 & 0x3fff, 14) * 4);
        return (word & 0x7e000000) == 0x36000000;
    }
    if ((c[0] & 0xf0) == 0x70) {
        *next = m->pc + 2;
        *target = *next + (uint64_t)(int64_t)(int8_t)c[1];
        return true;
    }
    int32_t distance;
    memcpy(&distance, c + 2, 4);
    *next = m->pc + 6;
    *target = *next + (uint64_t)(int64_t)distance;
    return c[0] == 0x0f && (c[1] & 0xf0) == 0x80;
}

/* An instruction that ends the run: a trap, a system call, or a string instruction that repeats, for its
 * count is random. */
static bool ends_run(const struct machine *m) {
    const uint8_t *c = m->code;
    if (m->arm) {
        return (word_of(m) & 0xffe0001f) == 0xd4200000 || (word_of(m) & 0xffe0001f) == 0xd4000001;
    }
    unsigned rex = (c[1] & 0xf0) == 0x40;
    bool repeats = (c[0] == 0xf2 || c[0] == 0xf3) && c[1 + rex] >= 0xa4 && c[1 + rex] <= 0xaf;
    return (c[0] == 0x0f && (c[1] == 0x0b || c[1] == 5)) || c[0] == 0xcc || c[0] == 0xf4 || repeats;
}

enum machine_state machine_step(struct machine *m, bool taken) {
    uint64_t call = machine_call(m), target, next;
    if (call != 0) {
        return skip_call(m, call);
    }
    if (ends_run(m)) {
        return MACHINE_STOPPED;
    }
    if (branch_of(m, &target, &next)) {
        set_pc(m, taken ? target : next);
        return MACHINE_RUNS;
    }
    if (uc_emu_start(m->uc, m->pc, 0, 0, 1) != UC_ERR_OK) {
        return MACHINE_STOPPED;
    }
    uint64_t pc = get(m, m->arm ? UC_ARM64_REG_PC : UC_X86_REG_RIP);
    bool is_return = m->arm ? word_of(m) == 0xd65f03c0 : m->code[0] == 0xc3 || m->code[0] == 0xc2;
    if (pc == m->caller_pc) {
        return MACHINE_RETURNED;
    }
    if (m->outlined != 0 && pc == m->outlined) {
        m->outlined = 0;
    } else if (is_return) { /* to another place: the run has gone wrong */
        m->caller_fp = 0;
        return MACHINE_STOPPED;
    }
    set_pc(m, pc);
    return MACHINE_RUNS;
}
