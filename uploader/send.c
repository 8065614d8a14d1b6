/* SPDX-License-Identifier: MIT */
#include "uploader/send.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "hangdog/hangdog.h"

#define CONNECT_SECONDS 15L
#define SECONDS 120L
#define ANSWER_BYTES ((size_t)1 << 20)
#define LEVEL 6

struct sender {
    CURL *curl;
    struct curl_slist *headers;
    const volatile sig_atomic_t *stop;
    char *answer; /* ANSWER_BYTES and a zero */
    size_t answer_bytes;
    char error[CURL_ERROR_SIZE];
};

static size_t take_answer(char *data, size_t size, size_t count, void *sender) {
    struct sender *s = sender;
    size_t bytes = size * count;
    if (bytes > ANSWER_BYTES - s->answer_bytes) {
        return 0; /* ends the transfer: no collector answers so */
    }
    memcpy(s->answer + s->answer_bytes, data, bytes);
    s->answer_bytes += bytes;
    s->answer[s->answer_bytes] = '\0';
    return bytes;
}

static int goes_on(void *sender, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    const struct sender *s = sender;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return *s->stop != 0;
}

static bool add_header(struct sender *s, const char *line) {
    struct curl_slist *more = curl_slist_append(s->headers, line);
    s->headers = more != NULL ? more : s->headers;
    return more != NULL;
}

/* A key goes into a line of the request, so it has no character that ends that. */
static bool is_key(const char *key) {
    for (const char *p = key; *p != '\0'; p++) {
        if (!isgraph((unsigned char)*p)) {
            return false;
        }
    }
    return *key != '\0' && strlen(key) < 200;
}

static bool set_options(struct sender *s, const char *url, const char *key, const char *ca) {
    char address[2048], line[256];
    size_t length = strlen(url);
    while (length > 0 && url[length - 1] == '/') {
        length--;
    }
    snprintf(address, sizeof address, "%.*s/api/v1/reports", (int)length, url);
    snprintf(line, sizeof line, "Authorization: Bearer %s", key);
    return add_header(s, line) && add_header(s, "Content-Type: application/x-ndjson") &&
           add_header(s, "Content-Encoding: zstd") && add_header(s, "Expect:") &&
           curl_easy_setopt(s->curl, CURLOPT_URL, address) == CURLE_OK &&
           curl_easy_setopt(s->curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(s->curl, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
           curl_easy_setopt(s->curl, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
           (ca == NULL || curl_easy_setopt(s->curl, CURLOPT_CAINFO, ca) == CURLE_OK) &&
           curl_easy_setopt(s->curl, CURLOPT_HTTPHEADER, s->headers) == CURLE_OK &&
           curl_easy_setopt(s->curl, CURLOPT_USERAGENT, "hangdog-upload/" HANGDOG_VERSION) == CURLE_OK &&
           curl_easy_setopt(s->curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS) == CURLE_OK &&
           curl_easy_setopt(s->curl, CURLOPT_TIMEOUT, SECONDS) == CURLE_OK &&
           curl_easy_setopt(s->curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(s->curl, CURLOPT_ERRORBUFFER, s->error) == CURLE_OK &&
           curl_easy_setopt(s->curl, CURLOPT_WRITEFUNCTION, take_answer) == CURLE_OK &&
           curl_easy_setopt(s->curl, CURLOPT_WRITEDATA, s) == CURLE_OK &&
           curl_easy_setopt(s->curl, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
           curl_easy_setopt(s->curl, CURLOPT_XFERINFOFUNCTION, goes_on) == CURLE_OK &&
           curl_easy_setopt(s->curl, CURLOPT_XFERINFODATA, s) == CURLE_OK;
}

struct sender *send_open(const char *url, const char *key, const char *ca, const volatile sig_atomic_t *stop,
                         struct problem *why) {
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
        error_set(why, "cannot send to '%.200s': want http://HOST:PORT or https://HOST", url);
        return NULL;
    }
    if (!is_key(key)) {
        error_set(why, "cannot send: the key is none that a collector prints");
        return NULL;
    }
    struct sender *s = calloc(1, sizeof *s);
    if (s != NULL) {
        s->stop = stop;
        s->answer = malloc(ANSWER_BYTES + 1);
        s->curl = curl_easy_init();
    }
    if (s == NULL || s->answer == NULL || s->curl == NULL || !set_options(s, url, key, ca)) {
        error_set(why, "cannot send: libcurl does not start");
        send_close(s);
        return NULL;
    }
    return s;
}

void send_close(struct sender *s) {
    if (s != NULL) {
        curl_easy_cleanup(s->curl);
        curl_slist_free_all(s->headers);
        free(s->answer);
        free(s);
    }
}

struct send_result send_batch(struct sender *s, const char *lines, size_t bytes) {
    struct send_result result = {.error = "out of memory", .answer = s->answer};
    size_t size = ZSTD_compressBound(bytes);
    void *body = malloc(size);
    size_t used = body != NULL ? ZSTD_compress(body, size, lines, bytes, LEVEL) : 0;
    s->answer_bytes = 0;
    s->answer[0] = '\0';
    if (body == NULL || ZSTD_isError(used)) {
        free(body);
        return result;
    }
    curl_easy_setopt(s->curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)used);
    s->error[0] = '\0';
    CURLcode rc = curl_easy_perform(s->curl);
    result.error = s->error[0] != '\0' ? s->error : curl_easy_strerror(rc);
    if (rc == CURLE_OK) {
        curl_off_t wait = 0;
        curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &result.status);
        curl_easy_getinfo(s->curl, CURLINFO_RETRY_AFTER, &wait);
        result.retry_after_s = wait;
    }
    free(body);
    return result;
}
