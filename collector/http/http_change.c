/* SPDX-License-Identifier: MIT
 *
 * The changes that a key for administering may make: keys, settings, states and notes of groups.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/http/http_private.h"
#include "collector/keys/key_settings.h"

#define BODY_MAX ((size_t)64 << 10)
#define API "/api/v1/"

bool http_change_takes(const char *method, const char *url) {
    if (strcmp(method, "POST") == 0) {
        return strcmp(url, API "keys") == 0 || strcmp(url, API "settings") == 0 ||
               strncmp(url, API "groups/", sizeof API "groups/" - 1) == 0;
    }
    return strcmp(method, "DELETE") == 0 &&
           (strncmp(url, API "keys/", sizeof API "keys/" - 1) == 0 || http_erase_takes(url));
}

enum MHD_Result http_change_start(struct request *r) {
    const char *why = "";
    r->key = keys_check(r->http->keys, KEY_ADMIN,
                        MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Authorization"));
    if (r->key < 0) {
        atomic_fetch_add(&r->http->denied, 1);
        return http_refuse(r->connection, MHD_HTTP_UNAUTHORIZED, 0, "a key for administering is needed");
    }
    unsigned status = http_body_check(r, BODY_MAX, &why);
    return status == 0 ? MHD_YES : http_refuse(r->connection, status, 0, why);
}

static enum MHD_Result add_key(struct request *r, const json_t *change) {
    const char *use = json_string_value(json_object_get(change, "use"));
    const char *app = json_string_value(json_object_get(change, "app"));
    enum key_use which = KEY_SEND;
    char text[KEY_TEXT_BYTES], none[STORE_APP_BYTES];
    app = app != NULL ? app : "";
    if (use == NULL || strchr(use, ':') != NULL || !keys_use_read(use, &which, none)) {
        return http_refuse(r->connection, MHD_HTTP_BAD_REQUEST, 0, "use: want send, read or admin");
    }
    if (!keys_is_app(app) || (which != KEY_SEND && app[0] != '\0')) {
        return http_refuse(r->connection, MHD_HTTP_BAD_REQUEST, 0,
                           "app: want the name of an app, for a key that sends");
    }
    int64_t id = keys_make(r->http->store, which, app, text);
    if (id < 0) {
        return http_answer_json(r->connection, MHD_HTTP_OK, NULL);
    }
    keys_renew(r->http->keys);
    log_event("key", "key %lld makes key %lld for %s", (long long)keys_id(r->http->keys, r->key),
              (long long)id, keys_use_word(which));
    return http_answer_json(r->connection, MHD_HTTP_OK,
                            json_pack("{s:I, s:s}", "id", (json_int_t)id, "key", text));
}

static enum MHD_Result remove_key(struct request *r, const char *number) {
    char *end;
    long long id = strtoll(number, &end, 10);
    bool is_number = end != number && *end == '\0';
    enum store_found found = is_number ? store_remove_key(r->http->store, id) : STORE_NONE;
    if (found == STORE_NONE) {
        return http_refuse(r->connection, MHD_HTTP_NOT_FOUND, 0, "there is no such key");
    }
    if (found == STORE_UNREAD) { /* the key still lives */
        return http_answer_json(r->connection, MHD_HTTP_OK, NULL);
    }
    log_event("key", "key %lld removes key %lld", (long long)keys_id(r->http->keys, r->key), id);
    keys_renew(r->http->keys);
    return http_answer_json(r->connection, MHD_HTTP_OK, json_pack("{s:I}", "removed", (json_int_t)id));
}

/* With the options of `hangdog serve` that bound what this collector takes. */
static json_t *settings_json(struct http *h) {
    json_t *all = key_settings_json(h->store);
    if (all != NULL) {
        json_object_set_new(all, "options",
                            json_pack("{s:I, s:I}", "limit_mib", (json_int_t)store_limit_mib(h->store),
                                      "rate", (json_int_t)keys_rate(h->keys)));
    }
    return all;
}

static enum MHD_Result set_settings(struct request *r, const json_t *change) {
    const char *fault = key_settings_fault(change);
    if (fault != NULL) {
        return http_refuse(r->connection, MHD_HTTP_BAD_REQUEST, 0, fault);
    }
    if (!key_settings_change(r->http->store, change)) {
        return http_answer_json(r->connection, MHD_HTTP_OK, NULL);
    }
    keys_renew(r->http->keys);
    log_event("settings", "key %lld changes settings", (long long)keys_id(r->http->keys, r->key));
    return http_answer_json(r->connection, MHD_HTTP_OK, settings_json(r->http));
}

/* A member of another type is no change, and is not taken for one that is not there. */
static bool is_text_or_none(const json_t *change, const char *name) {
    const json_t *value = json_object_get(change, name);
    return value == NULL || json_is_string(value);
}

static enum MHD_Result set_issue(struct request *r, const char *fingerprint, const json_t *change) {
    const char *state = json_string_value(json_object_get(change, "state"));
    const char *note = json_string_value(json_object_get(change, "note"));
    bool known = is_text_or_none(change, "state") && is_text_or_none(change, "note");
    known = known && (state == NULL || strcmp(state, "open") == 0 || strcmp(state, "resolved") == 0 ||
                      strcmp(state, "ignored") == 0);
    if (!known || (state == NULL && note == NULL) || (note != NULL && strlen(note) > STORE_NOTE_MAX)) {
        return http_refuse(r->connection, MHD_HTTP_BAD_REQUEST, 0,
                           "want a state (open, resolved, ignored) or a note, which is not too long");
    }
    enum store_found found = store_set_issue(r->http->store, fingerprint, state, note);
    if (found == STORE_NONE) {
        return http_refuse(r->connection, MHD_HTTP_NOT_FOUND, 0, "there is no such group");
    }
    return http_answer_json(r->connection, MHD_HTTP_OK,
                            found == STORE_FOUND ? json_pack("{s:b}", "changed", 1) : NULL);
}

enum MHD_Result http_change(struct request *r, const char *piece, size_t *bytes) {
    const char *path = r->path != NULL ? r->path + sizeof API - 1 : "";
    if (*bytes > 0) {
        if (!http_body_add(r, piece, *bytes, BODY_MAX)) {
            return MHD_NO;
        }
        *bytes = 0;
        return MHD_YES;
    }
    connection_set(r->deadline, CONNECTION_SERVED);
    if (strcmp(r->method, "DELETE") == 0) {
        return strncmp(path, "keys/", 5) == 0 ? remove_key(r, path + 5) : http_erase(r);
    }
    json_t *change = json_loadb(r->body != NULL ? r->body : "", r->bytes, JSON_REJECT_DUPLICATES, NULL);
    enum MHD_Result result;
    if (!json_is_object(change)) {
        result = http_refuse(r->connection, MHD_HTTP_BAD_REQUEST, 0, "the body is no JSON object");
    } else if (strcmp(path, "keys") == 0) {
        result = add_key(r, change);
    } else if (strcmp(path, "settings") == 0) {
        result = set_settings(r, change);
    } else {
        result = set_issue(r, path + strlen("groups/"), change);
    }
    json_decref(change);
    return result;
}

static json_t *keys_json(struct http *h) {
    struct store_key *keys = calloc(STORE_KEYS_MAX, sizeof *keys);
    int count = keys != NULL ? store_keys(h->store, keys, STORE_KEYS_MAX) : -1;
    json_t *all = count >= 0 ? json_array() : NULL;
    for (int i = 0; i < count; i++) {
        /* The store learns it some time later: the key that asks is in use now. */
        const int64_t used_ms = keys_used_ms(h->keys, keys[i].id), stored_ms = keys[i].last_used_ms;
        json_array_append_new(all, json_pack("{s:I, s:s, s:s, s:I, s:I}", "id", (json_int_t)keys[i].id, "app",
                                             keys[i].app, "use", keys_use_word(keys[i].use), "made_ms",
                                             (json_int_t)keys[i].made_ms, "last_used_ms",
                                             (json_int_t)(used_ms > stored_ms ? used_ms : stored_ms)));
    }
    free(keys);
    return all;
}

bool http_admin_read(struct http *h, struct MHD_Connection *c, const char *path, int key,
                     enum MHD_Result *result) {
    enum key_use use = keys_use(h->keys, key);
    if (strcmp(path, "me") == 0) {
        *result = http_answer_json(c, MHD_HTTP_OK, json_pack("{s:s}", "use", keys_use_word(use)));
    } else if (strcmp(path, "settings") == 0) {
        *result = http_answer_json(c, MHD_HTTP_OK, settings_json(h));
    } else if (strcmp(path, "keys") == 0 && use != KEY_ADMIN) {
        atomic_fetch_add(&h->denied, 1);
        *result = http_refuse(c, MHD_HTTP_UNAUTHORIZED, 0, "a key for administering is needed");
    } else if (strcmp(path, "keys") == 0) {
        *result = http_answer_json(c, MHD_HTTP_OK, keys_json(h));
    } else {
        return false;
    }
    return true;
}
