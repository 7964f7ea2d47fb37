/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a fuzz target over the files of its corpus, where there is no
 * libFuzzer: fuzz_NAME [DIRECTORY], else TAUT_SRCDIR/tests/fuzz/corpus/NAME.
 * Prints TAP; a file that breaks the target ends the program, and tests/run
 * sees that cases are missing. */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static uint8_t *read_all(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long size;

    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0) {
        rewind(file);
        *n = (size_t)size;
        data = malloc(*n + 1);
        if (data != NULL && fread(data, 1, *n, file) != *n) {
            free(data);
            data = NULL;
        }
    }
    fclose(file);
    return data;
}

static void replay(const char *directory, const char *name, int number)
{
    char *path;
    size_t n = 0;

    if (asprintf(&path, "%s/%s", directory, name) < 0)
        abort();
    printf("# %s\n", path);
    fflush(stdout);
    uint8_t *data = read_all(path, &n);
    free(path);
    if (data == NULL) {
        printf("not ok %d - %s: %s\n", number, name, strerror(errno));
        return;
    }
    LLVMFuzzerTestOneInput(data, n);
    printf("ok %d - %s\n", number, name);
    free(data);
}

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The directory that was given, or else the one of this program. */
static char *corpus(const char *given, const char *program)
{
    const char *src = getenv("TAUT_SRCDIR");
    const char *name = strstr(program, "fuzz_");
    char *path;

    for (const char *next; name != NULL && (next = strstr(name + 1, "fuzz_"));)
        name = next;
    if (given != NULL)
        path = strdup(given);
    else if (asprintf(&path, "%s/tests/fuzz/corpus/%s", src != NULL ? src : ".",
                      name != NULL ? name + strlen("fuzz_") : program) < 0)
        path = NULL;
    if (path == NULL)
        abort();
    return path;
}

int main(int argc, char **argv)
{
    char *directory = corpus(argc > 1 ? argv[1] : NULL, argv[0]);
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, is_file, alphasort);

    if (count < 0) {
        fprintf(stderr, "%s: %s\n", directory, strerror(errno));
        free(directory);
        return 1;
    }
    printf("1..%d\n", count);
    for (int i = 0; i < count; i++) {
        replay(directory, entries[i]->d_name, i + 1);
        free(entries[i]);
    }
    free(entries);
    free(directory);
    return 0;
}
