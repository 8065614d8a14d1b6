/* SPDX-License-Identifier: MIT */
#include "watch/label.h"

#include <string.h>

/* The number of words that text of so many bytes takes, with its NUL. */
static size_t words_of(size_t bytes) {
    return bytes / sizeof(uint64_t) + 1;
}

/* Returns how many bytes of a text the label takes: all if they fit, else only whole UTF-8 characters. */
static size_t bounded(const char *text, size_t max) {
    size_t n = strnlen(text, max + 1);
    if (n <= max) {
        return n;
    }
    for (n = max; n > max - 3 && ((uint8_t)text[n] & 0xc0) == 0x80; n--) {
    }
    return n;
}

static void store(_Atomic uint64_t *word, const char *text, size_t n) {
    char copy[HD_LABEL_BYTES];
    size_t words = words_of(n);
    memset(copy + (words - 1) * sizeof *word, 0, sizeof *word);
    if (n != 0) {
        memcpy(copy, text, n);
    }
    for (size_t i = 0; i < words; i++) {
        uint64_t value;
        memcpy(&value, copy + i * sizeof value, sizeof value);
        atomic_store_explicit(&word[i], value, memory_order_relaxed);
    }
}

void hd_label_set(struct hd_label *l, uint64_t ticks, const char *label, const char *traceparent) {
    uint32_t sequence = atomic_load_explicit(&l->sequence, memory_order_relaxed);
    if ((sequence & 1) != 0) {
        return; /* a signal handler interrupted the call that changes the text */
    }
    atomic_store_explicit(&l->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&l->ticks, ticks, memory_order_relaxed);
    store(l->word, label, label != NULL ? bounded(label, HD_LABEL_BYTES - 1) : 0);
    size_t n = traceparent != NULL ? strnlen(traceparent, HD_TRACEPARENT_BYTES) : 0;
    store(l->word + HD_LABEL_BYTES / sizeof(uint64_t), traceparent, n < HD_TRACEPARENT_BYTES ? n : 0);
    atomic_store_explicit(&l->sequence, sequence + 2, memory_order_release);
}

bool hd_label_read(const struct hd_label *l, uint64_t *ticks, struct hd_label_text *out) {
    uint64_t word[HD_LABEL_WORDS];
    uint32_t sequence = atomic_load_explicit(&l->sequence, memory_order_acquire);
    if (sequence == 0 || (sequence & 1) != 0) {
        return false;
    }
    *ticks = atomic_load_explicit(&l->ticks, memory_order_relaxed);
    for (size_t i = 0; i < HD_LABEL_WORDS; i++) {
        word[i] = atomic_load_explicit(&l->word[i], memory_order_relaxed);
    }
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&l->sequence, memory_order_relaxed) != sequence) {
        return false;
    }
    memcpy(out, word, sizeof *out);
    out->label[HD_LABEL_BYTES - 1] = out->traceparent[HD_TRACEPARENT_BYTES - 1] = '\0';
    return true;
}

/* ---- on the worker thread --------------------------------------------------------------------- */

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* True: VERSION-TRACE-PARENT-FLAGS of 2, 32, 16 and 2 hexadecimal digits; the ids are not all zero, and the
 * version is not ff. */
static bool is_traceparent(const char *s) {
    static const char form[] = "xx-tttttttttttttttttttttttttttttttt-pppppppppppppppp-xx";
    bool trace = false, parent = false;
    for (size_t i = 0; i < sizeof form - 1; i++) {
        if (form[i] == '-' ? s[i] != '-' : !is_hex(s[i])) {
            return false;
        }
        trace |= form[i] == 't' && s[i] != '0';
        parent |= form[i] == 'p' && s[i] != '0';
    }
    return s[sizeof form - 1] == '\0' && trace && parent && memcmp(s, "ff", 2) != 0;
}

void hd_label_clean(struct hd_label_text *text) {
    for (char *c = text->label; *c != '\0'; c++) {
        *c = (uint8_t)*c < 0x20 || *c == 0x7f ? '?' : *c;
    }
    if (!is_traceparent(text->traceparent)) {
        text->traceparent[0] = '\0';
    }
}
