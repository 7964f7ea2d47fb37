/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a SPANK plugin sees of slurmstepd: loads one as Slurm does, runs one
 * hook, prints what it logs and returns.
 *
 *   fake-spank-host [--ignore-children] [--closed-stdio] PLUGIN.so HOOK
 *                   [OPTION...]
 *
 * HOOK is job_prolog, job_epilog, init_post_opt, exit, init or user_init; the environment is the
 * hook's. Output: "info: …", "error: …", "debug: …" per line logged, "returned
 * N", and "fds N" if the hook left descriptors open. */
#include <config.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC visibility push(default)
#include <slurm/slurm.h>
#include <slurm/spank.h>

static FILE *out;

static void put(const char *level, const char *fmt, va_list args)
{
    fprintf(out, "%s: ", level);
    vfprintf(out, fmt, args);
    fputc('\n', out);
}

#define LOGGER(name, level)                                                    \
    void name(const char *format, ...)                                         \
    {                                                                          \
        va_list args;                                                          \
        va_start(args, format);                                                \
        put(level, format, args);                                              \
        va_end(args);                                                          \
    }
LOGGER(slurm_error, "error")
LOGGER(slurm_info, "info")
LOGGER(slurm_debug, "debug")

static const char *environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value != NULL ? value : otherwise;
}

/* In a prolog only these are to be had; in slurmstepd (FAKE_SPANK_STEP: the
 * "script" or a step) more. */
spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    spank_err_t rc = ESPANK_SUCCESS;
    va_list args;

    (void)spank;
    va_start(args, item);
    if (item == S_JOB_ID)
        *va_arg(args, uint32_t *) =
            (uint32_t)atol(environment("SLURM_JOB_ID", "0"));
    else if (item == S_JOB_UID)
        *va_arg(args, uid_t *) = (uid_t)atol(environment("SLURM_JOB_UID", "0"));
    else if (item == S_SLURM_VERSION)
        *va_arg(args, const char **) = "22.05.8";
    else if (item == S_JOB_STEPID && getenv("FAKE_SPANK_STEP") != NULL)
        *va_arg(args, uint32_t *) =
            strcmp(getenv("FAKE_SPANK_STEP"), "script") == 0
                ? SLURM_BATCH_SCRIPT
                : 0;
    else
        rc = ESPANK_NOT_AVAIL;
    va_end(args);
    return rc;
}

spank_err_t spank_getenv(spank_t spank, const char *var, char *buf, int len)
{
    const char *value = getenv(var);

    (void)spank;
    if (getenv("FAKE_SPANK_STEP") == NULL)
        return ESPANK_NOT_REMOTE;
    if (value == NULL)
        return ESPANK_ENV_NOEXIST;
    snprintf(buf, (size_t)len, "%s", value);
    return ESPANK_SUCCESS;
}

/* The option that is registered, for `comm=VALUE` in the environment
 * (FAKE_SPANK_OPTION) to be handed to; in FAKE_SPANK_CONTEXT. */
spank_context_t spank_context(void)
{
    return (spank_context_t)atoi(environment("FAKE_SPANK_CONTEXT", "0"));
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *opt)
{
    const char *value = getenv("FAKE_SPANK_OPTION");

    (void)spank;
    fprintf(out, "option --%s=%s\n", opt->name, opt->arginfo);
    if (value != NULL)
        fprintf(out, "callback %d\n", opt->cb(opt->val, value, 0));
    return ESPANK_SUCCESS;
}
/* What srun was given: FAKE_SPANK_OPTION again. */
spank_err_t spank_option_getopt(spank_t spank, struct spank_option *opt,
                                char **optarg)
{
    (void)spank, (void)opt;
    *optarg = getenv("FAKE_SPANK_OPTION");
    return *optarg ? ESPANK_SUCCESS : ESPANK_ERROR;
}

spank_err_t spank_setenv(spank_t spank, const char *var, const char *val,
                         int overwrite)
{
    (void)spank;
    fprintf(out, "setenv %s=%s%s\n", var, val, overwrite ? " over" : "");
    return ESPANK_SUCCESS;
}
#pragma GCC visibility pop

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static spank_f *load(const char *path, const char *hook)
{
    void *plugin = dlopen(path, RTLD_LAZY);
    char symbol[64];
    spank_f *f;

    if (plugin == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    if (dlsym(plugin, "init") != NULL || dlsym(plugin, "fini") != NULL)
        fprintf(out, "error: the plugin exports init or fini\n");
    snprintf(symbol, sizeof(symbol), "slurm_spank_%s", hook);
    *(void **)&f = dlsym(plugin, symbol);
    if (f == NULL) {
        fprintf(stderr, "%s: no %s\n", path, symbol);
        exit(2);
    }
    return f;
}

/* slurmstepd may have been started without any of the three. */
static void close_stdio(void)
{
    close(0);
    close(1);
    close(2);
}

int main(int argc, char *argv[])
{
    struct sigaction before, after;
    int at = 1, fds, rc;
    spank_f *hook;

    out = fdopen(fcntl(1, F_DUPFD_CLOEXEC, 10), "w");
    setvbuf(out, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--ignore-children") == 0)
            signal(SIGCHLD, SIG_IGN);
        else if (strcmp(argv[at], "--closed-stdio") == 0)
            close_stdio();
    }
    if (at + 2 > argc) {
        fprintf(stderr, "usage: fake-spank-host PLUGIN.so HOOK [OPTION...]\n");
        return 2;
    }
    hook = load(argv[at], argv[at + 1]);
    fds = count_fds();
    sigaction(SIGCHLD, NULL, &before);
    rc = hook(NULL, argc - at - 2, argv + at + 2);
    sigaction(SIGCHLD, NULL, &after);
    fprintf(out, "returned %d\n", rc);
    if (count_fds() != fds)
        fprintf(out, "error: %d descriptors left open\n", count_fds() - fds);
    if (before.sa_handler != after.sa_handler)
        fprintf(out, "error: the disposition of SIGCHLD was changed\n");
    return 0;
}
