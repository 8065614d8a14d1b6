/* SPDX-License-Identifier: MIT
 *
 * Finds Mach-O files with symbols by their UUID in folders that the user names: folders of dSYM bundles, of
 * build products, of archives. The folders are searched once, at the first query. One thread; allocates.
 */
#ifndef SYMBOLIZER_SYMBOL_FOLDERS_H
#define SYMBOLIZER_SYMBOL_FOLDERS_H

struct symbol_folders;

/* `folders`: separated by colons. NULL: no memory. */
struct symbol_folders *symbol_folders_open(const char *folders);
void symbol_folders_close(struct symbol_folders *f);

/* The path of file number `which` for a UUID in lower-case hex: dSYM files first. NULL: no further one. The
 * path lives as long as `f`. */
const char *symbol_folders_find(struct symbol_folders *f, const char *uuid, unsigned which);

#endif
