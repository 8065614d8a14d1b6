/* SPDX-License-Identifier: MIT
 *
 * unwind-rows FILE...: the unwinder's own decoding of every row of every function of an ELF file, in the
 * notation of `readelf --debug-dump=frames-interp`, for tests/real/unwind_rows.py.
 *
 * Each function is looked up as a walk would look it up, through .eh_frame_hdr; each row is asked for at its
 * first and last address; and the compact rule made from it is expanded again: it must say what the row says.
 *   function START STOP      hexadecimal, in the file's own addresses
 *   LOC CFA COLUMN...        rax to r15 and ra; u: nothing is said
 *   # text                   what went wrong
 *   total FUNCTIONS ROWS ROWS-WITHOUT-A-COMPACT-RULE
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/arch/arch.h"
#include "unwind/cfa.h"
#include "unwind/eh_frame.h"
#include "unwind/rule.h"

struct file {
    const uint8_t *bytes;
    size_t size;
    Elf64_Phdr ph[64];
    unsigned count;
};

static int read_file(void *ctx, uint64_t addr, void *dst, size_t n) {
    const struct file *f = ctx;
    for (unsigned i = 0; i < f->count; i++) {
        const Elf64_Phdr *p = &f->ph[i];
        uint64_t offset = addr - p->p_vaddr;
        if (p->p_type != PT_LOAD || offset > p->p_filesz || n > p->p_filesz - offset ||
            p->p_offset + offset + n > f->size) {
            continue;
        }
        memcpy(dst, f->bytes + p->p_offset + offset, n);
        return 0;
    }
    return -EFAULT;
}

static const char *const names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                    "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};

static const char *name_of(uint64_t reg) {
    static char other[24];
    if (reg < sizeof names / sizeof *names) {
        return names[reg];
    }
    snprintf(other, sizeof other, "r%" PRIu64, reg);
    return other;
}

static void print_row(const struct hd_row *row) {
    printf("%016" PRIx64, row->start);
    if (row->cfa_expression) {
        printf(" exp");
    } else {
        printf(" %s%+" PRId64, name_of(row->cfa_register), row->cfa_offset);
    }
    for (unsigned i = 0; i < HD_ARCH_REGS; i++) {
        const struct hd_register_rule *r = &row->reg[i];
        switch (r->how) {
        case HD_HOW_SAME:
            printf(" s");
            break;
        case HD_HOW_OFFSET:
            printf(" c%+" PRId64, r->value);
            break;
        case HD_HOW_VAL_OFFSET:
            printf(" v%+" PRId64, r->value);
            break;
        case HD_HOW_REGISTER:
            printf(" r%" PRId64, r->value);
            break;
        case HD_HOW_EXPRESSION:
            printf(" exp");
            break;
        case HD_HOW_VAL_EXPRESSION:
            printf(" vexp");
            break;
        default:
            printf(" u");
            break;
        }
    }
    putchar('\n');
}

/* Does the compact rule say what the row says? */
static bool is_faithful(const struct hd_row *row, const struct hd_rule *rule) {
    static const uint8_t slots[] = HD_ARCH_SLOTS;
    int64_t saved[HD_REGS_MAX] = {0};
    unsigned depth = HD_ARCH_RETURN_WORDS;
    if (rule->kind == HD_RULE_ROOT) {
        return row->reg[row->return_column].how == HD_HOW_UNDEFINED;
    }
    if (rule->kind != HD_RULE_SP && rule->kind != HD_RULE_FP) {
        return rule->kind == HD_RULE_ROW;
    }
    if (row->cfa_expression || row->cfa_register != (rule->kind == HD_RULE_SP ? HD_ARCH_SP : HD_ARCH_FP) ||
        row->cfa_offset != rule->cfa_offset || row->reg[HD_ARCH_PC].how != HD_HOW_OFFSET ||
        row->reg[HD_ARCH_PC].value != -8) {
        return false;
    }
    for (unsigned i = 0; i < sizeof slots; i++) {
        saved[slots[i]] = rule->slot[i] * 8;
        if (-rule->slot[i] > (int)depth) {
            depth = (unsigned)-rule->slot[i];
        }
        if ((rule->slot[i] != 0) != ((rule->saved >> slots[i] & 1) != 0)) {
            return false;
        }
    }
    for (unsigned i = 0; i < HD_ARCH_PC; i++) {
        if (saved[i] != (row->reg[i].how == HD_HOW_OFFSET ? row->reg[i].value : 0) ||
            row->reg[i].how > HD_HOW_OFFSET) {
            return false;
        }
    }
    return rule->depth == depth;
}

static bool is_same(const struct hd_row *a, const struct hd_row *b) {
    for (unsigned i = 0; i < HD_ARCH_REGS; i++) {
        if (a->reg[i].how != b->reg[i].how || a->reg[i].value != b->reg[i].value ||
            a->reg[i].bytes != b->reg[i].bytes) {
            return false;
        }
    }
    return a->start == b->start && a->stop == b->stop && a->cfa_expression == b->cfa_expression &&
           a->cfa_register == b->cfa_register && a->cfa_offset == b->cfa_offset && a->cfa_code == b->cfa_code;
}

struct totals {
    uint64_t functions, rows, whole;
};

static void print_function(const struct hd_memory *memory, const struct hd_eh_table *table,
                           const struct hd_fde *fde, struct totals *totals) {
    static struct hd_cfa_scratch scratch;
    static struct hd_row row, last;
    struct hd_fde found;
    totals->functions++;
    printf("function %016" PRIx64 " %016" PRIx64 "\n", fde->start, fde->stop);
    if (fde->start == fde->stop) {
        return;
    }
    if (hd_eh_table_find(memory, table, fde->start, &found) != 0 || found.address != fde->address ||
        hd_eh_table_find(memory, table, fde->stop - 1, &found) != 0 || found.address != fde->address) {
        printf("# the table does not lead to %" PRIx64 "\n", fde->start);
    }
    for (uint64_t pc = fde->start; pc < fde->stop; pc = row.stop) {
        if (hd_cfa_row(memory, fde, pc, &scratch, &row) != 0 || row.start != pc || row.stop <= pc) {
            printf("# no row at %" PRIx64 "\n", pc);
            return;
        }
        if (hd_cfa_row(memory, fde, row.stop - 1, &scratch, &last) != 0 || !is_same(&row, &last)) {
            printf("# another row at %" PRIx64 "\n", row.stop - 1);
        }
        struct hd_rule rule;
        hd_rule_from_row(&row, &rule);
        if (!is_faithful(&row, &rule)) {
            printf("# the compact rule at %" PRIx64 " says something else\n", pc);
        }
        totals->rows++;
        totals->whole += rule.kind == HD_RULE_ROW;
        print_row(&row);
    }
}

static int print_file(const char *path) {
    struct file f = {0};
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) {
        return -1;
    }
    f.size = (size_t)st.st_size;
    f.bytes = mmap(NULL, f.size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    const Elf64_Ehdr *e = (const void *)f.bytes;
    if (f.bytes == MAP_FAILED || f.size < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0) {
        return -1;
    }
    uint64_t hdr = 0, top = 0;
    f.count = e->e_phnum < 64 ? e->e_phnum : 64;
    memcpy(f.ph, f.bytes + e->e_phoff, f.count * sizeof *f.ph);
    for (unsigned i = 0; i < f.count; i++) {
        if (f.ph[i].p_type == PT_GNU_EH_FRAME) {
            hdr = f.ph[i].p_vaddr;
        }
        if (f.ph[i].p_type == PT_LOAD && f.ph[i].p_vaddr + f.ph[i].p_memsz > top) {
            top = f.ph[i].p_vaddr + f.ph[i].p_memsz;
        }
    }
    struct hd_memory memory = {.read = read_file, .ctx = &f};
    struct hd_eh_table table;
    struct hd_fde fde;
    struct totals totals = {0};
    memset(&fde, 0, sizeof fde);
    int rc = hd_eh_table_open(&memory, hdr, top, &table);
    if (rc != 0) { /* readelf must find nothing then */
        printf("total 0 0 0\n");
        munmap((void *)f.bytes, f.size);
        return 0;
    }
    for (uint64_t at = table.frames; (rc = hd_eh_frame_next(&memory, &at, top, &fde)) == 0;) {
        print_function(&memory, &table, &fde, &totals);
    }
    if (rc != -ENOENT && totals.functions < table.count) { /* the loader's has no terminator */
        printf("# .eh_frame ends with %d\n", rc);
    }
    printf("total %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", totals.functions, totals.rows, totals.whole);
    munmap((void *)f.bytes, f.size);
    return 0;
}

int main(int argc, char **argv) {
    int failed = argc < 2;
    for (int i = 1; i < argc; i++) {
        if (print_file(argv[i]) != 0) {
            fprintf(stderr, "unwind-rows: %s cannot be read\n", argv[i]);
            failed = 1;
        }
    }
    return failed;
}
