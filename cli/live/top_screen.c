/* SPDX-License-Identifier: MIT
 * Draws with ncurses. The text that restores the terminal is prepared, so that a signal handler only writes
 * it: a handler cannot call ncurses. Only the handler is async-signal-safe.
 */
#include "cli/live/top_screen.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "base/types.h"
#include "cli/base/terminal.h"
#include "os/os.h"

#define LINE_CHARS 1024
#define HANDLER_STACK_BYTES (64u << 10)

static const int ends[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU,
                           SIGSEGV, SIGABRT, SIGBUS, SIGFPE,  SIGILL,  SIGTRAP};

static SCREEN *screen;
static struct termios before;
static volatile sig_atomic_t taken;
static char back[256]; /* leaves the screen, shows the cursor, ends attributes */
static size_t back_bytes;
static struct sigaction was[sizeof ends / sizeof ends[0]];
static char handler_stack[HANDLER_STACK_BYTES];

/* ---- putting it back -------------------------------------------------------------------------- */

static int keep_byte(int byte) {
    if (back_bytes < sizeof back) {
        back[back_bytes++] = (char)byte;
    }
    return byte;
}

static void make_up_back(void) {
    static const char *const names[] = {"sgr0", "rmkx", "cnorm", "rmcup"};
    back_bytes = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = tigetstr(names[i]);
        if (text != NULL && text != (const char *)-1) {
            tputs(text, 1, keep_byte);
        }
    }
}

static void put_back_at_signal(int number) {
    if (taken) {
        taken = 0;
        for (size_t done = 0; done < back_bytes;) {
            ssize_t n = write(STDOUT_FILENO, back + done, back_bytes - done);
            if (n <= 0) {
                break;
            }
            done += (size_t)n;
        }
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
    }
    signal(number, SIG_DFL); /* its status is that of the signal */
    raise(number);
}

static void take_signals(void) {
    struct sigaction action = {.sa_handler = put_back_at_signal, .sa_flags = SA_ONSTACK};
    stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    sigfillset(&action.sa_mask);
    (void)sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        sigaction(ends[i], NULL, &was[i]);
        if (was[i].sa_handler != SIG_IGN) { /* nohup's */
            sigaction(ends[i], &action, NULL);
        }
    }
}

static void give_signals_back(void) {
    stack_t none = {.ss_flags = SS_DISABLE};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        sigaction(ends[i], &was[i], NULL);
    }
    (void)sigaltstack(&none, NULL);
}

void top_screen_close(void) {
    if (screen == NULL) {
        return;
    }
    endwin();
    taken = 0;
    delscreen(screen);
    screen = NULL;
    give_signals_back();
}

/* ---- taking it -------------------------------------------------------------------------------- */

static void set_up(void) {
    cbreak();
    noecho();
    nonl();
    intrflush(stdscr, FALSE);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    (void)curs_set(0);
    if (terminal_wants_colour(STDOUT_FILENO) && has_colors()) {
        start_color();
        use_default_colors();
        init_pair(1, COLOR_RED, -1);
    }
}

int top_screen_open(struct problem *why) {
    static bool registered;
    const char *term = getenv("TERM");
    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0 || tcgetattr(STDIN_FILENO, &before) != 0) {
        error_set(why, "cannot show a live view: this is no terminal");
        return -1;
    }
    setlocale(LC_CTYPE, "");
    screen = newterm(NULL, stdout, stdin);
    if (screen == NULL) {
        error_set(why, "cannot show a live view: the terminal '%s' is unknown (TERM)",
                  term != NULL ? term : "");
        return -1;
    }
    make_up_back();
    take_signals();
    taken = 1;
    set_up();
    if (!registered) { /* a library may end the process */
        registered = atexit(top_screen_close) == 0;
    }
    return 0;
}

/* ---- drawing ---------------------------------------------------------------------------------- */

void top_screen_size(int *width, int *height) {
    getmaxyx(stdscr, *height, *width);
}

static attr_t look_of(enum top_style style) {
    switch (style) {
    case TOP_BOLD:
        return A_BOLD;
    case TOP_DIM:
        return A_DIM;
    case TOP_ALARM:
        return A_BOLD | (has_colors() ? (attr_t)COLOR_PAIR(1) : 0);
    case TOP_SELECTED:
        return A_REVERSE;
    default:
        return A_NORMAL;
    }
}

/* So many characters that they take `width` columns at most. Bytes that the locale lacks are question
 * marks. */
static int widen(const char *text, int width, wchar_t wide[LINE_CHARS]) {
    mbstate_t state = {0};
    int used = 0, n = 0;
    while (*text != '\0' && n < LINE_CHARS - 1) {
        size_t bytes = mbrtowc(&wide[n], text, strlen(text), &state);
        if (bytes == (size_t)-1 || bytes == (size_t)-2 || bytes == 0) {
            wide[n] = L'?';
            bytes = 1;
            state = (mbstate_t){0};
        }
        int more = wcwidth(wide[n]);
        if (more < 0) {
            wide[n] = L'?';
            more = 1;
        }
        if (used + more > width) {
            break;
        }
        used += more;
        text += bytes;
        n++;
    }
    wide[n] = L'\0';
    return n;
}

void top_screen_draw(const struct top_page *page) {
    wchar_t wide[LINE_CHARS];
    int width, height;
    top_screen_size(&width, &height);
    erase();
    for (int y = 0; y < height && (size_t)y < page->count; y++) {
        const struct top_line *line = &page->line[y];
        int n = widen(line->text != NULL ? line->text : "", width, wide);
        attrset(look_of(line->style));
        mvaddnwstr(y, 0, wide, n);
        if (line->style == TOP_SELECTED) {
            mvchgat(y, 0, -1, A_REVERSE, 0, NULL);
        }
    }
    attrset(A_NORMAL);
    refresh();
}

/* ---- keys ------------------------------------------------------------------------------------- */

static enum top_key meaning(int key) {
    static const struct {
        int key;
        enum top_key means;
    } keys[] = {{KEY_UP, TOP_KEY_UP},         {'k', TOP_KEY_UP},
                {KEY_DOWN, TOP_KEY_DOWN},     {'j', TOP_KEY_DOWN},
                {KEY_PPAGE, TOP_KEY_PAGE_UP}, {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
                {'s', TOP_KEY_SORT},          {' ', TOP_KEY_PAUSE},
                {'p', TOP_KEY_PAUSE},         {'e', TOP_KEY_EXPAND},
                {'\r', TOP_KEY_EXPAND},       {'\n', TOP_KEY_EXPAND},
                {KEY_ENTER, TOP_KEY_EXPAND},  {'h', TOP_KEY_HELP},
                {'?', TOP_KEY_HELP},          {'d', TOP_KEY_DUMP},
                {'q', TOP_KEY_QUIT},          {27, TOP_KEY_QUIT}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (keys[i].key == key) {
            return keys[i].means;
        }
    }
    return key == KEY_RESIZE ? TOP_KEY_NONE : TOP_KEY_OTHER;
}

enum top_key top_screen_key(uint64_t until_ns) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int key = getch(); /* also a resize, or what came with the key before */
    if (key != ERR) {
        return meaning(key);
    }
    uint64_t now_ns = hd_os_now_ns();
    int wait_ms = until_ns > now_ns ? (int)((until_ns - now_ns + HD_NS_PER_MS - 1) / HD_NS_PER_MS) : 0;
    int rc = poll(&input, 1, wait_ms);
    if (rc > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
        return TOP_KEY_QUIT; /* the terminal is gone */
    }
    key = rc != 0 ? getch() : ERR;
    return key != ERR ? meaning(key) : TOP_KEY_NONE;
}
