/* SPDX-License-Identifier: MIT */
#ifndef HD_ANALYSIS_HASH_H
#define HD_ANALYSIS_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HD_HASH_BEGIN 0xcbf29ce484222325ULL

/* FNV-1a of 64 bits (its authors' offset and prime), continued. Any thread; async-signal-safe. */
uint64_t hd_hash(uint64_t hash, const void *bytes, size_t n);

#endif
