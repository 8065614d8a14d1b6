/* SPDX-License-Identifier: MIT */
// Loads the library that the argument names, and closes it or exits.
#include <dlfcn.h>
#include <string.h>
int main(int argc, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW);
    if (library != NULL && argc > 2 && strcmp(argv[2], "close") == 0) {
        dlclose(library);
    }
    return library == NULL;
}
