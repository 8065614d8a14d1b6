/* SPDX-License-Identifier: MIT */
#include "collector/http/tls.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CHAIN_MAX 16
#define HANDSHAKE 0x16 /* the first byte of a TLS connection */
#define ID_BYTES 64

struct pair {
    gnutls_pcert_st certificate[CHAIN_MAX];
    unsigned count;
    gnutls_privkey_t key;
    struct pair *older; /* a handshake may still use it */
};

static struct pair *_Atomic current;

/* Of the certificate, where `key` is NULL. */
static bool id_of(gnutls_privkey_t key, gnutls_pubkey_t public_key, unsigned char id[ID_BYTES],
                  size_t *bytes) {
    gnutls_pubkey_t own = NULL;
    *bytes = ID_BYTES;
    if (key != NULL && (gnutls_pubkey_init(&own) < 0 || gnutls_pubkey_import_privkey(own, key, 0, 0) < 0)) {
        gnutls_pubkey_deinit(own);
        return false;
    }
    int rc = gnutls_pubkey_get_key_id(key != NULL ? own : public_key, GNUTLS_KEYID_USE_SHA256, id, bytes);
    if (key != NULL) {
        gnutls_pubkey_deinit(own);
    }
    return rc >= 0;
}

static bool belong_together(const struct pair *p) {
    unsigned char a[ID_BYTES], b[ID_BYTES];
    size_t a_bytes, b_bytes;
    return id_of(p->key, NULL, a, &a_bytes) && id_of(NULL, p->certificate[0].pubkey, b, &b_bytes) &&
           a_bytes == b_bytes && memcmp(a, b, a_bytes) == 0;
}

static bool load_key(struct pair *p, const char *file, struct problem *why) {
    gnutls_datum_t text = {NULL, 0};
    int rc = gnutls_load_file(file, &text);
    if (rc >= 0 && (rc = gnutls_privkey_init(&p->key)) >= 0) {
        rc = gnutls_privkey_import_x509_raw(p->key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
    }
    if (text.data != NULL) {
        gnutls_memset(text.data, 0, text.size);
        gnutls_free(text.data);
    }
    if (rc < 0) {
        error_set(why, "cannot use the TLS key %s: %s", file, gnutls_strerror(rc));
    }
    return rc >= 0;
}

static bool load_certificate(struct pair *p, const char *file, struct problem *why) {
    gnutls_datum_t text = {NULL, 0};
    unsigned count = CHAIN_MAX;
    int rc = gnutls_load_file(file, &text);
    if (rc >= 0) {
        rc = gnutls_pcert_list_import_x509_raw(p->certificate, &count, &text, GNUTLS_X509_FMT_PEM, 0);
    }
    gnutls_free(text.data);
    if (rc < 0) {
        error_set(why, "cannot use the TLS certificate %s: %s", file, gnutls_strerror(rc));
        return false;
    }
    p->count = count;
    return true;
}

static void free_pair(struct pair *p) {
    for (unsigned i = 0; i < p->count; i++) {
        gnutls_pcert_deinit(&p->certificate[i]);
    }
    gnutls_privkey_deinit(p->key);
    free(p);
}

bool tls_load(const char *certificate, const char *key, struct problem *why) {
    struct pair *p = calloc(1, sizeof *p);
    if (p == NULL) {
        error_set(why, "cannot use the TLS certificate: out of memory");
        return false;
    }
    if (!load_certificate(p, certificate, why) || !load_key(p, key, why)) {
        free_pair(p);
        return false;
    }
    if (!belong_together(p)) {
        error_set(why, "cannot use the TLS key %s: it is not the certificate's", key);
        free_pair(p);
        return false;
    }
    p->older = atomic_load(&current);
    atomic_store(&current, p);
    return true;
}

void tls_unload(void) {
    for (struct pair *p = atomic_exchange(&current, NULL), *older; p != NULL; p = older) {
        older = p->older;
        free_pair(p);
    }
}

int tls_give(gnutls_session_t session, const struct gnutls_cert_retr_st *info, gnutls_pcert_st **certificates,
             unsigned int *count, gnutls_ocsp_data_st **ocsp, unsigned int *ocsp_count, gnutls_privkey_t *key,
             unsigned int *flags) {
    struct pair *p = atomic_load(&current);
    (void)session;
    (void)info;
    if (p == NULL) {
        return -1;
    }
    *certificates = p->certificate;
    *count = p->count;
    *key = p->key;
    *ocsp = NULL;
    *ocsp_count = 0;
    *flags = 0; /* the caller must not free them */
    return 0;
}

static void say_wants_tls(int fd) {
    static const char answer[] = "HTTP/1.1 400 Bad Request\r\n"
                                 "Content-Type: application/json\r\n"
                                 "Content-Length: 52\r\n"
                                 "Connection: close\r\n\r\n"
                                 "{\"error\":\"this port takes TLS only: use https://\"}\r\n";
    if (send(fd, answer, sizeof answer - 1, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
        shutdown(fd, SHUT_WR); /* nothing of TLS comes after it */
    }
}

/* As GnuTLS's own, but for the first byte of a connection. */
static ssize_t receive(gnutls_transport_ptr_t transport, void *data, size_t bytes) {
    struct tls_start *start = transport;
    unsigned char first = HANDSHAKE;
    if (!start->begun && recv(start->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1) {
        start->begun = true;
        if (first != HANDSHAKE) {
            say_wants_tls(start->fd);
            errno = ECONNRESET;
            return -1;
        }
    }
    return recv(start->fd, data, bytes, 0);
}

void tls_watch_start(struct tls_start *start, gnutls_session_t session, int fd) {
    start->fd = fd;
    gnutls_transport_set_ptr2(session, start, (gnutls_transport_ptr_t)(intptr_t)fd);
    gnutls_transport_set_pull_function(session, receive);
}
