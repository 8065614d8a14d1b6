/* SPDX-License-Identifier: MIT
 *
 * Bugs that compute. Two that share a helper: save, verify. Two by different callers of one function: theme,
 * scroll. One in many functions, none of which has half of the time: compile.
 */
#include <dirent.h>
#include <regex.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "editor.h"

#define TEXT 20000
static char text[TEXT + 1];

static void fill(void) {
    for (int i = 0; i < TEXT; i++) {
        text[i] = (char)('a' + (i * 7 + i / 13) % 3);
    }
}

#if VERSION >= 2
void open_recent(int n) {
    while (n-- > 0) {
        sink += (unsigned)n;
    }
}
#endif

static bool match_at(const char *at, const char *word MORE) {
    unsigned n = 0;
    while (word[n] != '\0' && at[n] == word[n]) {
        n++;
    }
    USE(n);
    return word[n] == '\0';
}

static int find_all(const char *word MORE) {
    int found = 0;
    for (int i = 0; i + 40 < TEXT; i++) {
        found += match_at(text + i, word PASS);
    }
    return found;
}

static void search_document(const char *word) {
    while (!over()) {
        sink += (unsigned)find_all(word GIVE);
    }
}

static void on_search(void) {
    fill();
    search_document("abcabcabcabc");
}

static unsigned measure_text(const char *line MORE) {
    unsigned width = 0;
    for (int i = 0; i < 300; i++) {
        width = width * 31 + (unsigned char)line[i];
    }
    USE(width);
    return width;
}

static unsigned layout_node(int depth MORE) {
    unsigned width = measure_text(text + depth PASS);
    for (int child = 0; depth > 0 && child < 2; child++) {
        width += layout_node(depth - 1 PASS);
    }
    return width;
}

static void layout_tree(void) {
    while (!over()) {
        sink += layout_node(10 GIVE);
    }
}

static void on_resize(void) {
    fill();
    layout_tree();
}

static int collate(const char *a, const char *b) {
    int difference = 0;
    for (int i = 0; i < 60; i++) {
        difference += a[i] - b[i];
    }
    return difference;
}

static int compare_rows(const void *a, const void *b) {
    return collate(text + *(const int *)a, text + *(const int *)b);
}

static void sort_rows(int *rows, size_t count MORE) {
    unsigned n = 0;
    USE(n);
    for (size_t i = 0; i < count; i++) {
        rows[i] = (int)((i * 7919 + n) % (TEXT - 100));
    }
    qsort(rows, count, sizeof *rows, compare_rows);
}

static void on_sort(void) {
    int rows[2000];
    fill();
    while (!over()) {
        sort_rows(rows, 2000 GIVE);
    }
}

static void filter_lines(const char *pattern) {
    regex_t filter;
    if (regcomp(&filter, pattern, REG_EXTENDED | REG_NOSUB) == 0) {
        while (!over()) {
            sink += (unsigned)regexec(&filter, text, 0, NULL, 0);
        }
        regfree(&filter);
    }
}

static void on_filter(void) {
    fill();
    text[300] = '\0';
    filter_lines("(a|b|c)*(ab|ba)+c(a|b)*x");
}

#if VERSION >= 2
void close_window(int n) {
    for (int i = 0; i < n; i++) {
        sink ^= (unsigned)i;
    }
}
#endif

static unsigned checksum(const char *bytes, size_t n MORE) {
    unsigned sum = 1;
    for (size_t i = 0; i < n; i++) {
        sum = (sum << 5 | sum >> 27) ^ (unsigned char)bytes[i];
    }
    USE(sum);
    return sum;
}

static void write_document(void) {
    while (!over()) {
        sink += checksum(text, TEXT GIVE);
    }
}

static void on_save(void) {
    fill();
    write_document();
}

static void verify_document(void) {
    for (size_t n = 1; !over(); n++) {
        sink += checksum(text, TEXT - n % 100 GIVE);
    }
}

static void on_verify(void) {
    fill();
    verify_document();
}

static void draw_line(int line MORE) {
    unsigned pixel = (unsigned)line;
    for (int i = 0; i < 4000; i++) {
        pixel = pixel * 1103515245 + 12345;
    }
    USE(pixel);
    sink += pixel;
}

static void redraw_all(int lines MORE) {
    for (int i = 0; i < lines; i++) {
        draw_line(i PASS);
    }
}

static void apply_theme(void) {
    while (!over()) {
        redraw_all(200 GIVE);
    }
}

static void on_theme(void) {
    apply_theme();
}

static void scroll_by(int lines) {
    while (lines > 0 && !over()) {
        redraw_all(50 GIVE);
    }
}

static void on_scroll(void) {
    scroll_by(3);
}

static unsigned lex(unsigned n) {
    for (int i = 0; i < 40000; i++) {
        n = n * 33 + (unsigned char)text[i % TEXT];
    }
    return n;
}

static unsigned parse(unsigned n) {
    for (int i = 0; i < 40000; i++) {
        n ^= n << 13 ^ (unsigned char)text[(i * 3) % TEXT];
    }
    return n;
}

static unsigned emit(unsigned n) {
    for (int i = 0; i < 40000; i++) {
        n = (n >> 3) + n + (unsigned char)text[(i * 5) % TEXT];
    }
    return n;
}

static void compile_unit(int unit MORE) {
    unsigned n = (unsigned)unit;
    USE(n);
    sink += emit(parse(lex(n)));
}

static void on_compile(void) {
    fill();
    for (int unit = 0; !over(); unit++) {
        compile_unit(unit GIVE);
    }
}

static void decode_tiles(char *image, size_t bytes MORE) {
    unsigned value = 1;
    USE(value);
    for (size_t i = 0; i < bytes; i += 4096) {
        image[i] = (char)value;
    }
}

static void load_image(size_t bytes) {
    char *image = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (image != MAP_FAILED) {
        decode_tiles(image, bytes GIVE);
        munmap(image, bytes);
    }
}

static void on_load(void) {
    while (!over()) {
        load_image((size_t)8 << 20);
    }
}

static void scan_folder(const char *path, int depth MORE) {
    DIR *folder = opendir(path);
    struct dirent *entry;
    struct stat file;
    char next[600];
    while (folder != NULL && (entry = readdir(folder)) != NULL && !over()) {
        snprintf(next, sizeof next, "%s/%.250s", path, entry->d_name);
        if (entry->d_name[0] != '.' && lstat(next, &file) == 0 && S_ISDIR(file.st_mode) && depth > 0) {
            scan_folder(next, depth - 1 PASS);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static void on_browse(void) {
    while (!over()) {
        scan_folder("/usr/share", 2 GIVE);
    }
}

struct piece {
    struct piece *next;
    char text[100];
};

static struct piece *insert_piece(struct piece *before, int n MORE) {
    struct piece *piece = malloc(sizeof *piece);
    unsigned value = (unsigned)n;
    USE(value);
    snprintf(piece->text, sizeof piece->text, "piece %u of the text that is pasted", value);
    piece->next = before;
    return piece;
}

static void paste_text(int pieces) {
    struct piece *list = NULL;
    for (int i = 0; i < pieces; i++) {
        list = insert_piece(list, i GIVE);
    }
    while (list != NULL) {
        struct piece *next = list->next;
        free(list);
        list = next;
    }
}

static void on_paste(void) {
    while (!over()) {
        paste_text(2000);
    }
}

static void insert_gap(char *buffer, size_t bytes MORE) {
    unsigned n = 1;
    USE(n);
    memmove(buffer + n, buffer, bytes - n);
    buffer[0] = 'x';
}

static void on_insert(void) {
    char *buffer = calloc(1, 4 << 20);
    while (!over()) {
        insert_gap(buffer, 4 << 20 GIVE);
    }
    sink += (unsigned char)buffer[9];
    free(buffer);
}

static volatile int printer_ready;

static void wait_for_flag(const volatile int *flag MORE) {
    unsigned n = 0;
    USE(n);
    while (*flag == 0 && !over()) {
        for (int i = 0; i < 2000; i++) {
            n += (unsigned)*flag + (unsigned)i;
        }
    }
    sink += n;
}

static void on_print(void) {
    wait_for_flag(&printer_ready GIVE);
}

const struct handler computing[] = {
    {"search", on_search},   {"resize", on_resize}, {"sort", on_sort},     {"filter", on_filter},
    {"save", on_save},       {"verify", on_verify}, {"theme", on_theme},   {"scroll", on_scroll},
    {"compile", on_compile}, {"load", on_load},     {"browse", on_browse}, {"paste", on_paste},
    {"insert", on_insert},   {"print", on_print},   {NULL, NULL},
};
