/* SPDX-License-Identifier: MIT */
#include "fake_exceptions.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

struct fake_exceptions fake_exceptions;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void add(char letter) {
    size_t n = strlen(fake_exceptions.log);
    if (n + 1 < sizeof fake_exceptions.log) {
        fake_exceptions.log[n] = letter;
    }
}

static int take(hd_port *port) {
    pthread_mutex_lock(&lock);
    add('t');
    *port = fake_exceptions.take_rc == 0 ? 0x903 : 0;
    fake_exceptions.taken = fake_exceptions.take_rc == 0;
    pthread_mutex_unlock(&lock);
    return fake_exceptions.take_rc;
}

static void restore(void) {
    pthread_mutex_lock(&lock);
    if (fake_exceptions.taken) {
        add('x');
    }
    fake_exceptions.taken = false;
    pthread_mutex_unlock(&lock);
}

static int receive(hd_port port, struct hd_mach_exception *out) {
    pthread_mutex_lock(&lock);
    fake_exceptions.receives = true;
    pthread_cond_broadcast(&changed);
    while (!fake_exceptions.raised && !fake_exceptions.closed && port == 0x903) {
        pthread_cond_wait(&changed, &lock);
    }
    int rc = fake_exceptions.raised ? 0 : -EIO;
    *out = fake_exceptions.exception;
    fake_exceptions.receives = rc == 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return rc;
}

static void refuse(const struct hd_mach_exception *exception) {
    pthread_mutex_lock(&lock);
    (void)exception;
    add('f');
    fake_exceptions.raised = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void close_port(hd_port port) {
    pthread_mutex_lock(&lock);
    (void)port;
    add('c');
    fake_exceptions.closed = true;
    pthread_cond_broadcast(&changed);
    while (fake_exceptions.receives) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

struct hd_mach_exception_calls hd_mach_exception_calls = {
    .take = take, .restore = restore, .receive = receive, .refuse = refuse, .close = close_port};

void fake_exceptions_reset(void) {
    memset(&fake_exceptions, 0, sizeof fake_exceptions);
}

void fake_exceptions_raise(const struct hd_mach_exception *exception) {
    pthread_mutex_lock(&lock);
    fake_exceptions.exception = *exception;
    fake_exceptions.raised = true;
    pthread_cond_broadcast(&changed);
    while (fake_exceptions.raised) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}
