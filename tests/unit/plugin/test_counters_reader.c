/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that reads counters: what it tells, and what it costs when a
 * source hangs.  A pipe without a writer stands for a driver that does not
 * answer. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/counters/reader.h"
#include "tests/unit/unit.h"

static struct taut_counters_reader reader;
static struct taut_error why;
static char dir[32];
static int root;

/* A copy of a recorded tree, to be changed. */
static void use_tree(const char *tree)
{
    unit_sysfs(tree, dir);
    root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(root, 0);
}

static void setup(void)
{
    unit_dir(dir);
    root = -1;
    why.text[0] = '\0';
    taut_counters_init(&reader);
}

static void teardown(void)
{
    taut_counters_close(&reader);
    if (root >= 0)
        close(root);
    unit_remove(dir);
}

static void start(const char *const *names, size_t n)
{
    ck_assert_int_eq(taut_counters_open(&reader, names, n, root, NULL, &why),
                     0);
    reader.patience = 300; /* not how fast it is, but what comes of it */
}

/* Where a source hangs, its deadline has to be waited for. */
static void start_for_hang(const char *const *names, size_t n)
{
    start(names, n);
    reader.patience = 10;
}

static int ask(int ms)
{
    return taut_counters_ask(&reader, taut_now_ns() + ms * TAUT_MS_NS, &why);
}

/* The reading of an interface by a source, or NULL. */
static const struct taut_counters *find(const char *source,
                                        const char *interface)
{
    for (size_t i = 0; i < reader.readings.count; i++) {
        const struct taut_counters *c = reader.readings.list[i];

        if (strcmp(c->source, source) == 0 &&
            strcmp(c->interface, interface) == 0)
            return c;
    }
    return NULL;
}

/* In place of a file, a pipe without a writer. */
static void hang(const char *file)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
}

static void put(const char *file, const char *text)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    unit_write(path, text);
}

static const char *const two[] = {"ib0", "ib1"};

START_TEST(all_sources_of_all_interfaces)
{
    use_tree("hdr");
    start(two, 2);
    ck_assert_msg(ask(60000) == 0, "%s", why.text);
    ck_assert_uint_eq(reader.readings.count, 6);
    ck_assert_ptr_nonnull(find("netdev", "ib0"));
    ck_assert_ptr_nonnull(find("ib", "ib1"));
    ck_assert_ptr_nonnull(find("pcie", "ib1"));
}
END_TEST

/* Neither a process nor a way where nothing is there to be read. */
START_TEST(what_is_not_there_costs_nothing)
{
    static const char *const none[] = {"eth7"};

    use_tree("hdr");
    start(none, 1);
    ck_assert_int_eq(reader.pid, -1);
    ck_assert_msg(ask(60000) == 0, "%s", why.text);
    ck_assert_uint_eq(reader.readings.count, 0);
    taut_counters_close(&reader);
    start(two, 2);
    ck_assert_int_gt(reader.pid, 0);
    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++) {
        bool is_there = strcmp(taut_counter_sources[s]->name, "cxi") != 0 &&
                        strcmp(taut_counter_sources[s]->name, "gpcdr") != 0;

        ck_assert_int_eq(reader.fds[s] >= 0, is_there);
    }
}
END_TEST

START_TEST(each_question_has_a_new_answer)
{
    use_tree("hdr");
    start(two, 2);
    for (int i = 0; i < 600; i++) /* turns begin anew meanwhile */
        ck_assert_msg(ask(60000) == 0, "%s", why.text);
    put("sys/class/net/ib0/statistics/rx_bytes", "77\n");
    ck_assert_int_eq(ask(60000), 0);
    ck_assert_str_eq(find("netdev", "ib0")->list[0].name, "rx_bytes");
    ck_assert_int_eq(find("netdev", "ib0")->list[0].value, 77);
}
END_TEST

START_TEST(a_source_that_hangs_takes_no_other_with_it)
{
    int64_t start_ns;

    use_tree("hdr");
    hang("sys/class/infiniband/mlx5_1/ports/1/counters/symbol_error");
    start_for_hang(two, 2);
    start_ns = taut_now_ns();
    ck_assert_int_eq(ask(60000), -1);
    ck_assert_str_eq(why.text, "counters: no answer in time from ib; left out");
    /* Its own deadline ended that, not the one for all. */
    ck_assert_int_lt(taut_now_ns() - start_ns, 30 * TAUT_S_NS);
    ck_assert_ptr_nonnull(find("ib", "ib0"));
    ck_assert_ptr_null(find("ib", "ib1"));
    ck_assert_ptr_nonnull(find("netdev", "ib1"));
    ck_assert_ptr_nonnull(find("pcie", "ib1"));
}
END_TEST

START_TEST(a_source_that_still_hangs_is_not_waited_for_again)
{
    int fd;
    char path[128];

    use_tree("hdr");
    hang("sys/class/net/ib0/operstate");
    start_for_hang(two, 2);
    ck_assert_int_eq(ask(60000), -1);
    ck_assert_int_eq(ask(60000), -1);
    ck_assert_ptr_null(find("netdev", "ib0"));
    ck_assert_uint_eq(reader.readings.count, 4);
    /* It comes back, and answers the next question. */
    snprintf(path, sizeof(path), "%s/sys/class/net/ib0/operstate", dir);
    fd = open(path, O_RDWR);
    ck_assert_int_ge(fd, 0);
    unlink(path);
    close(fd);
    for (int i = 0; i < 1000 && find("netdev", "ib0") == NULL; i++) {
        ask(60000);
        usleep(10000);
    }
    ck_assert_ptr_nonnull(find("netdev", "ib0"));
}
END_TEST

START_TEST(no_time_left_is_no_reason_to_wait)
{
    use_tree("hdr");
    start(two, 2);
    ck_assert_int_eq(ask(-1), -1);
    ck_assert_uint_le(reader.readings.count, 6);
}
END_TEST

START_TEST(what_cannot_be_read_is_said_in_one_line)
{
    static const char *const one[] = {"hsn0"};

    use_tree("bad");
    start(one, 1);
    ck_assert_int_eq(ask(60000), -1);
    ck_assert_str_eq(why.text, "counters of hsn0, netdev: statistics/tx_bytes: "
                               "not in 0 to 2^63 - 1: '18446744073709551615'; "
                               "37 left out");
}
END_TEST

START_TEST(a_reader_that_dies_is_no_harm)
{
    use_tree("hdr");
    start(two, 2);
    kill(reader.pid, SIGKILL);
    ck_assert_int_eq(ask(60000), -1);
    ck_assert_int_eq(ask(60000), -1);
    ck_assert_uint_eq(reader.readings.count, 0);
}
END_TEST

START_TEST(no_reader_has_nothing_to_say)
{
    ck_assert_int_eq(ask(60000), 0);
    ck_assert_uint_eq(reader.readings.count, 0);
}
END_TEST

START_TEST(it_keeps_no_descriptor_of_ours)
{
    int ends[2];
    char byte;

    use_tree("hdr");
    hang("sys/class/net/ib0/operstate");
    ck_assert_int_eq(pipe(ends), 0);
    start_for_hang(two, 2);
    ck_assert_int_eq(ask(60000), -1);
    close(ends[1]);
    /* Would wait for ever if the reader had it, too. */
    ck_assert_int_eq(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}
END_TEST

START_TEST(it_is_not_root_when_it_reads)
{
    struct taut_user nobody = {.uid = 65534, .gid = 65534};
    char path[128];

    if (geteuid() != 0)
        return;
    use_tree("hdr");
    chmod(dir, 0755);
    snprintf(path, sizeof(path), "%s/sys/class/net/ib0/statistics/rx_bytes",
             dir);
    chmod(path, 0600);
    ck_assert_int_eq(taut_counters_open(&reader, two, 2, root, &nobody, &why),
                     0);
    reader.patience = 300;
    ck_assert_int_eq(ask(60000), -1);
    ck_assert_msg(strstr(why.text, "rx_bytes: Permission denied; 1 left out"),
                  "%s", why.text);
}
END_TEST

/* ---- what ports lose ---- */

#define ROCE "sys/class/infiniband/mlx5_bond_0/ports/1/"

static const char *const port[] = {"eth2"};

static int ask_ports(struct taut_port_count *counts, int ms)
{
    return taut_counters_ask_ports(&reader, counts,
                                   taut_now_ns() + ms * TAUT_MS_NS);
}

static void use_port(void)
{
    use_tree("roce");
    put(ROCE "counters/symbol_error", "1\n");
    put(ROCE "counters/port_rcv_errors", "20\n");
    put(ROCE "counters/port_rcv_packets", "5000\n");
    put(ROCE "hw_counters/out_of_sequence", "300\n");
    put(ROCE "hw_counters/rx_icrc_encapsulated", "4000\n");
    put(ROCE "hw_counters/packet_seq_err", "5\n");
    put(ROCE "hw_counters/local_ack_timeout_err", "60\n");
    put(ROCE "hw_counters/implied_nak_seq_err", "700\n");
    put(ROCE "hw_counters/roce_adp_retrans", "8000\n");
    put(ROCE "counters/port_xmit_discards", "9\n");
    put(ROCE "counters/port_xmit_packets", "7000\n");
    start(port, 1);
}

START_TEST(what_a_port_loses_is_added_up)
{
    struct taut_port_count from[TAUT_PLAN_RAILS], to[TAUT_PLAN_RAILS];
    struct taut_port_losses in, out;

    use_port();
    ck_assert_int_eq(ask_ports(from, 60000), 0);
    ck_assert_int_eq(from[0].lost_in, 4321);
    ck_assert_int_eq(from[0].lost_out, 8765);
    ck_assert_int_eq(from[1].lost_in, -1);
    ck_assert_int_eq(ask(60000), 0); /* in between, all counters */
    put(ROCE "hw_counters/out_of_sequence", "310\n");
    put(ROCE "hw_counters/packet_seq_err", "7\n");
    put(ROCE "counters/port_rcv_packets", "5900\n");
    put(ROCE "counters/port_xmit_discards", "12\n");
    ck_assert_int_eq(ask_ports(to, 60000), 0);
    in = taut_port_growth(&from[0], &to[0], false);
    out = taut_port_growth(&from[0], &to[0], true);
    ck_assert_int_eq(in.lost, 10);
    ck_assert_int_eq(in.packets, 900);
    ck_assert_int_eq(in.discards, -1);
    ck_assert_int_eq(out.lost, 2);
    ck_assert_int_eq(out.packets, 0);
    ck_assert_int_eq(out.discards, 3);
    /* a driver that began anew has told nothing */
    in = taut_port_growth(&to[0], &from[0], false);
    ck_assert_int_eq(in.lost, -1);
    in = taut_port_growth(&taut_port_nothing, &to[0], false);
    ck_assert_int_eq(in.packets, -1);
}
END_TEST

START_TEST(a_port_without_a_file_tells_the_others)
{
    struct taut_port_count counts[TAUT_PLAN_RAILS];
    char path[256];

    use_port();
    ck_assert_int_eq(ask_ports(counts, 60000), 0);
    put(ROCE "hw_counters/out_of_sequence", "none\n");
    ck_assert_int_eq(ask_ports(counts, 60000), 0);
    ck_assert_int_eq(counts[0].lost_in, -1);
    ck_assert_int_eq(counts[0].lost_out, 8765);
    taut_counters_close(&reader);
    snprintf(path, sizeof(path), "%s/" ROCE "hw_counters/out_of_sequence", dir);
    unlink(path);
    start(port, 1);
    ck_assert_int_eq(ask_ports(counts, 60000), 0);
    ck_assert_int_eq(counts[0].lost_in, 4021);
}
END_TEST

/* A driver that hangs costs the first question its time, and no other. */
START_TEST(a_port_that_hangs_is_asked_once)
{
    struct taut_port_count counts[TAUT_PLAN_RAILS];
    char path[256];
    int fd;

    use_port();
    hang(ROCE "counters/port_rcv_errors");
    ck_assert_int_eq(ask_ports(counts, 20), -1);
    ck_assert_int_eq(errno, ETIMEDOUT);
    ck_assert_int_eq(counts[0].lost_in, -1);
    ck_assert_int_eq(ask_ports(counts, 60000), -1);
    ck_assert_int_eq(errno, EBUSY);
    /* It comes back; its late answer is to nobody's question. */
    snprintf(path, sizeof(path), "%s/" ROCE "counters/port_rcv_errors", dir);
    fd = open(path, O_RDWR);
    ck_assert_int_ge(fd, 0);
    for (int i = 0; i < 1000 && ask_ports(counts, 60000) < 0; i++)
        usleep(10000);
    ck_assert_int_eq(counts[0].lost_out, 8765);
    close(fd);
    unlink(path);
    ck_assert_int_eq(ask(60000), 0);
    ck_assert_ptr_nonnull(find("ib", "eth2"));
}
END_TEST

/* So many interfaces, all of them the port of use_port(): 11 files each. */
static void use_ports(size_t count, rlim_t soft, rlim_t hard)
{
    static const char *many[TAUT_PLAN_RAILS];
    const struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};

    for (size_t i = 0; i < count; i++)
        many[i] = port[0];
    use_port();
    taut_counters_close(&reader);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    start(many, count);
}

/* 64 rails of eight planes have 10,240 files, and the usual limit is 1024. */
START_TEST(more_files_than_the_soft_limit)
{
    struct taut_port_count counts[TAUT_PLAN_RAILS];
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    use_ports(TAUT_PLAN_RAILS, 128, limit.rlim_max);
    ck_assert_int_eq(ask_ports(counts, 60000), 0);
    for (size_t i = 0; i < TAUT_PLAN_RAILS; i++) {
        ck_assert_int_eq(counts[i].lost_in, 4321);
        ck_assert_int_eq(counts[i].packets_out, 7000);
    }
    /* it was the reader's own limit */
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_uint_eq(limit.rlim_cur, 128);
}
END_TEST

/* A sum of some of its files would be a loss that never was, or none. */
START_TEST(ports_without_descriptors_are_not_known)
{
    struct taut_port_count counts[TAUT_PLAN_RAILS];
    size_t known = 0;

    use_ports(TAUT_PLAN_RAILS, 128, 128);
    ck_assert_int_eq(ask_ports(counts, 60000), 0);
    while (known < TAUT_PLAN_RAILS && counts[known].lost_in == 4321)
        known++;
    ck_assert_uint_ge(known, 5);
    ck_assert_uint_le(known, 11);
    for (size_t i = known; i < TAUT_PLAN_RAILS; i++)
        ck_assert_mem_eq(&counts[i], &taut_port_nothing, sizeof(counts[i]));
    /* and all the others are read as ever */
    ck_assert_msg(ask(60000) == 0, "%s", why.text);
    ck_assert_ptr_nonnull(find("ib", "eth2"));
    ck_assert_ptr_nonnull(find("netdev", "eth2"));
}
END_TEST

START_TEST(no_port_loses_nothing)
{
    static const char *const one[] = {"hsn0"};
    struct taut_port_count counts[TAUT_PLAN_RAILS];

    ck_assert_int_eq(ask_ports(counts, 60000), -1); /* no reader, either */
    ck_assert_int_eq(errno, ENODEV);
    use_tree("slingshot");
    start(one, 1);
    ck_assert_int_eq(ask_ports(counts, 60000), -1);
    ck_assert_int_eq(errno, ENODEV);
    ck_assert_int_eq(counts[0].packets_in, -1);
}
END_TEST

/* Gone, or waiting for somebody to ask how it went. */
static bool is_gone(pid_t pid)
{
    char path[64], text[256] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (file == NULL)
        return true;
    if (fgets(text, sizeof(text), file) == NULL)
        text[0] = '\0';
    fclose(file);
    return strstr(text, ") Z") != NULL;
}

START_TEST(it_ends_when_we_do)
{
    int ends[2];
    pid_t pid, left = 0;

    use_tree("hdr");
    hang("sys/class/net/ib0/operstate");
    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        start_for_hang(two, 2);
        ask(60000);
        _exit(write(ends[1], &reader.pid, sizeof(reader.pid)) < 0);
    }
    ck_assert_int_eq(read(ends[0], &left, sizeof(left)), sizeof(left));
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    for (int i = 0; i < 3000 && !is_gone(left); i++)
        usleep(10000);
    ck_assert(is_gone(left));
    close(ends[0]);
    close(ends[1]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("counters_reader");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, all_sources_of_all_interfaces);
    tcase_add_test(tc, what_is_not_there_costs_nothing);
    tcase_add_test(tc, each_question_has_a_new_answer);
    tcase_add_test(tc, a_source_that_hangs_takes_no_other_with_it);
    tcase_add_test(tc, a_source_that_still_hangs_is_not_waited_for_again);
    tcase_add_test(tc, no_time_left_is_no_reason_to_wait);
    tcase_add_test(tc, what_cannot_be_read_is_said_in_one_line);
    tcase_add_test(tc, a_reader_that_dies_is_no_harm);
    tcase_add_test(tc, no_reader_has_nothing_to_say);
    tcase_add_test(tc, it_keeps_no_descriptor_of_ours);
    tcase_add_test(tc, it_is_not_root_when_it_reads);
    tcase_add_test(tc, it_ends_when_we_do);
    tcase_add_test(tc, what_a_port_loses_is_added_up);
    tcase_add_test(tc, a_port_without_a_file_tells_the_others);
    tcase_add_test(tc, a_port_that_hangs_is_asked_once);
    tcase_add_test(tc, more_files_than_the_soft_limit);
    tcase_add_test(tc, ports_without_descriptors_are_not_known);
    tcase_add_test(tc, no_port_loses_nothing);
    return unit_run("counters_reader", tc);
}
