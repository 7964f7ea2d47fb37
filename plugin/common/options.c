/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/common/options.h"
#include "plugin/common/text.h"

#define VALUE_MAX 1024
#define SETTINGS_MAX 16

typedef bool check_f(const char *value);

static bool is_servers(const char *value)
{
    return taut_text_is_made_of(value, ".:-_[],%", VALUE_MAX);
}

static bool is_name(const char *value)
{
    return taut_text_is_made_of(value, "._-", 255);
}

/* IFNAMSIZ - 1 = 15; a name is a path component under /sys/class/net. */
static bool is_interface(const char *value, size_t n)
{
    char name[16];

    if (n >= sizeof(name))
        return false;
    memcpy(name, value, n);
    name[n] = '\0';
    return taut_text_is_made_of(name, "._-:@", 15) && name[0] != '.';
}

static bool is_interfaces(const char *value)
{
    for (int i = 0; i < TAUT_PLAN_RAILS; i++) {
        size_t n = strcspn(value, ",");

        if (!is_interface(value, n))
            return false;
        if (value[n] == '\0')
            return true;
        value += n + 1;
    }
    return false;
}

static bool is_transport(const char *value)
{
    return strcmp(value, "tcp") == 0 || strcmp(value, "ofi") == 0 ||
           strcmp(value, "ofi,tcp") == 0;
}

/* As libfabric writes them: "tcp;ofi_rxm", "192.0.2.0/24", "mlx5_0". */
static bool is_provider(const char *value)
{
    return taut_text_is_made_of(value, "._-;", 63);
}

static bool is_domains(const char *value)
{
    return taut_text_is_made_of(value, "._-:/,", 255);
}

static bool is_path(const char *value)
{
    size_t n = strlen(value);

    if (n == 0 || n > VALUE_MAX || value[0] != '/')
        return false;
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)value[i] < 32 || value[i] == 127)
            return false;
    }
    return true;
}

/* A variable for jobs: APRUN_BALANCED_INJECTION=70. */
static bool is_setting_of(const char *value, const char *more)
{
    const char *equals = strchr(value, '=');
    char name[64];

    if (equals == NULL || (size_t)(equals - value) >= sizeof name)
        return false;
    memcpy(name, value, (size_t)(equals - value));
    name[equals - value] = '\0';
    return taut_text_is_made_of(name, "_", sizeof name) &&
           (name[0] < '0' || name[0] > '9') &&
           taut_text_is_made_of(equals + 1, more, 255);
}

static bool is_setting(const char *value)
{
    return is_setting_of(value, "._-:,");
}

/* libfabric's, and those of the libraries below it. */
static const char *const families[] = {"FI_",   "IBV_",  "RDMAV_", "MLX4_",
                                       "MLX5_", "PSM2_", "HFI_",   "OPX_",
                                       "EFA_",  "CXI_",  "UCX_"};

static bool is_of_family(const char *name)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (strncmp(name, families[i], strlen(families[i])) == 0)
            return true;
    return false;
}

/* FI_UNIVERSE_SIZE=16,MLX5_SINGLE_THREADED=1 */
static bool is_ofi_env(const char *value)
{
    for (int i = 0; i < SETTINGS_MAX; i++) {
        size_t n = strcspn(value, ",");
        char one[128];

        if (n >= sizeof(one))
            return false;
        memcpy(one, value, n);
        one[n] = '\0';
        if (!is_of_family(one) || !is_setting_of(one, "._-:;/+@"))
            return false;
        if (value[n] == '\0')
            return true;
        value += n + 1;
    }
    return false;
}

static bool is_launch(const char *value)
{
    return strcmp(value, "aprun") == 0;
}

static const struct key {
    const char *name;
    size_t offset; /* of a char * in taut_options */
    check_f *check;
    const char *expected;
} keys[] = {
#define KEY(field, check, expected)                                            \
    {#field, offsetof(struct taut_options, field), check, expected}
    KEY(domain, is_domains, "names of libfabric domains"),
    KEY(injection, is_setting, "NAME=VALUE"),
    KEY(launch, is_launch, "aprun"),
    KEY(launcher, is_path, "an absolute path"),
    KEY(interface, is_interfaces, "a network interface, 16 at most, or auto"),
    KEY(modules, is_path, "an absolute path"),
    KEY(munge_socket, is_path, "an absolute path"),
    KEY(node, is_name, "a node name"),
    KEY(ofi_env, is_ofi_env,
        "NAME=VALUE[,...], 16 at most, names that begin with FI_, IBV_, "
        "RDMAV_, MLX5_ or as another driver's"),
    KEY(probe, is_path, "an absolute path"),
    KEY(run_as, is_name, "a user name"),
    KEY(provider, is_provider, "a libfabric provider"),
    KEY(rundir, is_path, "an absolute path"),
    KEY(servers, is_servers, "host[:port][,host...]"),
    KEY(transport, is_transport, "tcp, ofi or ofi,tcp"),
    KEY(user, is_name, "a user name"),
#undef KEY
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

static char **slot_of(struct taut_options *opts, const struct key *key)
{
    return (char **)(void *)((char *)opts + key->offset);
}

static const char *default_of(const char *name)
{
    if (strcmp(name, "user") == 0)
        return "slurm";
    if (strcmp(name, "rundir") == 0)
        return TAUT_RUNDIR;
    if (strcmp(name, "probe") == 0)
        return TAUT_LIBEXECDIR "/taut-probe";
    if (strcmp(name, "launcher") == 0)
        return TAUT_LIBEXECDIR "/taut-alps";
    if (strcmp(name, "modules") == 0)
        return TAUT_LIBEXECDIR;
    if (strcmp(name, "transport") == 0)
        return "tcp";
    return "";
}

int taut_options_init(struct taut_options *opts)
{
    memset(opts, 0, sizeof(*opts));
    opts->launch_ms = TAUT_LAUNCH_MS;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (taut_text_replace(slot_of(opts, &keys[i]),
                              default_of(keys[i].name)) < 0) {
            taut_options_fini(opts);
            return -1;
        }
    }
    return 0;
}

void taut_options_fini(struct taut_options *opts)
{
    int saved = errno;

    for (size_t i = 0; i < KEY_COUNT; i++) {
        free(*slot_of(opts, &keys[i]));
        *slot_of(opts, &keys[i]) = NULL;
    }
    errno = saved;
}

static int bad_value(struct taut_error *err, const char *key, const char *value,
                     const char *expected)
{
    taut_error_set(err, "%s=%.60s: expected %s", key, value, expected);
    errno = EINVAL;
    return -1;
}

static int set_ms(int *slot, const char *key, const char *value,
                  struct taut_error *err)
{
    uint64_t ms;

    if (taut_text_number(value, TAUT_BUDGET_MIN_MS, TAUT_BUDGET_MAX_MS, &ms) <
        0)
        return bad_value(err, key, value, "50..60000");
    *slot = (int)ms;
    return 0;
}

static int set_log(struct taut_options *opts, const char *value,
                   struct taut_error *err)
{
    for (int i = TAUT_LOG_QUIET; i <= TAUT_LOG_DEBUG; i++) {
        if (strcmp(value, taut_log_level_name(i)) == 0) {
            opts->log = i;
            return 0;
        }
    }
    return bad_value(err, "log", value, "quiet, info or debug");
}

static bool is_same_key(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        if ((*a == '-' ? '_' : *a) != *b)
            return false;
    }
    return *a == *b;
}

int taut_options_set(struct taut_options *opts, const char *key,
                     const char *value, struct taut_error *err)
{
    if (is_same_key(key, "budget_ms"))
        return set_ms(&opts->budget_ms, "budget_ms", value, err);
    if (is_same_key(key, "launch_ms"))
        return set_ms(&opts->launch_ms, "launch_ms", value, err);
    if (is_same_key(key, "log"))
        return set_log(opts, value, err);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (!is_same_key(key, keys[i].name))
            continue;
        if (!keys[i].check(value))
            return bad_value(err, keys[i].name, value, keys[i].expected);
        return taut_text_replace(slot_of(opts, &keys[i]), value);
    }
    taut_error_set(err, "unknown option '%.60s'", key);
    errno = ENOENT;
    return -1;
}

int taut_options_set_pair(struct taut_options *opts, const char *pair,
                          struct taut_error *err)
{
    const char *eq = strchr(pair, '=');
    char key[32];

    if (eq == NULL || eq == pair || (size_t)(eq - pair) >= sizeof(key)) {
        taut_error_set(err, "'%.60s': expected key=value", pair);
        errno = EINVAL;
        return -1;
    }
    memcpy(key, pair, (size_t)(eq - pair));
    key[eq - pair] = '\0';
    return taut_options_set(opts, key, eq + 1, err);
}

/* Cut blanks off both ends, in place. */
static char *trim(char *text)
{
    size_t n;

    text += strspn(text, " \t");
    n = strlen(text);
    while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL)
        text[--n] = '\0';
    return text;
}

static int set_line(struct taut_options *opts, char *line,
                    struct taut_error *err)
{
    char *key = trim(line), *eq;

    if (!*key || *key == '#')
        return 0;
    eq = strchr(key, '=');
    if (eq == NULL) {
        taut_error_set(err, "'%.60s': expected key=value", key);
        errno = EINVAL;
        return -1;
    }
    *eq = '\0';
    return taut_options_set(opts, trim(key), trim(eq + 1), err);
}

static int bad_line(struct taut_error *err, const char *path, int number,
                    const char *why)
{
    taut_error_set(err, "%s:%d: %s", path, number, why);
    errno = EINVAL;
    return -1;
}

/* Drop the rest of a line that was too long. */
static void skip_line(FILE *file)
{
    int c;

    do
        c = getc(file);
    while (c != EOF && c != '\n');
}

static int load_lines(struct taut_options *opts, FILE *file, const char *path,
                      struct taut_error *err)
{
    struct taut_error why;
    char line[VALUE_MAX + 64];
    int rc = 0;

    for (int number = 1; fgets(line, sizeof(line), file) != NULL; number++) {
        bool is_long = strchr(line, '\n') == NULL && !feof(file);

        if (is_long) {
            skip_line(file);
            taut_error_set(&why, "line longer than %zu bytes",
                           sizeof(line) - 2);
        }
        if ((is_long || set_line(opts, line, &why) < 0) && rc == 0)
            rc = bad_line(err, path, number, why.text);
    }
    if (rc < 0)
        errno = EINVAL;
    return rc;
}

/* Whoever can change the file says where a probe of root's goes: that is root,
 * and the user it runs as where that is somebody else. */
static int check_owner(FILE *file, const char *path, struct taut_error *err)
{
    struct stat st;

    if (fstat(fileno(file), &st) < 0)
        return taut_error_set(err, "%s: %s", path, strerror(errno));
    if (st.st_uid != 0 && st.st_uid != geteuid())
        taut_error_set(err, "%s: owned by uid %u, expected root", path,
                       (unsigned)st.st_uid);
    else if (st.st_mode & (S_IWGRP | S_IWOTH))
        taut_error_set(err, "%s: writable by others than its owner", path);
    else
        return 0;
    errno = EPERM;
    return -1;
}

int taut_options_load(struct taut_options *opts, const char *path,
                      struct taut_error *err)
{
    FILE *file = fopen(path, "re");
    int rc = -1, saved;

    if (file == NULL) {
        taut_error_set(err, "%s: %s", path, strerror(errno));
        return -1;
    }
    if (check_owner(file, path, err) == 0)
        rc = load_lines(opts, file, path, err);
    saved = errno;
    fclose(file);
    errno = saved;
    return rc;
}

const char *taut_log_level_name(enum taut_log_level level)
{
    switch (level) {
    case TAUT_LOG_QUIET:
        return "quiet";
    case TAUT_LOG_INFO:
        return "info";
    case TAUT_LOG_DEBUG:
        return "debug";
    case TAUT_LOG_NONE:
        break;
    }
    return "";
}
