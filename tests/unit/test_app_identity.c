/* SPDX-License-Identifier: MIT
 *
 * What a program that is only run is called, and in which version.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/script_argument.h"
#include "cli/run/app_identity.h"
#include "folder.h"

static const char *script(const char *line) {
    static char text[256];
    char *words[16] = {NULL}, *rest = NULL;
    snprintf(text, sizeof text, "%s", line);
    unsigned n = 0;
    for (char *w = strtok_r(text, " ", &rest); w != NULL; w = strtok_r(NULL, " ", &rest)) {
        words[n++] = w;
    }
    const char *found = hd_script_argument(words);
    return found != NULL ? found : "";
}

static void finds_the_script_of_an_interpreter(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"python3 app.py --port 80", "app.py"},
        {"/usr/bin/python3.11 -X dev -W error -u app.py", "app.py"},
        {"python3 -I app.py", "app.py"},
        {"python3 -m uvicorn main:app", "uvicorn"},
        {"python3 -c print() app.py", ""},
        {"python3", ""},
        {"node --require ./trace.js --inspect server.js", "server.js"},
        {"node -e 1", ""},
        {"ruby -I lib bin/rails server", "bin/rails"},
        {"perl -w job.pl", "job.pl"},
        {"java -Xmx1g -jar shop.jar", "shop.jar"},
        {"java -cp lib Main", ""},
        {"bash -c ./server", ""},
        {"sh ./start.sh", "./start.sh"},
        {"bash --rcfile rc -i", ""},
        {"luajit game.lua", "game.lua"},
        {"redis-server redis.conf", ""},
        {"pythonize app.py", ""},
        {"/opt/php8.2 -- site.php", "site.php"},
        {"php -S 127.0.0.1:8000 -t public", ""},
        {"php -d memory_limit=1G -S 127.0.0.1:8000 router.php", "router.php"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(cases[i][1], script(cases[i][0]));
    }
}

static char folder[] = "/tmp/hangdog-app-XXXXXX";

static void put(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + sizeof folder; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    fputs(text, to);
    fclose(to);
}

static struct app_identity found(const char *program, const char *argument) {
    char path[256];
    struct app_identity app;
    snprintf(path, sizeof path, "%s/%s", folder, argument);
    char *words[] = {(char *)(uintptr_t)program, path, NULL};
    app_identity_find(NULL, NULL, NULL, words, &app);
    return app;
}

static void takes_name_and_version_from_package_json(void **state) {
    (void)state;
    put("web/package.json", "{\"name\": \"@shop/api\", \"version\": \"2.3.4\"}");
    put("web/src/server.js", "");
    struct app_identity app = found("node", "web/src/server.js");
    assert_string_equal("api", app.name);
    assert_string_equal("2.3.4", app.version);
    assert_false(app.named);
    app = found("python3", "web/src/server.js"); /* not Python's */
    assert_string_equal("server.js", app.name);
    put("odd/package.json", "{\"name\": \"../..\", \"version\": 7}");
    put("odd/server.js", "");
    app = found("node", "odd/server.js");
    assert_string_equal("server.js", app.name);
    assert_string_equal("", app.version);
}

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

static void takes_the_version_from_git(void **state) {
    (void)state;
    put("repo/bin/app.py", "");
    put("repo/.git/HEAD", "ref: refs/heads/main\n");
    assert_string_equal("", found("python3", "repo/bin/app.py").version);
    put("repo/.git/packed-refs", "# pack-refs with: peeled\n" COMMIT " refs/heads/main\n");
    assert_string_equal("0123456789ab", found("python3", "repo/bin/app.py").version);
    put("repo/.git/packed-refs",
        COMMIT " refs/heads/main\n"
               "ffffffffffffffffffffffffffffffffffffffff refs/tags/v2\n^" COMMIT "\n");
    assert_string_equal("v2", found("python3", "repo/bin/app.py").version);
    put("repo/.git/HEAD", "ref: refs/../../../secret\n");
    put("secret", COMMIT "\n");
    assert_string_equal("", found("python3", "repo/bin/app.py").version);
    put("tree/.git", "gitdir: /nowhere\n");
    put("tree/app.py", "");
    assert_string_equal("", found("python3", "tree/app.py").version);
}

static void takes_the_version_of_a_debian_package(void **state) {
    (void)state;
    char *words[] = {(char *)(uintptr_t) "redis-server", NULL};
    struct app_identity app;
    app_identity_find(NULL, NULL, NULL, words, &app);
    if (access("/var/lib/dpkg/info/redis-server.list", F_OK) != 0) {
        skip();
    }
    assert_string_equal("redis-server", app.name);
    assert_non_null(strchr(app.version, ':')); /* 5:7.0.15-1 */
}

static void believes_the_user_first(void **state) {
    (void)state;
    char *words[] = {(char *)(uintptr_t) "python3", (char *)(uintptr_t) "app.py", NULL};
    struct app_identity app;
    setenv("HANGDOG_APP", "shop", 1);
    setenv("HANGDOG_VERSION", "7", 1);
    setenv("HANGDOG_ENVIRONMENT", "staging", 1);
    app_identity_find(NULL, NULL, NULL, words, &app);
    assert_string_equal("shop", app.name);
    assert_string_equal("7", app.version);
    assert_string_equal("staging", app.environment);
    assert_true(app.named);
    app_identity_find("till", "8", "production", words, &app);
    assert_string_equal("till", app.name);
    assert_string_equal("8", app.version);
    assert_string_equal("production", app.environment);
    setenv("HANGDOG_APP", "a/b", 1);
    app_identity_find(NULL, NULL, NULL, words, &app);
    assert_string_equal("app.py", app.name);
    unsetenv("HANGDOG_APP");
    unsetenv("HANGDOG_VERSION");
    unsetenv("HANGDOG_ENVIRONMENT");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_script_of_an_interpreter),
        cmocka_unit_test(takes_name_and_version_from_package_json),
        cmocka_unit_test(takes_the_version_from_git),
        cmocka_unit_test(takes_the_version_of_a_debian_package),
        cmocka_unit_test(believes_the_user_first),
    };
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return folder_remove(folder) == 0 ? failed : 1;
}
