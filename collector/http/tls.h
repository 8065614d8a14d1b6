/* SPDX-License-Identifier: MIT
 *
 * The server's certificate, and a word for who comes without TLS. One server in a process: GnuTLS gives the
 * callback nothing to find another one by.
 */
#ifndef COLLECTOR_TLS_H
#define COLLECTOR_TLS_H

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stdbool.h>

#include "cli/base/error.h"

/* Reads both PEM files; connections from now on use them. False, and why: what was loaded before stays. One
 * thread at a time. */
bool tls_load(const char *certificate, const char *key, struct problem *why);
/* After the last connection. */
void tls_unload(void);

/* For MHD_OPTION_HTTPS_CERT_CALLBACK2. */
int tls_give(gnutls_session_t session, const struct gnutls_cert_retr_st *info, gnutls_pcert_st **certificates,
             unsigned int *count, gnutls_ocsp_data_st **ocsp, unsigned int *ocsp_count, gnutls_privkey_t *key,
             unsigned int *flags);

/* The first bytes of a connection; it lives as long as that. */
struct tls_start {
    int fd;
    bool begun;
};
/* Answers the connection in plain HTTP with an error where its first byte is not one of TLS. */
void tls_watch_start(struct tls_start *start, gnutls_session_t session, int fd);

#endif
