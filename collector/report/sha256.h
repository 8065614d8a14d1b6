/* SPDX-License-Identifier: MIT
 *
 * SHA-256 (FIPS 180-4) by GnuTLS, for keys and fingerprints. Any thread.
 */
#ifndef COLLECTOR_REPORT_SHA256_H
#define COLLECTOR_REPORT_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

void sha256(const void *data, size_t bytes, uint8_t out[SHA256_BYTES]);

/* "9f86d0...": `bytes` bytes as 2 * bytes digits and a zero. */
void sha256_hex(const uint8_t *data, size_t bytes, char *out);

#endif
