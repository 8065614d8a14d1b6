/* SPDX-License-Identifier: MIT
 * Removes old reports by whole weeks of arrival, which are partitions. Each look removes only the oldest
 * partition of each table on each host, so that no look empties a store. Runs on the writer's thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/clickhouse_private.h"

static bool drop_oldest_week(struct clickhouse *c, size_t host, const char *table, int64_t before_ms) {
    char sql[512], empty[1] = "";
    struct clickhouse_bytes answer = {0};
    bool is_down;
    snprintf(
        sql, sizeof sql,
        "SELECT DISTINCT partition FROM system.parts WHERE active AND database = '%s' AND table = '%s_local'"
        " AND toDate(replaceAll(partition, '\\'', '')) < toDate(%lld) - 6 ORDER BY partition LIMIT 1 FORMAT TabSeparatedRaw",
        c->database, table, (long long)(before_ms / 1000));
    bool done = clickhouse_ask_host(c, &c->writes, host, sql, NULL, &answer, &is_down);
    char *rest = NULL;
    for (char *week = done ? strtok_r(answer.data != NULL ? answer.data : empty, "\n", &rest) : NULL;
         week != NULL; week = strtok_r(NULL, "\n", &rest)) {
        struct clickhouse_bytes none = {0};
        snprintf(sql, sizeof sql, "ALTER TABLE %s.`%s_local` DROP PARTITION '%.10s'", c->database, table,
                 week + (week[0] == '\''));
        done = clickhouse_ask_host(c, &c->writes, host, sql, NULL, &none, &is_down) && done;
        free(none.data);
    }
    free(answer.data);
    return done;
}

long clickhouse_remove_old(void *at, int64_t before_ms, long max) {
    struct clickhouse *c = at;
    const char *name;
    bool done = true;
    char table[64];
    (void)max;
    pthread_mutex_lock(&c->writes.lock);
    for (size_t host = 0; done && host < c->hosts; host++) {
        for (size_t i = 0; done && (name = clickhouse_table_of_weeks(i)) != NULL; i++) {
            snprintf(table, sizeof table, "%s%s", i == 0 ? "" : ".inner.", name);
            done = drop_oldest_week(c, host, table, before_ms);
        }
    }
    pthread_mutex_unlock(&c->writes.lock);
    return done ? 0 : -1;
}
