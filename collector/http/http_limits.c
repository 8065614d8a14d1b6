/* SPDX-License-Identifier: MIT
 *
 * Limits of a key: the app of the reports, their size, and the number of reports of one bug.
 */
#include <string.h>

#include "collector/base/monotonic.h"
#include "collector/http/http_private.h"

#define LIMIT_SECONDS 3600 /* an administrator may have changed it then */

long http_limit_rows(struct request *r) {
    struct key_limits limits;
    char app[STORE_APP_BYTES];
    long longest = 0;
    size_t i = 0;
    keys_limits(r->http->keys, &limits);
    keys_app(r->http->keys, r->key, app);
    while (i < r->ingest.count) {
        const struct row *row = &r->ingest.rows[i];
        if (app[0] != '\0' && strcmp(app, row->app) != 0) {
            ingest_refuse_row(&r->ingest, i, "/app/name", "this key sends reports of another app", 0);
            continue;
        }
        if (limits.report_bytes > 0 && row->text_bytes > (size_t)limits.report_bytes) {
            ingest_refuse_row(&r->ingest, i, "", "is larger than a report may be here", LIMIT_SECONDS);
            continue;
        }
        long wait = row->grouped ? group_limit_take(r->http->group_limit, r->key, row->group.fingerprint,
                                                    limits.group_reports_per_minute, monotonic_ns())
                                 : 0;
        if (wait > 0) {
            ingest_refuse_row(&r->ingest, i, "", "this key sends too many reports of this bug", wait);
            longest = wait > longest ? wait : longest;
            continue;
        }
        i++;
    }
    return longest;
}
