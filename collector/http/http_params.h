/* SPDX-License-Identifier: MIT
 *
 * The parameters of a request's address. They are hostile input: a value that is too long, not text or out
 * of range is refused, with the reason. One thread.
 */
#ifndef COLLECTOR_HTTP_PARAMS_H
#define COLLECTOR_HTTP_PARAMS_H

#include <microhttpd.h>
#include <stdbool.h>

#define PARAMS_TEXT_MAX 200
#define PARAMS_OFFSET_MAX 100000

struct http_params {
    struct MHD_Connection *connection;
    char why[160]; /* the first fault; empty: none so far */
};

/* "" where it is missing or wrong. Valid for the request's life. */
const char *http_param_text(struct http_params *p, const char *name);
/* One of the words, as its place in the list, which ends with NULL; `usual` where it is missing or wrong. */
int http_param_word(struct http_params *p, const char *name, int usual, const char *const words[]);
/* `usual` where it is missing or wrong. */
long http_param_number(struct http_params *p, const char *name, long usual, long min, long max);

#endif
