/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Next to which processors a card is: hwloc, in a recorded tree. */
#include <config.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "plugin/probe/locality.h"
#include "tests/unit/unit.h"

static char dir[32];
static char modules[4096];
static int root_fd;

static void setup(void)
{
    const char *source = getenv("TAUT_SRCDIR");
    char command[4200];

    unit_dir(dir);
    snprintf(command, sizeof(command), "'%s/tests/unit/hwloc-tree' %s",
             source != NULL ? source : ".", dir);
    ck_assert_int_eq(system(command), 0);
    root_fd = open(dir, O_PATH | O_DIRECTORY);
}

static void teardown(void)
{
    close(root_fd);
    unit_remove(dir);
}

static const struct {
    const char *names[2];
    const char *near; /* NULL: not found */
} cases[] = {
    {{"hsn0", "hsn0"}, "0-3"}, {{"hsn1", "hsn1"}, "4-7"},
    {{"mlx5_1", "x"}, "4-7"},  {{"hsn0", "hsn1"}, "0-7"},
    {{"nosuch", "lo"}, NULL},
};

START_TEST(devices_are_found_where_they_are)
{
    char path[4200], text[TAUT_LOCALITY_TEXT];
    taut_locality_find_f *find;
    cpu_set_t near;
    void *library, *symbol;
    int rc;

    snprintf(path, sizeof(path), "%s/taut-hwloc.so", modules);
    library = dlopen(path, RTLD_NOW);
    ck_assert_msg(library != NULL, "%s", dlerror());
    symbol = dlsym(library, "taut_locality_find");
    memcpy(&find, &symbol, sizeof(find));
    rc = find(&near, cases[_i].names, 2, dir);
    ck_assert_int_eq(rc, cases[_i].near ? 0 : -1);
    if (rc == 0) {
        taut_locality_format(&near, text, sizeof(text));
        ck_assert_str_eq(text, cases[_i].near);
    }
}
END_TEST

/* Bind as a probe does, the thread being given time. */
static void bind_near(const char *name, char *text)
{
    struct taut_locality l = {0};

    taut_locality_ask(&l, &name, 1, root_fd, dir, modules);
    taut_locality_begin(&l);
    for (int i = 0; l.search != NULL && i < 2000; i++) {
        ck_assert_int_eq(taut_locality_bind(&l, text), 0);
        usleep(5000);
    }
    ck_assert_ptr_null(l.search);
}

/* Processors 0 and 1 are ours; the card is next to 0. */
START_TEST(a_probe_runs_next_to_its_card_within_what_it_may_use)
{
    char text[TAUT_LOCALITY_TEXT] = "";
    cpu_set_t may, got;

    ck_assert_int_eq(taut_locality_parse(&may, "0-1"), 0);
    if (sched_setaffinity(0, sizeof(may), &may) < 0 ||
        sched_getaffinity(0, sizeof(got), &got) < 0 || CPU_COUNT(&got) < 2)
        return; /* a machine of one processor */
    bind_near("hsn2", text);
    ck_assert_int_eq(sched_getaffinity(0, sizeof(got), &got), 0);
    ck_assert_int_eq(CPU_COUNT(&got), 1);
    ck_assert(CPU_ISSET(0, &got));
}
END_TEST

/* A cgroup that keeps us from the card's processors has the last word. */
START_TEST(processors_that_are_not_ours_are_left_alone)
{
    char text[TAUT_LOCALITY_TEXT] = "";
    cpu_set_t before, after;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
    if (CPU_ISSET(4, &before))
        return; /* a larger machine: these are ours */
    bind_near("hsn1", text);
    ck_assert_int_eq(sched_getaffinity(0, sizeof(after), &after), 0);
    ck_assert(CPU_EQUAL(&before, &after));
    ck_assert_str_eq(text, "");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("locality");

    snprintf(modules, sizeof(modules), "%.4000s/plugin/.libs",
             getenv("TAUT_BUILDDIR") != NULL ? getenv("TAUT_BUILDDIR") : ".");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, devices_are_found_where_they_are, 0,
                        sizeof(cases) / sizeof(*cases));
    tcase_add_test(tc, a_probe_runs_next_to_its_card_within_what_it_may_use);
    tcase_add_test(tc, processors_that_are_not_ours_are_left_alone);
    return unit_run("locality", tc);
}
