/* SPDX-License-Identifier: MIT
 *
 * Shows a Mach-O file to libdw as an ELF file in memory. A head of ours lies in front, and the file's own
 * bytes are mapped behind it, not copied. One thread; allocates.
 */
#ifndef SYMBOLIZER_MACHO_FILE_H
#define SYMBOLIZER_MACHO_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "symbolizer/macho_slice.h"

#define MACHO_UUID_TEXT 33u /* lower-case hex and a NUL */

struct macho_file {
    char *elf; /* NULL: there is none */
    size_t bytes;
};

/* True: the file begins as a Mach-O file does. */
bool macho_file_is(int fd);
/* A program of the file. */
struct macho_program {
    char uuid[MACHO_UUID_TEXT]; /* empty: it has none */
    uint64_t offset, bytes;     /* in the file; these bytes are a Mach-O file, too */
    bool has_names;             /* symbols of functions, or debug information */
};
/* Lists the file's programs. Returns their number; 0: it is no Mach-O file, or a broken one. */
unsigned macho_file_programs(int fd, struct macho_program out[MACHO_SLICES_MAX]);
/* Maps the file with the program that has this UUID, in lower-case hex; NULL: the first program. Returns
 * NULL, or why that cannot be. */
const char *macho_file_map(struct macho_file *out, int fd, const char *uuid);
void macho_file_unmap(struct macho_file *m);

#endif
