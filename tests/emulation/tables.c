/* SPDX-License-Identifier: MIT
 *
 * Prints the unwind tables of a Mach-O file as the unwinder reads them, in offsets from the header: function
 * starts, each entry with its encoding, and the rows of each FDE that an entry refers to.
 *
 *   tables FILE arm64|x86_64
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emulation/sample.h"
#include "image/macho/function_starts.h"
#include "macho_file.h"
#include "unwind/macho/compact.h"

static struct macho_file file;
static struct hd_macho_tables tables;

/* Registers in the order of llvm-dwarfdump, with its names. */
static const char *name_of(uint32_t reg, char *name) {
    static const char *const intel[] = {"RAX", "RDX", "RCX", "RBX", "RSI", "RDI", "RBP", "RSP", "R8",
                                        "R9",  "R10", "R11", "R12", "R13", "R14", "R15", "RIP"};
    if (file.cpu == HD_MACHO_CPU_X86_64) {
        return reg < sizeof intel / sizeof intel[0] ? intel[reg] : "?";
    }
    snprintf(name, 16, "W%u", reg);
    return reg == 31 ? "WSP" : name;
}

static void print_row(const struct hd_row *row) {
    char name[16];
    printf("row %" PRIx64 " CFA=%s%+" PRId64, row->start - file.base, name_of(row->cfa_register, name),
           row->cfa_offset);
    uint32_t registers = file.cpu == HD_MACHO_CPU_X86_64 ? 17 : HD_REGS_MAX; /* float registers follow */
    for (uint32_t reg = 0; reg < registers; reg++) {
        if (row->reg[reg].how == HD_HOW_OFFSET) {
            printf(" %s=[CFA%+" PRId64 "]", name_of(reg, name), row->reg[reg].value);
        } else if (row->reg[reg].how != HD_HOW_UNSPECIFIED) {
            printf(" %s=%s", name_of(reg, name), row->reg[reg].how == HD_HOW_SAME ? "same" : "?");
        }
    }
    printf("\n");
}

static bool print_fde(uint32_t offset, uint64_t pc) {
    static struct hd_fde fde;
    static struct hd_cfa_scratch scratch;
    struct hd_row row;
    uint64_t at = tables.eh_frame + offset;
    memset(&fde, 0, sizeof fde);
    if (hd_eh_frame_next(&file.memory, &at, tables.eh_frame + tables.eh_frame_bytes, &fde) != 0 ||
        fde.address != tables.eh_frame + offset || fde.start != pc) {
        printf("wrong FDE %" PRIx32 " for %" PRIx64 "\n", offset, pc - file.base);
        return false;
    }
    printf("fde %" PRIx64 " %" PRIx64 "\n", fde.start - file.base, fde.stop - file.base);
    for (uint64_t from = fde.start; from < fde.stop; from = row.stop) {
        if (hd_cfa_row(&file.memory, &fde, from, &scratch, &row) != 0 || row.stop <= from) {
            printf("wrong row at %" PRIx64 "\n", from - file.base);
            return false;
        }
        print_row(&row);
    }
    return true;
}

int main(int argc, char **argv) {
    struct hd_compact compact;
    struct hd_function_starts starts;
    struct hd_compact_entry entry;
    struct hd_row row;
    unsigned functions = 0, counts[4] = {0}, wrong = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: tables FILE arm64|x86_64\n");
        return 2;
    }
    uint32_t cpu = strcmp(argv[2], "arm64") == 0 ? HD_MACHO_CPU_ARM64 : HD_MACHO_CPU_X86_64;
    if (!macho_file_open(&file, argv[1], cpu, IMAGE_BASE) ||
        hd_macho_tables_read(&file.memory, file.base, &tables) != 0) {
        fprintf(stderr, "tables: cannot read '%s' for %s\n", argv[1], argv[2]);
        return 1;
    }
    hd_function_starts_init(&starts, &tables);
    uint64_t first = 0;
    while (hd_function_starts_next(&starts, &file.memory)) {
        first = functions++ == 0 ? starts.start : first;
    }
    int rc = hd_compact_open(&file.memory, &tables, &compact);
    for (uint64_t pc = first; rc == 0 && hd_compact_find(&file.memory, &compact, pc, &entry) == 0;
         pc = entry.stop) {
        int kind = hd_compact_row(&file.memory, cpu, &entry, &row);
        printf("entry %" PRIx64 " %" PRIx64 " %08" PRIx32 "\n", entry.start - file.base,
               entry.stop - file.base, entry.encoding);
        wrong += kind < 0 || entry.start != pc;
        counts[kind & 3]++;
        wrong += kind == HD_COMPACT_DWARF && !print_fde(HD_COMPACT_FDE(entry.encoding), pc);
    }
    printf("total %u functions %u null %u frame %u frameless %u dwarf %u wrong\n", functions,
           counts[HD_COMPACT_NULL], counts[HD_COMPACT_FRAME], counts[HD_COMPACT_FRAMELESS],
           counts[HD_COMPACT_DWARF], wrong);
    return wrong != 0;
}
