/* SPDX-License-Identifier: MIT */
#include "errors.h"

#include <errno.h>

#include "thread.h"

/* 1 to 34 are the same on both systems, but for EAGAIN. */
static const struct {
    int host, darwin;
} different[] = {
    {EAGAIN, 35},       {EDEADLK, 11},      {EINPROGRESS, 36}, {EALREADY, 37},     {ENOTSOCK, 38},
    {EDESTADDRREQ, 39}, {EMSGSIZE, 40},     {EOPNOTSUPP, 102}, {EAFNOSUPPORT, 47}, {EADDRINUSE, 48},
    {ENETUNREACH, 51},  {ECONNRESET, 54},   {ENOBUFS, 55},     {EISCONN, 56},      {ENOTCONN, 57},
    {ETIMEDOUT, 60},    {ECONNREFUSED, 61}, {ELOOP, 62},       {ENAMETOOLONG, 63}, {EHOSTUNREACH, 65},
    {ENOTEMPTY, 66},    {EDQUOT, 69},       {ESTALE, 70},      {ENOLCK, 77},       {ENOSYS, 78},
    {EOVERFLOW, 84},    {ECANCELED, 89},    {EBADMSG, 94},     {ENODATA, 93},
};

int errors_darwin(int host) {
    for (unsigned i = 0; i < sizeof different / sizeof different[0]; i++) {
        if (different[i].host == host) {
            return different[i].darwin;
        }
    }
    return host;
}

void errors_set(int host) {
    thread_self->error = errors_darwin(host);
}

int errors_fail(int host) {
    errors_set(host);
    return -1;
}

int errors_of(int result) {
    return result == -1 ? errors_fail(errno) : result;
}

long errors_of_long(long result) {
    return result == -1 ? errors_fail(errno) : result;
}
