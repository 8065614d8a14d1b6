/* SPDX-License-Identifier: MIT */
#include "uploader/send.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#include "cli/reader/report_find.h"
#include "hangdog/hangdog.h"

/* ---- bytes a day ----------------------------------------------------------------------------- */

#define DAY_S 86400

bool send_budget_open(struct budget *b, int64_t limit, struct problem *why) {
    char *folder = reports_default_folder(why);
    b->limit = limit;
    if (folder == NULL) {
        return false;
    }
    int n = snprintf(b->path, sizeof b->path, "%s/.upload-bytes", folder);
    free(folder);
    if (n < 0 || (size_t)n >= sizeof b->path) {
        error_set(why, "cannot count bytes: the path of the reports' folder is too long");
        return false;
    }
    return true;
}

static int64_t used_on(const struct budget *b, int64_t day) {
    long long written = -1, used = 0;
    FILE *file = fopen(b->path, "re");
    if (file != NULL) {
        if (fscanf(file, "%lld %lld", &written, &used) != 2 || written != day || used < 0) {
            used = 0;
        }
        fclose(file);
    }
    return used;
}

bool send_budget_take(const struct budget *b, size_t bytes) {
    const int64_t day = (int64_t)time(NULL) / DAY_S, used = used_on(b, day);
    char next[PATH_MAX + 8];
    if ((int64_t)bytes > b->limit || used > b->limit - (int64_t)bytes) {
        return false;
    }
    snprintf(next, sizeof next, "%s.new", b->path);
    FILE *file = fopen(next, "we");
    bool written =
        file != NULL && fprintf(file, "%lld %lld\n", (long long)day, (long long)used + (long long)bytes) > 0;
    if (file != NULL) {
        written = fclose(file) == 0 && written;
    }
    return written && rename(next, b->path) == 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

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
    const struct budget *budget;
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

static bool set_options(struct sender *s, const struct send_target *t, const char *ca) {
    bool well = add_header(s, "Expect:");
    for (size_t i = 0; well && i < SEND_HEADERS_MAX && t->header[i] != NULL; i++) {
        well = add_header(s, t->header[i]);
    }
    return well && curl_easy_setopt(s->curl, CURLOPT_URL, t->address) == CURLE_OK &&
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

struct sender *send_open(const struct send_target *t, const char *ca, const volatile sig_atomic_t *stop,
                         struct problem *why) {
    struct sender *s = calloc(1, sizeof *s);
    if (s != NULL) {
        s->stop = stop;
        s->answer = malloc(ANSWER_BYTES + 1);
        s->curl = curl_easy_init();
    }
    if (s == NULL || s->answer == NULL || s->curl == NULL || !set_options(s, t, ca)) {
        error_set(why, "cannot send: libcurl does not start");
        send_close(s);
        return NULL;
    }
    return s;
}

static struct sender *open_collector(const char *url, const char *key, const char *ca, const char *type,
                                     const volatile sig_atomic_t *stop, struct problem *why) {
    char address[2048], line[256];
    size_t length = strlen(url);
    if (!send_is_url(url)) {
        error_set(why, "cannot send to '%.200s': want http://HOST:PORT or https://HOST", url);
        return NULL;
    }
    if (!is_key(key)) {
        error_set(why, "cannot send: the key is none that a collector prints");
        return NULL;
    }
    while (length > 0 && url[length - 1] == '/') {
        length--;
    }
    snprintf(address, sizeof address, "%.*s/api/v1/reports", (int)length, url);
    snprintf(line, sizeof line, "Authorization: Bearer %s", key);
    const struct send_target target = {.address = address, .header = {line, type, "Content-Encoding: zstd"}};
    return send_open(&target, ca, stop, why);
}

struct sender *send_open_collector(const char *url, const char *key, const char *ca,
                                   const volatile sig_atomic_t *stop, struct problem *why) {
    return open_collector(url, key, ca, "Content-Type: application/x-ndjson", stop, why);
}

struct sender *send_open_symbols(const char *url, const char *key, const char *ca,
                                 const volatile sig_atomic_t *stop, struct problem *why) {
    return open_collector(url, key, ca, "Content-Type: application/octet-stream", stop, why);
}

void send_set_address(struct sender *s, const char *address) {
    curl_easy_setopt(s->curl, CURLOPT_URL, address);
}

void send_close(struct sender *s) {
    if (s != NULL) {
        curl_easy_cleanup(s->curl);
        curl_slist_free_all(s->headers);
        free(s->answer);
        free(s);
    }
}

/* "60:error:key, 3600:transaction": the seconds for which Sentry takes no errors; 0: it does. */
static int64_t sentry_limit_s(CURL *curl) {
    struct curl_header *header;
    int64_t most = 0;
    if (curl_easy_header(curl, "X-Sentry-Rate-Limits", 0, CURLH_HEADER, -1, &header) != CURLHE_OK) {
        return 0;
    }
    for (const char *at = header->value; at != NULL; at = strchr(at, ',')) {
        char *end;
        at += strspn(at, ", ");
        long seconds = strtol(at, &end, 10);
        const char *kinds = *end == ':' ? end + 1 : end;
        size_t n = strcspn(kinds, ":,");
        bool of_errors = n == 0 || memmem(kinds, n, "error", 5) != NULL;
        most = of_errors && seconds > most ? seconds : most;
    }
    return most;
}

void send_set_budget(struct sender *s, const struct budget *budget) {
    s->budget = budget;
}

struct send_result send_body(struct sender *s, const void *body, size_t bytes) {
    struct send_result result = {.answer = s->answer};
    s->answer_bytes = 0;
    s->answer[0] = '\0';
    if (s->budget != NULL && !send_budget_take(s->budget, bytes)) {
        result.status = SEND_OVER_BUDGET;
        return result;
    }
    curl_easy_setopt(s->curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
    s->error[0] = '\0';
    CURLcode rc = curl_easy_perform(s->curl);
    result.error = s->error[0] != '\0' ? s->error : curl_easy_strerror(rc);
    if (rc == CURLE_OK) {
        curl_off_t wait = 0;
        curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &result.status);
        curl_easy_getinfo(s->curl, CURLINFO_RETRY_AFTER, &wait);
        int64_t limit = sentry_limit_s(s->curl);
        result.retry_after_s = limit > wait ? limit : wait;
    }
    return result;
}

struct send_result send_batch(struct sender *s, const char *lines, size_t bytes, long retries) {
    struct send_result result = {.error = "out of memory", .answer = s->answer};
    size_t size = ZSTD_compressBound(bytes);
    void *body = malloc(size);
    size_t used = body != NULL ? ZSTD_compress(body, size, lines, bytes, LEVEL) : 0;
    s->answer[0] = '\0';
    if (body != NULL && !ZSTD_isError(used)) {
        result = send_until(s, body, used, retries);
    }
    free(body);
    return result;
}

const volatile sig_atomic_t *send_stop(const struct sender *s) {
    return s->stop;
}

bool send_is_url(const char *text) {
    return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
}
