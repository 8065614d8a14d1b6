/* SPDX-License-Identifier: MIT
 *
 * Events as Sentry's clients send them, with single quotes: of @sentry/node 11.12 and of Python's sentry-sdk
 * 1.9, shortened, and one of a native client. Included after cmocka.h.
 */
#ifndef TEST_SENTRY_EVENTS_H
#define TEST_SENTRY_EVENTS_H

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define SENTRY_CONTEXTS                                                                                  \
    "'contexts':{'trace':{'trace_id':'cda14c70497d4719b0ee00f1912018ee','span_id':'9a551376d17d2cbd'},"  \
    "'runtime':{'name':'node','version':'v24.21.0'},'app':{'app_start_time':'2026-11-26T12:28:43.823Z'," \
    "'app_memory':108142592},'os':{'kernel_version':'6.1.0','name':'Debian','version':'12.11\\n'},"      \
    "'device':{'boot_time':'2026-11-25T19:27:19.255Z','arch':'x64','processor_count':2}},"               \
    "'environment':'production','release':'shop@1.2','level':'error','platform':'node',"                 \
    "'sdk':{'name':'sentry.javascript.node','version':'11.12.0'}"

static const char sentry_node_error[] =
    "{'exception':{'values':[{'type':'TypeError','value':'no card','stacktrace':{'frames':["
    "{'filename':'node:internal/timers','module':'timers','function':'listOnTimeout','lineno':685,'colno':17,"
    "'in_app':false},{'filename':'/srv/shop.js','module':'shop','function':"
    "'Timeout.checkout [as _onTimeout]','lineno':6,'colno':33,'in_app':true},{'filename':'/srv/shop.js',"
    "'module':'shop','function':'chargeCard','lineno':5,'colno':35,'in_app':true}]},"
    "'mechanism':{'type':'generic','handled':true}}]},'event_id':'580ba058a23e42c6bffdd22c245fafd9',"
    "'server_name':'vm','timestamp':1795696126.515," SENTRY_CONTEXTS "}";

/* The client sends no time with a hang. */
static const char sentry_node_hang[] =
    "{'event_id':'a626073bd83649c788e3c6e152baa5c5','exception':{'values':[{'type':'ApplicationNotResponding',"
    "'value':'Application Not Responding for at least 600 ms','stacktrace':{'frames':["
    "{'filename':'node:internal/timers','function':'listOnTimeout','colno':17,'lineno':685,'in_app':false},"
    "{'filename':'/srv/shop.js','function':'onRequest','colno':28,'lineno':8,'in_app':true},"
    "{'filename':'/srv/shop.js','function':'resizeImage','colno':30,'lineno':7,'in_app':true}]},"
    "'mechanism':{'type':'ANR'}}]},'tags':{}," SENTRY_CONTEXTS "}";

static const char sentry_python_error[] =
    "{'level':'error','exception':{'values':[{'module':null,'type':'OSError','value':'no paper',"
    "'mechanism':null,'stacktrace':{'frames':[{'filename':'till.py','abs_path':'/srv/till.py',"
    "'function':'<module>','module':'__main__','lineno':10,'pre_context':[],'context_line':null,"
    "'vars':{'x':'1'},'in_app':true},{'filename':'till.py','abs_path':'/srv/till.py',"
    "'function':'print_receipt','module':'__main__','lineno':7,'vars':{},'in_app':true}]}}]},"
    "'event_id':'6c3a9be28b2b4c0abcd5079007b9962e','timestamp':'2026-11-26T12:28:31.336071Z',"
    "'contexts':{'runtime':{'name':'CPython','version':'3.11.2'}},'release':'till@7',"
    "'environment':'production','server_name':'vm','sdk':{'name':'sentry.python','version':'1.9.10'},"
    "'platform':'python','user':{'id':7,'email':'ann@example.org'}}";

static const char sentry_native_crash[] =
    "{'event_id':'00112233-4455-6677-8899-AABBCCDDEEFF','timestamp':'2026-01-31T12:00:00Z',"
    "'platform':'native','release':'shop@1.2','debug_meta':{'images':[{'type':'elf',"
    "'code_id':'F1C3BCC0279865FE','debug_id':'c0bcc3f1-9827-fe65-3058-404b2831d9e6','image_addr':'0x5000',"
    "'image_size':4096,'code_file':'/opt/shop'},{'type':'macho',"
    "'debug_id':'C0BCC3F1-9827-FE65-3058-404B2831D9E6','image_addr':65536,'image_size':8192,"
    "'debug_file':'shop.dSYM'}]},'exception':{'values':[{'type':'SIGSEGV','value':'Segfault','thread_id':7,"
    "'mechanism':{'type':'signalhandler','handled':false,'meta':{'signal':{'number':11,'name':'SIGSEGV'}}}}]},"
    "'threads':{'values':[{'id':6,'name':'worker','stacktrace':{'frames':[{'instruction_addr':'0x5020'}]}},"
    "{'id':'7','crashed':true,'current':true,'name':'main','state':'RUNNABLE','stacktrace':{'frames':["
    "{'instruction_addr':'0x10008'},{'instruction_addr':'0x9999999'},{'instruction_addr':'0x5010',"
    "'function':'sell','package':'/opt/shop','in_app':true}]}}]},"
    "'contexts':{'os':{'name':'macOS','version':'14.1'},'device':{'arch':'arm64'}}}";

static inline json_t *sentry_json(const char *text) {
    static char copy[8192];
    json_error_t error;
    assert_true(strlen(text) < sizeof copy);
    snprintf(copy, sizeof copy, "%s", text);
    for (char *p = copy; *p != '\0'; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    json_t *value = json_loads(copy, JSON_DECODE_ANY, &error);
    if (value == NULL) {
        fail_msg("%s: %s", error.text, text);
    }
    return value;
}

static inline const char *sentry_text(const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "(none)";
}

/* What no client sends. */
static const char *const sentry_odd[] = {"null",
                                         "true",
                                         "7",
                                         "-1",
                                         "1e300",
                                         "9223372036854775807",
                                         "''",
                                         "'x'",
                                         "'\\ud83d\\ude00 \\u0001'",
                                         "[]",
                                         "[1]",
                                         "[[[]]]",
                                         "[null]",
                                         "{}",
                                         "{'values':3}",
                                         "{'frames':'x'}",
                                         "{'values':[{'frames':[7]}]}",
                                         "'0xffffffffffffffff'",
                                         "'99999999999999999999999999'",
                                         "'2026-99-99T99:99:99Z'"};
#define SENTRY_ODD (sizeof sentry_odd / sizeof sentry_odd[0])

/* Puts each odd value at each place of `value`, one at a time, and calls `look` with the place. */
static inline void sentry_each_odd(json_t *value, const char *at, void (*look)(void *to, const char *at),
                                   void *to) {
    char below[512];
    const char *name;
    json_t *member;
    void *next;
    json_object_foreach_safe(value, next, name, member) {
        snprintf(below, sizeof below, "%s/%s", at, name);
        json_incref(member);
        for (size_t i = 0; i < SENTRY_ODD; i++) {
            json_object_set_new(value, name, sentry_json(sentry_odd[i]));
            look(to, below);
        }
        json_object_set(value, name, member);
        sentry_each_odd(member, below, look, to);
        json_decref(member);
    }
    for (size_t k = 0; k < json_array_size(value); k++) {
        snprintf(below, sizeof below, "%s/%zu", at, k);
        member = json_incref(json_array_get(value, k));
        for (size_t i = 0; i < SENTRY_ODD; i++) {
            json_array_set_new(value, k, sentry_json(sentry_odd[i]));
            look(to, below);
        }
        json_array_set(value, k, member);
        sentry_each_odd(member, below, look, to);
        json_decref(member);
    }
}

#endif
