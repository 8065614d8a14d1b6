/* SPDX-License-Identifier: MIT
 *
 * _dl_find_object: the loader's data about the object at an address, without the loader's lock. Weak: NULL
 * where the program runs with a C library before glibc 2.35. The headers of such a library lack it too. Any
 * thread; async-signal-safe.
 */
#ifndef HD_FIND_OBJECT_H
#define HD_FIND_OBJECT_H

#include <dlfcn.h>
#include <link.h>

#ifndef DLFO_STRUCT_HAS_EH_DBASE
struct dl_find_object {
    unsigned long long dlfo_flags;
    void *dlfo_map_start, *dlfo_map_end;
    struct link_map *dlfo_link_map;
    void *dlfo_eh_frame;
    unsigned long long reserved[7];
};
int _dl_find_object(void *address, struct dl_find_object *object);
#endif

#pragma weak _dl_find_object

#endif
