/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut-pair, which `taut-probe pair' becomes: tests between two nodes by hand,
 * without tautd, Slurm's prolog or MUNGE, before an administrator trusts them. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "plugin/common/options.h"
#include "plugin/pair/control.h"
#include "plugin/pair/ends.h"

#define KEY_VARIABLE "TAUT_PAIR_KEY"
#define CONF_PATH TAUT_CONFDIR "/node.conf"
#define WORDS_MOST 32 /* of the command that srun runs */

static const char usage[] =
    "usage: taut-probe pair A B [OPTION...]   on nodes A and B, by srun\n"
    "       taut-probe pair [OPTION...]       here, until the other calls\n"
    "       taut-probe pair B [OPTION...]     here, with B where that waits\n"
    "\n"
    "Tests between two nodes, on each rail, both ways: a stream, four streams,\n"
    "small messages there and back.  Nothing else of Taut is needed: no tautd,\n"
    "no prolog, no MUNGE.  Options are those of node.conf, which is read first:\n"
    "  --interface IF[,...]|auto   --transport tcp|ofi   --provider P\n"
    "  --domain D   --ofi-env NAME=VALUE[,...]   --run-as NAME\n"
    "and\n"
    "  --ms N      of a test, 5 to 2000; 100\n"
    "  --repeat N  tests of a kind, of which the best counts, 1 to 100; 3\n"
    "  --port N    where the two meet, 1024 to 65535; 6826\n"
    "  --key K     what both have to know, 16 to 64 characters; " KEY_VARIABLE
    " in\n"
    "              the environment does the same, and shows in no list of\n"
    "              processes.  With A and B it is made up\n"
    "  --conf FILE in place of node.conf\n"
    "\n"
    "Exit status: 0 each test has a figure, 1 some have none, 2 else.\n";

struct words {
    const char *nodes[2];
    int count, port;
    const char *key, *conf;
    bool is_task; /* of our own srun */
};

static int complain(const char *what, const char *value)
{
    fprintf(stderr, "taut-probe pair: %s%s%s\n", what, *value ? ": " : "",
            value);
    return 2;
}

static int number(const char *text, int least, int most)
{
    char *end;
    long value = strtol(text, &end, 10);

    return *text == '\0' || *end != '\0' || value < least || value > most
               ? -1
               : (int)value;
}

/* Returns 0, 2: said what is wrong, or -1: it is one of node.conf's. */
static int set_own(struct words *w, struct taut_pair_ends *ends, const char *key,
                   const char *value)
{
    int *into = NULL, least = 1, most = 0;

    if (strcmp(key, "conf") == 0)
        return 0; /* was read before */
    if (strcmp(key, "key") == 0) {
        w->key = value;
        return 0;
    }
    if (strcmp(key, "ms") == 0)
        into = &ends->ms, least = 5, most = 2000;
    else if (strcmp(key, "repeat") == 0)
        into = &ends->repeat, most = 100;
    else if (strcmp(key, "port") == 0)
        into = &w->port, least = 1024, most = 65535;
    if (into == NULL)
        return -1;
    *into = number(value, least, most);
    if (*into >= 0)
        return 0;
    fprintf(stderr, "taut-probe pair: --%s: expected %d to %d, got '%.40s'\n",
            key, least, most, value);
    return 2;
}

static int parse(struct words *w, struct taut_pair_ends *ends, int argc, char *argv[])
{
    struct taut_error why;

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        int rc;

        if (strcmp(argv[i], "--task") == 0) {
            w->is_task = true;
        } else if (strncmp(argv[i], "--", 2) != 0) {
            if (w->count == 2)
                return complain("more than two nodes", argv[i]);
            w->nodes[w->count++] = argv[i];
        } else if (value == NULL) {
            return complain("a value is missing after", argv[i]);
        } else {
            rc = set_own(w, ends, argv[i] + 2, value);
            if (rc < 0 && taut_options_set(&ends->opts, argv[i] + 2, value,
                                           &why) < 0)
                return complain(why.text, "");
            if (rc > 0)
                return rc;
            i++;
        }
    }
    return 0;
}

/* node.conf, or the file that the command line names. */
static int load(struct taut_pair_ends *ends, int argc, char *argv[])
{
    const char *path = CONF_PATH;
    struct taut_error why;

    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--conf") == 0)
            path = argv[i + 1];
    if (taut_options_load(&ends->opts, path, &why) == 0 ||
        (errno == ENOENT && strcmp(path, CONF_PATH) == 0))
        return 0;
    return complain(why.text, "");
}

/* ---- on two nodes of Slurm ---- */

static int make_key(void)
{
    unsigned char noise[16];
    char text[2 * sizeof(noise) + 1];

    randombytes_buf(noise, sizeof(noise));
    sodium_bin2hex(text, sizeof(text), noise, sizeof(noise));
    return setenv(KEY_VARIABLE, text, 0);
}

/* One task on each: A's is the caller. */
static int run_by_srun(const struct words *w, int argc, char *argv[])
{
    const char *run[WORDS_MOST];
    char self[4096], list[512];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int n = 0;

    if (length < 0 || make_key() < 0)
        return complain("/proc/self/exe", strerror(errno));
    self[length] = '\0';
    if (argc + 12 > WORDS_MOST)
        return complain("too many words", "");
    snprintf(list, sizeof(list), "%s,%s", w->nodes[0], w->nodes[1]);
    run[n++] = "srun";
    run[n++] = "-Q";
    run[n++] = "-N2";
    run[n++] = "-n2";
    run[n++] = "-w";
    run[n++] = list;
    run[n++] = self;
    run[n++] = "--task";
    for (int i = 1; i < argc; i++)
        run[n++] = argv[i];
    run[n] = NULL;
    execvp("srun", (char *const *)run);
    return complain("srun", strerror(errno));
}

/* Which of the two is this task?  Names are as Slurm has them. */
static int take_part(struct words *w)
{
    const char *name = getenv("SLURMD_NODENAME");

    if (w->count != 2 || name == NULL ||
        (strcmp(name, w->nodes[0]) != 0 && strcmp(name, w->nodes[1]) != 0))
        return complain("--task is what srun is given; expected two nodes, and "
                        "to run on one of them", "");
    if (strcmp(name, w->nodes[0]) == 0)
        w->nodes[0] = w->nodes[1];
    w->count = strcmp(name, w->nodes[1]) == 0 ? 0 : 1;
    return 0;
}

/* ---- the talk ---- */

static int check_key(struct words *w)
{
    size_t n;

    if (w->key == NULL)
        w->key = getenv(KEY_VARIABLE);
    if (w->key == NULL)
        return complain("no key: --key K, or " KEY_VARIABLE
                        " in the environment, the same on both nodes", "");
    n = strlen(w->key);
    if (n >= TAUT_PAIR_KEY_LEAST && n <= TAUT_PAIR_KEY_MOST)
        return 0;
    fprintf(stderr,
            "taut-probe pair: the key: expected %d to %d characters, got %zu\n",
            TAUT_PAIR_KEY_LEAST, TAUT_PAIR_KEY_MOST, n);
    return 2;
}

static int talk(const struct words *w, struct taut_pair_ends *ends)
{
    static struct taut_control control = {.fd = -1};
    struct taut_error why;
    int rc = w->count == 0
                 ? taut_control_await(&control, w->port, w->key, &why)
                 : taut_control_call(&control, w->nodes[0], w->port, w->key,
                                     &why);

    if (rc < 0)
        return complain(why.text, "");
    if (taut_ends_open(ends, &why) < 0) {
        taut_control_put(&control, json_pack("{s:s}", "error", why.text), NULL);
        rc = complain(why.text, "");
    } else {
        rc = w->count == 0 ? taut_ends_serve(ends, &control)
                           : taut_ends_lead(ends, &control, w->nodes[0]);
    }
    bool leave = taut_rails_are_loading(&ends->rails);
    taut_ends_close(ends);
    taut_control_close(&control);
    if (leave) {
        fflush(stdout);
        _exit(rc);
    }
    return rc;
}

static int run(struct words *w, struct taut_pair_ends *ends, int argc, char *argv[])
{
    int rc = load(ends, argc, argv);

    if (rc == 0)
        rc = parse(w, ends, argc, argv);
    if (rc != 0)
        return rc;
    if (w->is_task)
        rc = take_part(w);
    else if (w->count == 2)
        return run_by_srun(w, argc, argv);
    if (rc == 0)
        rc = check_key(w);
    return rc != 0 ? rc : talk(w, ends);
}

int main(int argc, char *argv[])
{
    static struct taut_pair_ends ends = {.ms = 100, .repeat = 3};
    struct words w = {.port = TAUT_PAIR_PORT};
    int rc;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
    }
    if (sodium_init() < 0)
        return complain("no source of random bytes", "");
    if (taut_options_init(&ends.opts) < 0)
        return complain(strerror(ENOMEM), "");
    rc = run(&w, &ends, argc, argv);
    taut_options_fini(&ends.opts);
    return rc;
}
