/* SPDX-License-Identifier: MIT
 *
 * All images of the process: load with dependencies, the list that dyld shows, images that come and go.
 */
#ifndef APPLE_LOADER_IMAGES_H
#define APPLE_LOADER_IMAGES_H

#include "image.h"

/* Adds a folder in which dylibs are looked for by the last part of their install name. */
void images_add_folder(const char *folder);
/* Loads an image with the dylibs that it needs, and runs their initialisers if images_start has run. NULL: no
 * such file. */
struct image *images_load(const char *path);
/* Loads the libraries of DYLD_INSERT_LIBRARIES. Before the program, since they may interpose its functions.
 */
void images_load_inserted(void);
/* Runs the initialisers of all images that are loaded now. */
void images_start(int argc, char **argv, char **env);
/* The address of a symbol of any image, or of a variable of the fakes; 0: none. */
uint64_t images_symbol(const char *name);
/* Async-signal-safe. */
bool images_has_code(uint64_t pc);
struct image *images_of_address(uint64_t address);
/* The address of the fake dyld_all_image_infos. */
uint64_t images_infos(void);
struct image *images_of_tls_key(int key);

#endif
