/* SPDX-License-Identifier: MIT
 *
 * Memory: mmap with Darwin's flags, vm_allocate, malloc with a lock that a test can take.
 */
#ifndef APPLE_LOADER_MEMORY_H
#define APPLE_LOADER_MEMORY_H

/* A list of ports that a fake gave to the caller, who frees it by vm_deallocate. */
void memory_list_taken(void *list);

#endif
