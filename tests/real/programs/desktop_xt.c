/* SPDX-License-Identifier: MIT
 *
 * A window of the X Toolkit's with a timer.
 */
#include <X11/Intrinsic.h>
#include <X11/Shell.h>
#include <X11/StringDefs.h>

#include "schedule.h"

static void on_timer(XtPointer context, XtIntervalId *timer) {
    int ms = run_callback();
    (void)timer;
    if (ms < 0) {
        XtAppSetExitFlag(context);
    } else {
        XtAppAddTimeOut(context, (unsigned long)ms, on_timer, context);
    }
}

int main(int argc, char **argv) {
    XtAppContext context;
    int one = 1;
    char *name[] = {argv[0], NULL};
    Widget shell = XtVaOpenApplication(&context, "Hangdog", NULL, 0, &one, name, NULL,
                                       applicationShellWidgetClass, XtNwidth, 200, XtNheight, 100, NULL);
    if (argc < 2) {
        return 2;
    }
    XtRealizeWidget(shell);
    XtAppAddTimeOut(context, (unsigned long)first_wait_ms(argv), on_timer, context);
    XtAppMainLoop(context);
    return 0;
}
