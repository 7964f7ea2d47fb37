/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counter sources and the gauge, on recorded trees. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/counters/counters.h"
#include "plugin/counters/file.h"
#include "plugin/counters/gauge.h"
#include "plugin/counters/netstat.h"
#include "plugin/counters/port.h"
#include "tests/unit/unit.h"

static char dir[32];
static int root;

static void put(const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/sys/class/net/hsn0/%s", dir, name);
    unit_write(path, text);
}

static void setup(void)
{
    char command[128];

    unit_dir(dir);
    snprintf(command, sizeof(command),
             "mkdir -p %s/sys/class/net/hsn0/statistics", dir);
    ck_assert_int_eq(system(command), 0);
    root = open(dir, O_PATH | O_DIRECTORY);
    put("statistics/rx_bytes", "1000\n");
    put("statistics/tx_bytes", "18446744073709551615\n");
    put("statistics/rx_errors", "lots\n");
    put("carrier_changes", "3\n");
    put("speed", "-1\n");
}

static void teardown(void)
{
    close(root);
    unit_remove(dir);
}

/* A RoCE device of several ports: as NAMES says, a word a port, "-": it names no
 * interface. */
static void make_ports(const char *names)
{
    char command[700];

    snprintf(command, sizeof(command),
             "cd %s/sys && mkdir -p class/infiniband devices/pci0/infiniband/r0 "
             "&& ln -s ../../../devices/pci0 class/net/hsn0/device "
             "&& ln -s ../../devices/pci0/infiniband/r0 class/infiniband/r0 "
             "&& p=0 && for n in %s; do p=$((p + 1)); "
             "d=class/infiniband/r0/ports/$p/gid_attrs/ndevs; mkdir -p $d; "
             "[ $n = - ] || echo $n >$d/1; done",
             dir, names);
    ck_assert_int_eq(system(command), 0);
}

static const char *place_of(const char *interface)
{
    static struct taut_counters c;

    c = (struct taut_counters){.count = 0};
    snprintf(c.interface, sizeof(c.interface), "%s", interface);
    return taut_counters_ib.find(&c, root) < 0 ? "none" : c.place;
}

/* Past bug: with planes of one adapter, whose network devices all have dev_port
 * 0, the first port was read, which has no cable. */
START_TEST(the_port_is_the_one_that_names_the_interface)
{
    put("dev_port", "0\n");
    make_ports("- - hsn0 - - hsn1");
    ck_assert_str_eq(place_of("hsn0"), "r0/3");
    ck_assert_str_eq(place_of("hsn0:1"), "r0/3"); /* a label */
}
END_TEST

/* Past bug: four GIDs were looked at, which the card's own interface has. */
START_TEST(a_vlans_port_is_found_behind_the_gids_of_its_card)
{
    static const char *const names[] = {"hsn0", "hsn0", "hsn0", "hsn0",
                                        NULL,   NULL,   "hsn0.5"};
    char path[128], line[16];

    make_ports("hsn0");
    for (int i = 0; i < 7; i++) {
        if (names[i] == NULL)
            continue;
        snprintf(path, sizeof(path),
                 "%s/sys/class/infiniband/r0/ports/1/gid_attrs/ndevs/%d", dir, i);
        snprintf(line, sizeof(line), "%s\n", names[i]);
        unit_write(path, line);
    }
    ck_assert_str_eq(place_of("hsn0.5"), "r0/1");
    ck_assert_str_eq(place_of("hsn0.6"), "none");
}
END_TEST

/* Past bug: four devices were looked at, and their first ports. */
START_TEST(the_port_of_a_bond_is_found_among_many_devices)
{
    char command[400];

    make_ports("hsn0 bond0");
    snprintf(command, sizeof(command),
             "cd %s/sys/class/infiniband && for i in 1 2 3 4 5 6 7 8 9; do "
             "mkdir -p m$i/ports/1/gid_attrs/ndevs; done",
             dir);
    ck_assert_int_eq(system(command), 0);
    ck_assert_str_eq(place_of("bond0"), "r0/2");
}
END_TEST

START_TEST(where_ports_name_others_none_is_read)
{
    put("dev_port", "1\n");
    make_ports("hsn4 hsn01");
    ck_assert_str_eq(place_of("hsn0"), "none");
}
END_TEST

START_TEST(where_no_port_names_any_its_number_tells)
{
    put("dev_port", "1\n");
    make_ports("- -");
    ck_assert_str_eq(place_of("hsn0"), "r0/2");
}
END_TEST

static struct taut_counters sets[4];

static int64_t value_of(const struct taut_counters *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->list[i].name, name) == 0)
            return c->list[i].value;
    }
    return -1;
}

static const char *text_of(const struct taut_counters *c, const char *name)
{
    for (size_t i = 0; i < c->text_count; i++) {
        if (strcmp(c->texts[i].name, name) == 0)
            return c->texts[i].value;
    }
    return "";
}

/* The directory tests/data/sysfs/TREE, unpacked. */
static int open_tree(const char *tree)
{
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", dir, tree);
    fd = open(path, O_PATH | O_DIRECTORY);
    if (fd < 0) {
        unit_sysfs(tree, path);
        fd = open(path, O_PATH | O_DIRECTORY);
    }
    ck_assert_msg(fd >= 0, "%s", path);
    return fd;
}

/* Read an interface of a tree, number 'i' of its node. */
static const struct taut_counters *
read_tree(const char *tree, const struct taut_counter_source *source, size_t i,
          const char *interface)
{
    int fd = open_tree(tree);
    int64_t planes;

    taut_counters_read(source, sets, i, fd, interface);
    close(fd);
    planes = value_of(&sets[i], "planes");
    ck_assert_uint_le(sets[i].opens,
                      TAUT_COUNTER_OPENS * (planes > 1 ? (unsigned)planes : 1));
    return &sets[i];
}

START_TEST(what_cannot_be_read_is_left_out)
{
    struct taut_counters *c = &sets[0];

    taut_counters_read(&taut_counters_netdev, sets, 0, root, "hsn0");
    ck_assert_str_eq(c->interface, "hsn0");
    ck_assert_uint_eq(c->count, 2);
    ck_assert_int_eq(value_of(c, "rx_bytes"), 1000);
    ck_assert_int_eq(value_of(c, "carrier_changes"), 3);
    ck_assert_uint_eq(c->bad, 2);
    ck_assert_str_eq(c->why, "statistics/tx_bytes: not in 0 to 2^63 - 1: "
                             "'18446744073709551615'");
    taut_counters_read(&taut_counters_netdev, sets, 0, root, "nothing");
    ck_assert_uint_eq(c->count, 0);
    ck_assert_uint_eq(c->bad, 0);
}
END_TEST

START_TEST(a_label_belongs_to_its_device)
{
    taut_counters_read(&taut_counters_netdev, sets, 0, root, "hsn0:1");
    ck_assert_str_eq(sets[0].interface, "hsn0:1");
    ck_assert_int_eq(value_of(&sets[0], "rx_bytes"), 1000);
}
END_TEST

START_TEST(two_names_of_one_device_open_it_once)
{
    taut_counters_read(&taut_counters_netdev, sets, 0, root, "hsn0:1");
    taut_counters_read(&taut_counters_netdev, sets, 1, root, "hsn0:2");
    ck_assert_str_eq(sets[1].interface, "hsn0:2");
    ck_assert_int_eq(value_of(&sets[1], "rx_bytes"), 1000);
    ck_assert_uint_gt(sets[0].opens, 0);
    ck_assert_uint_eq(sets[1].opens, 0);
    ck_assert_uint_eq(sets[1].bad, 0);
}
END_TEST

START_TEST(netdev_of_a_recorded_tree)
{
    const struct taut_counters *c =
        read_tree("roce", &taut_counters_netdev, 0, "eth2");

    ck_assert_uint_eq(c->count, 14);
    ck_assert_int_eq(value_of(c, "rx_crc_errors"), 2);
    ck_assert_int_eq(value_of(c, "rx_dropped"), 55);
    ck_assert_int_eq(value_of(c, "carrier_down_count"), 1);
    ck_assert_int_eq(value_of(c, "speed_Mbps"), 100000);
    ck_assert_str_eq(text_of(c, "state"), "up");
    ck_assert_str_eq(text_of(c, "duplex"), "full");
    ck_assert_uint_eq(c->bad, 0);
    ck_assert_int_eq(c->t_ns, -1);
}
END_TEST

START_TEST(a_speed_that_is_not_known_is_no_error)
{
    const struct taut_counters *c =
        read_tree("two-ports", &taut_counters_netdev, 0, "ib1");

    ck_assert_int_eq(value_of(c, "speed_Mbps"), -1);
    ck_assert_str_eq(text_of(c, "state"), "down");
    ck_assert_uint_eq(c->bad, 0);
}
END_TEST

START_TEST(an_infiniband_port)
{
    const struct taut_counters *c =
        read_tree("hdr", &taut_counters_ib, 0, "ib1");

    ck_assert_str_eq(c->source, "ib");
    ck_assert_str_eq(c->place, "mlx5_1/1");
    ck_assert_int_eq(value_of(c, "symbol_error"), 7);
    ck_assert_int_eq(value_of(c, "port_xmit_data"), 250000000);
    ck_assert_int_eq(value_of(c, "local_ack_timeout_err"), 12);
    ck_assert_int_eq(value_of(c, "lifespan"), -1);
    ck_assert_int_eq(value_of(c, "rate_Mbps"), 200000);
    ck_assert_str_eq(text_of(c, "state"), "ACTIVE");
    ck_assert_str_eq(text_of(c, "phys_state"), "LinkUp");
    ck_assert_str_eq(text_of(c, "width"), "4X");
    ck_assert_str_eq(text_of(c, "speed"), "HDR");
    ck_assert_str_eq(text_of(c, "link_layer"), "InfiniBand");
    ck_assert_uint_eq(c->bad, 0);
    c = read_tree("opa", &taut_counters_ib, 0, "ib0");
    ck_assert_str_eq(c->place, "hfi1_0/1");
    ck_assert_uint_eq(c->count, 22 + 7 + 5); /* with rate_Mbps */
    ck_assert_int_eq(value_of(c, "RcTimeOut"), 3);
    ck_assert_int_eq(value_of(c, "DcTxReplay"), 7);
    ck_assert_int_eq(value_of(c, "local_ack_timeout_err"), -1);
    c = read_tree("roce", &taut_counters_ib, 0, "eth2");
    ck_assert_int_eq(value_of(c, "np_cnp_sent"), 17);
    ck_assert_int_eq(value_of(c, "VL15_dropped"), -1);
}
END_TEST

/* Past bug: the first port was read, whose plane is down, and the node was
 * suspect at 0 %. */
START_TEST(planes_of_a_port_are_added_up)
{
    const struct taut_counters *c =
        read_tree("planes", &taut_counters_ib, 0, "ib0");

    ck_assert_str_eq(c->place, "mlx5_0/1");
    ck_assert_str_eq(text_of(c, "state"), "ACTIVE"); /* three of them are */
    ck_assert_str_eq(text_of(c, "phys_state"), "LinkUp");
    ck_assert_str_eq(text_of(c, "speed"), "XDR");
    ck_assert_int_eq(value_of(c, "planes"), 4);
    ck_assert_int_eq(value_of(c, "planes_up"), 3);
    ck_assert_int_eq(value_of(c, "rate_Mbps"), 600000);
    ck_assert_int_eq(value_of(c, "port_xmit_data"), 10000);
    ck_assert_int_eq(value_of(c, "port_xmit_discards"), 60);
    ck_assert_int_eq(value_of(c, "out_of_sequence"), 10);
    ck_assert_uint_eq(c->bad, 0);
}
END_TEST

/* The device that only speaks to the subnet manager comes first by its name. */
START_TEST(planes_on_a_device_beside_are_counted_by_the_data_s)
{
    const struct taut_counters *c =
        read_tree("smi", &taut_counters_ib, 0, "ib0");

    ck_assert_str_eq(c->place, "ibp33s0/1");
    ck_assert_str_eq(text_of(c, "state"), "ACTIVE");
    ck_assert_int_eq(value_of(c, "planes"), 4);
    ck_assert_int_eq(value_of(c, "planes_up"), 3);
    ck_assert_int_eq(value_of(c, "rate_Mbps"), 600000);
    ck_assert_int_eq(value_of(c, "port_xmit_data"), 10000);
    ck_assert_int_eq(value_of(c, "out_of_sequence"), 1);
}
END_TEST

START_TEST(what_planes_lose_during_a_test_is_added_up)
{
    struct taut_port_files files;
    struct taut_port_count count;
    int fd;

    fd = open_tree("planes");
    taut_port_files_open(&files, fd, "ib0");
    close(fd);
    ck_assert_uint_eq(files.planes, 4);
    count = taut_port_files_read(&files);
    ck_assert_int_eq(count.lost_in, 10); /* out_of_sequence */
    ck_assert_int_eq(count.lost_out, 20);
    ck_assert_int_eq(count.packets_out, 100);
    taut_port_files_close(&files);
    fd = open_tree("smi");
    taut_port_files_open(&files, fd, "ib0");
    close(fd);
    ck_assert_uint_eq(files.planes, 1);
    count = taut_port_files_read(&files);
    ck_assert_int_eq(count.packets_out, 100);
    taut_port_files_close(&files);
}
END_TEST

#define PLANE_2 "sys/class/infiniband/mlx5_0/ports/2/hw_counters"

/* Sums of what the kernel shows for two planes overflowed. */
START_TEST(what_no_plane_can_have_lost_is_not_added_up)
{
    static const char *const texts[] = {"9223372036854775807\n", "-5\n"};
    struct taut_port_files files;
    struct taut_port_count count;

    for (int i = 0; i < 2; i++) {
        int fd = open_tree("planes"), file;

        file = openat(fd, PLANE_2 "/out_of_sequence", O_WRONLY | O_TRUNC);
        ck_assert_int_ge(file, 0);
        ck_assert(write(file, texts[i], strlen(texts[i])) > 0);
        close(file);
        taut_port_files_open(&files, fd, "ib0");
        close(fd);
        count = taut_port_files_read(&files);
        ck_assert_int_eq(count.lost_in, -1);
        ck_assert_int_eq(count.lost_out, 20);
        taut_port_files_close(&files);
    }
}
END_TEST

/* A driver's own names were not known, and each counter of a port without an
 * agent was complained of. */
START_TEST(ports_of_other_drivers)
{
    static const struct {
        const char *driver, *name;
        unsigned count; /* of numbers: with rate_Mbps */
    } other[] = {
        {"irdma", "cnpSent", 14 + 1},
        {"efa", "retrans_timeout_events", 7 + 1},
        {"bnxt_re", "seq_err_naks_rcvd", 17 + 1},
        {"mana", "requester_timeout", 13 + 1},
        {"hns", "rx_error_pkt", 4 + 1},
        {"ionic", "resp_rx_outouf_seq", 16 + 1},
    };

    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        const struct taut_counters *c =
            read_tree(other[i].driver, &taut_counters_ib, 0, "eth2");
        ck_assert_int_ge(value_of(c, other[i].name), 100);
        ck_assert_int_eq(value_of(c, "local_ack_timeout_err"), -1);
        ck_assert_int_eq(value_of(c, "symbol_error"), -1);
        ck_assert_str_eq(text_of(c, "state"), "ACTIVE");
        ck_assert_uint_eq(c->count, other[i].count);
        ck_assert_uint_eq(c->bad, 0);
    }
}
END_TEST

/* Past bug: one that has no agent says "N/A (no PMA)" for its port's counters, and
 * nothing was known of what it loses. */
#define BNXT "sys/class/infiniband/bnxt_re0/ports/1"
START_TEST(what_a_port_without_an_agent_loses_is_told_by_its_driver)
{
    struct taut_port_files files;
    int fd = open_tree("bnxt_re");

    taut_port_files_open(&files, fd, "eth2");
    close(fd);
    struct taut_port_count count = taut_port_files_read(&files);
    ck_assert_int_eq(count.lost_in, 104);
    ck_assert_int_eq(count.lost_out, 114 + 103 + 115);
    ck_assert_int_eq(count.packets_in, 111);
    ck_assert_int_eq(count.packets_out, -1);
    taut_port_files_close(&files);
    /* a later kernel's, with an agent: both count the same packets */
    fd = open_tree("bnxt_re");
    int file = openat(fd, BNXT "/counters/port_rcv_packets", O_WRONLY | O_CREAT, 0644);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, "113\n", 4), 4);
    close(file);
    taut_port_files_open(&files, fd, "eth2");
    close(fd);
    count = taut_port_files_read(&files);
    ck_assert_int_eq(count.packets_in, 113);
    taut_port_files_close(&files);
}
END_TEST

#define IRDMA_HW "sys/class/infiniband/rocep1s0/ports/1/hw_counters"

/* Past bug: irdma's names with blanks were asked for, and thrown away. */
START_TEST(a_name_with_blanks_is_told_without)
{
    static const char *const names[] = {"Nak Sequence Error", "CRC errors"};
    int fd = open_tree("irdma");
    const struct taut_counters *c;

    for (int i = 0; i < 2; i++) {
        char path[128];
        int file;

        snprintf(path, sizeof(path), IRDMA_HW "/%s", names[i]);
        file = openat(fd, path, O_WRONLY | O_CREAT, 0644);
        ck_assert_int_ge(file, 0);
        ck_assert_int_eq(write(file, "77\n", 3), 3);
        close(file);
    }
    close(fd);
    c = read_tree("irdma", &taut_counters_ib, 0, "eth2");
    ck_assert_int_eq(value_of(c, "Nak_Sequence_Error"), 77);
    ck_assert_int_eq(value_of(c, "CRC_errors"), 77);
    ck_assert_uint_eq(c->bad, 0);
}
END_TEST

/* It is over a network device, and not of it: nothing leads from there to it. */
START_TEST(soft_roce_is_found_by_the_interface_that_it_names)
{
    const struct taut_counters *c =
        read_tree("rxe", &taut_counters_ib, 0, "hsn0");

    ck_assert_str_eq(c->place, "rxe_a/1");
    ck_assert_int_eq(value_of(c, "completer_retry_err"), 101);
    ck_assert_int_eq(value_of(c, "sent_pkts"), 115);
    ck_assert_int_eq(value_of(c, "port_rcv_data"), -1);
    ck_assert_uint_eq(c->bad, 0);
    c = read_tree("rxe", &taut_counters_ib, 1, "eth0");
    ck_assert_uint_eq(c->count, 0);
}
END_TEST

START_TEST(each_network_device_has_its_own_port_of_a_card)
{
    const struct taut_counters *c =
        read_tree("two-ports", &taut_counters_ib, 0, "ib0");

    ck_assert_int_eq(value_of(c, "port_xmit_data"), 1111);
    ck_assert_int_eq(value_of(c, "sq_num_to"), 100);
    ck_assert_int_eq(value_of(c, "rq_num_lle"), -1);
    c = read_tree("two-ports", &taut_counters_ib, 1, "ib1");
    ck_assert_str_eq(c->place, "mlx4_0/2");
    ck_assert_int_eq(value_of(c, "port_xmit_data"), 2222);
    ck_assert_int_eq(value_of(c, "sq_num_to"), 200);
    ck_assert_int_eq(value_of(c, "rate_Mbps"), 2500);
    ck_assert_str_eq(text_of(c, "state"), "DOWN");
    ck_assert_str_eq(text_of(c, "width"), "1X");
    ck_assert_str_eq(text_of(c, "speed"), "");
}
END_TEST

START_TEST(two_devices_of_one_card_share_its_link)
{
    const struct taut_counters *c =
        read_tree("two-ports", &taut_counters_pcie, 0, "ib0");

    ck_assert_int_eq(value_of(c, "lanes"), 8);
    ck_assert_int_eq(value_of(c, "speed_MTps"), 8000);
    ck_assert_uint_gt(c->opens, 0);
    c = read_tree("two-ports", &taut_counters_pcie, 1, "ib1");
    ck_assert_int_eq(value_of(c, "max_lanes"), 8);
    ck_assert_uint_eq(c->opens, 0);
}
END_TEST

START_TEST(a_link_trained_down_and_a_narrow_slot)
{
    const struct taut_counters *c =
        read_tree("hdr", &taut_counters_pcie, 0, "ib1");

    ck_assert_str_eq(c->place, "0000:a1:00.0");
    ck_assert_int_eq(value_of(c, "lanes"), 8);
    ck_assert_int_eq(value_of(c, "max_lanes"), 16);
    ck_assert_int_eq(value_of(c, "speed_MTps"), 16000);
    ck_assert_int_eq(value_of(c, "max_speed_MTps"), 16000);
    ck_assert_int_eq(value_of(c, "aer_correctable"), 3);
    ck_assert_int_eq(value_of(c, "aer_nonfatal"), 0);
    ck_assert_int_eq(value_of(c, "aer_fatal"), 0);
    c = read_tree("roce", &taut_counters_pcie, 0, "eth2");
    ck_assert_int_eq(value_of(c, "lanes"), 8);
    ck_assert_int_eq(value_of(c, "max_lanes"), 8); /* of a card with 16 */
}
END_TEST

START_TEST(a_slingshot_adapter)
{
    const struct taut_counters *c =
        read_tree("slingshot", &taut_counters_cxi, 0, "hsn1");

    ck_assert_str_eq(c->place, "cxi1");
    ck_assert_int_eq(value_of(c, "hni_pcs_uncorrected_cw"), 90049);
    ck_assert_int_eq(value_of(c, "hni_tx_paused"), 28000);
    ck_assert_int_eq(value_of(c, "hni_rx_paused"), 0);
    ck_assert_int_eq(value_of(c, "link_restarts_1h"), 5);
    ck_assert_int_eq(value_of(c, "link_restarts_10h"), 7);
    ck_assert_int_eq(value_of(c, "link_restart_last"), 1699999990);
    ck_assert_int_eq(value_of(c, "pcie_corr_err"), 12);
    ck_assert_str_eq(text_of(c, "state"), "up");
    ck_assert_str_eq(text_of(c, "speed"), "BS_200G");
    ck_assert_int_eq(c->t_ns / 1000000000, 1700000000);
    ck_assert_uint_eq(c->bad, 0);
    c = read_tree("hdr", &taut_counters_cxi, 0, "ib0");
    ck_assert_uint_eq(c->count + c->text_count, 0);
}
END_TEST

START_TEST(gemini_and_aries)
{
    const struct taut_counters *c =
        read_tree("gemini", &taut_counters_gpcdr, 0, "ipogif0");

    ck_assert_uint_eq(c->count, 36 + 6);
    ck_assert_int_eq(value_of(c, "traffic:Z+"), 11120553955311);
    ck_assert_int_eq(value_of(c, "credit_stall:Y-"), 1596117);
    ck_assert_int_eq(value_of(c, "sendlinkstatus:Y+"), 12);
    ck_assert_int_eq(value_of(c, "recvlinkstatus:X+"), 0);
    ck_assert_int_eq(value_of(c, "totaloutput_optA"), 7744750941872);
    ck_assert_int_eq(c->t_ns, 86400123 * INT64_C(1000000));
    c = read_tree("aries", &taut_counters_gpcdr, 0, "ipogif0");
    ck_assert_uint_eq(c->count, 4 * 40 + 4);
    ck_assert_int_eq(value_of(c, "traffic:037"), 6804783540);
    ck_assert_int_eq(value_of(c, "stalled:047"), 524587565);
    ck_assert_int_eq(value_of(c, "recvlinkstatus:007"), 3);
    ck_assert_uint_eq(c->bad, 0);
    /* The router is reported once. */
    c = read_tree("aries", &taut_counters_gpcdr, 1, "ipogif1");
    ck_assert_uint_eq(c->count, 0);
}
END_TEST

/* Each source: what is left of it, how many files tell nothing, and the first
 * of them. */
static const struct {
    const struct taut_counter_source *source;
    size_t count, texts;
    unsigned bad;
    const char *why;
} bad[] = {
    {&taut_counters_netdev, 3, 1, 10,
     "statistics/tx_bytes: not in 0 to 2^63 - 1: '18446744073709551615'"},
    {&taut_counters_ib, 19, 1, 6, "state: not \"NUMBER: STATE\": 'ACTIVE'"},
    {&taut_counters_cxi, 1, 1, 12,
     "telemetry/hni_sts_rx_ok_octets: not \"VALUE@SECONDS\": '5@'"},
    {&taut_counters_gpcdr, 2, 0, 5,
     "links/metrics: not \"NAME VALUE UNIT\": 'timestamp 5 fortnights'"},
    {&taut_counters_pcie, 1, 0, 4,
     "current_link_width: not a number of lanes: 'x8'"},
};

START_TEST(nothing_is_lost_but_what_cannot_be_read)
{
    const struct taut_counters *c = read_tree("bad", bad[_i].source, 0, "hsn0");

    ck_assert_str_eq(c->why, bad[_i].why);
    ck_assert_uint_eq(c->count, bad[_i].count);
    ck_assert_uint_eq(c->text_count, bad[_i].texts);
    ck_assert_uint_eq(c->bad, bad[_i].bad);
}
END_TEST

START_TEST(a_port_that_vanishes_is_told_no_more)
{
    char command[128];

    taut_counters_read(&taut_counters_netdev, sets, 0, root, "hsn0");
    ck_assert_uint_gt(sets[0].count, 0);
    snprintf(command, sizeof(command), "rm -r %s/sys/class/net/hsn0", dir);
    ck_assert_int_eq(system(command), 0);
    taut_counters_read(&taut_counters_netdev, sets, 0, root, "hsn0");
    ck_assert_uint_eq(sets[0].count + sets[0].text_count, 0);
    ck_assert_uint_eq(sets[0].bad, 0);
}
END_TEST

static const struct {
    const char *text;
    int64_t value; /* -1: refused */
    int64_t t_ns;
} stamped[] = {
    {"5", 5, 7},
    {"5@1700000000", 5, 1700000000000000000},
    {"5@1700000000.5", 5, 1700000000500000000},
    {"5@0.000000001", 5, 1},
    {"5@1.0000000019", 5, 1000000001},
    {"9223372036854775807@1", INT64_MAX, 1000000000},
    {"9223372036854775808@1", -1, 7},
    {"5@9000000001", -1, 7},
    {"5@99999999999999999999", -1, 7},
    {"5@", -1, 7},
    {"5@1.5s", -1, 7},
    {"5@-1", -1, 7},
    {"-5@1", -1, 7},
    {"@1", -1, 7},
    {"", -1, 7},
    {" 5", -1, 7},
};

START_TEST(values_with_a_time)
{
    int64_t value = -1, t_ns = 7;
    int rc = taut_counters_parse_stamped(stamped[_i].text, &value, &t_ns);

    ck_assert_int_eq(rc, stamped[_i].value < 0 ? -1 : 0);
    ck_assert_int_eq(value, stamped[_i].value);
    ck_assert_int_eq(t_ns, stamped[_i].t_ns);
}
END_TEST

static const struct {
    const char *text;
    int64_t Mbps; /* -1: refused */
    const char *width, *speed;
} rates[] = {
    {"100 Gb/sec (4X EDR)", 100000, "4X", "EDR"},
    {"2.5 Gb/sec (1X)", 2500, "1X", ""},
    {"25.78125 Gb/sec (1X EDR)", 25781, "1X", "EDR"},
    {"800 Gb/sec (4X NDR NEW)", 800000, "4X", "NDR NEW"},
    {"100 Gb/sec", -1, "", ""},
    {"100 Gb/sec (4X EDR", -1, "", ""},
    {"100 Gb/sec (4X EDR) ", -1, "", ""},
    {"Gb/sec (4X EDR)", -1, "", ""},
    {"9223372036854775807 Gb/sec (4X EDR)", -1, "", ""},
    {"", -1, "", ""},
};

START_TEST(rates_of_a_port)
{
    char width[TAUT_COUNTER_TEXT] = "", speed[TAUT_COUNTER_TEXT] = "";
    int64_t Mbps = -1;
    int rc = taut_counters_parse_rate(rates[_i].text, &Mbps, width, speed);

    ck_assert_int_eq(rc, rates[_i].Mbps < 0 ? -1 : 0);
    ck_assert_int_eq(Mbps, rates[_i].Mbps);
    ck_assert_str_eq(width, rates[_i].width);
    ck_assert_str_eq(speed, rates[_i].speed);
}
END_TEST

START_TEST(a_message_has_only_so_many_numbers)
{
    static struct taut_readings readings;
    size_t lines = 1;
    char *text;

    sets[0].interface[0] = '\0';
    sets[0].source = "netdev";
    sets[0].t_ns = -1;
    sets[0].count = sets[0].text_count = 0;
    for (int i = 0; i < 1000; i++)
        taut_counters_put(&sets[0], "n", 1);
    ck_assert_uint_eq(sets[0].count, TAUT_COUNTER_MAX);
    readings.count = TAUT_READINGS_MAX;
    for (size_t i = 0; i < TAUT_READINGS_MAX; i++)
        readings.list[i] = &sets[0];
    text = taut_readings_text(&readings);
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    ck_assert_uint_eq(lines, TAUT_READINGS_NUMBERS / TAUT_COUNTER_MAX);
    free(text);
}
END_TEST

/* Nothing of a name or a text ends it, or is no ASCII. */
START_TEST(what_a_node_tells_is_one_line_a_reading)
{
    static struct taut_readings readings = {2, {&sets[0], &sets[1]}};
    char *text;

    memset(sets, 0, 2 * sizeof(sets[0]));
    strcpy(sets[0].interface, "a b'\xc3\n");
    sets[0].source = "ib";
    sets[0].t_ns = 1500000007;
    taut_counters_put(&sets[0], "x", INT64_MAX);
    taut_counters_put_text(&sets[0], "state", "4: it's\nup");
    strcpy(sets[1].interface, "lo");
    sets[1].source = "netdev";
    sets[1].t_ns = -1;
    text = taut_readings_text(&readings);
    ck_assert_str_eq(text, "ib a?b??? x=9223372036854775807 "
                           "state='4: it?s?up' t=1.500000007\nnetdev lo");
    free(text);
    readings.count = 0;
    text = taut_readings_text(&readings);
    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

/* Names and numbers of a group are two lines; another kernel has other ones. */
START_TEST(what_a_receiver_threw_away_is_added_up)
{
    ck_assert_int_eq(taut_netstat_parse_pruned(
                         "TcpExt: SyncookiesSent PruneCalled RcvPruned X "
                         "OfoPruned TCPRcvQDrop\n"
                         "TcpExt: 9 1 20 7 300 4000\n"
                         "IpExt: PruneCalled\nIpExt: 5\n"),
                     4321);
    ck_assert_int_eq(taut_netstat_parse_pruned("TcpExt: PruneCalled A\n"
                                               "TcpExt: 2\n"),
                     2);
    ck_assert_int_eq(taut_netstat_parse_pruned("TcpExt: A\nTcpExt: 2\n"), -1);
    ck_assert_int_eq(taut_netstat_parse_pruned("TcpExt: PruneCalled\n"), -1);
    ck_assert_int_eq(taut_netstat_parse_pruned("TcpExt:\nTcpExt:"), -1);
    ck_assert_int_eq(taut_netstat_parse_pruned(""), -1);
    ck_assert_int_eq(taut_netstat_pruned(-1), -1);
}
END_TEST

START_TEST(the_kernel_tells_what_it_threw_away)
{
    int fd = taut_netstat_open();
    int64_t first = taut_netstat_pruned(fd);

    ck_assert_int_ge(first, 0);
    ck_assert_int_ge(taut_netstat_pruned(fd), first);
    close(fd);
}
END_TEST

START_TEST(own_traffic_is_not_foreign)
{
    struct taut_gauge_mark a = {.delay_ns = 10}, b = {.delay_ns = 25};

    b.port_rx = 1046000;
    b.own_rx = 1000000;
    b.port_tx = 23000;
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 0, 25000000), 0);
    ck_assert_int_eq(taut_gauge_delay(&a, &b), 15);
    b.port_tx += 500000;
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 0, 25000000), 473000);
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 473000, 25000000), 0);
}
END_TEST

/* A test that ends late is watched for longer than it lasts. */
START_TEST(of_what_others_sent_a_test_gets_its_share_of_the_time)
{
    struct taut_gauge_mark a = {.at_ns = 1000}, b = {.at_ns = 100001000};

    b.port_rx = 9000000;
    b.own_rx = 1000000;
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 0, 25000000), 1985000);
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 0, 100000000), 7940000);
    b.at_ns = 20001000;
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 0, 25000000), 7940000);
    a.port_rx = 0, b.port_rx = INT64_MAX / 2;
    b.at_ns = INT64_MAX / 2;
    ck_assert_int_ge(taut_gauge_foreign(&a, &b, 0, 25000000), 0);
}
END_TEST

START_TEST(foreign_in_one_direction_is_not_hidden_by_the_other)
{
    struct taut_gauge_mark a = {0}, b = {0};

    b.own_rx = 10000000;
    b.port_rx = 1000;
    b.port_tx = 600000;
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 0, 25000000), 100000);
}
END_TEST

START_TEST(a_port_tells_all_it_carried)
{
    struct taut_gauge_mark a = {0}, b = {.at_ns = 20000000};
    struct taut_gauge_port p;

    b.port_rx = 5000000;
    b.own_rx = 1000000;
    b.port_tx = 60000;
    p = taut_gauge_port(&a, &b, false);
    ck_assert_int_eq(p.ns, 20000000);
    ck_assert_int_eq(p.data, 5000000);
    ck_assert_int_eq(p.with, 3940000);
    ck_assert_int_eq(p.back, 10000);
    /* for another test of ours, which sends, part of these is ours as well */
    b.own_tx = 9000;
    p = taut_gauge_port(&a, &b, true);
    ck_assert_int_eq(p.data, 60000);
    ck_assert_int_eq(p.with, 60000 - 9540 - 50000);
    ck_assert_int_eq(p.back, 5000000 - 1060000 - 450);
    b.port_rx = -1;
    ck_assert_int_eq(taut_gauge_port(&a, &b, true).ns, -1);
    b = a;
    ck_assert_int_eq(taut_gauge_port(&a, &b, true).ns, -1);
}
END_TEST

START_TEST(without_counters_nothing_is_known)
{
    struct taut_gauge gauge;
    struct taut_gauge_mark a, b;

    taut_gauge_open(&gauge, root, "nothing");
    taut_gauge_mark(&gauge, &a, 0, 0);
    taut_gauge_mark(&gauge, &b, 0, 0);
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 0, 25000000), -1);
    taut_gauge_close(&gauge);
    taut_gauge_mark(&gauge, &b, 0, 0);
    ck_assert_int_eq(taut_gauge_delay(&a, &b), -1);
}
END_TEST

START_TEST(the_gauge_follows_the_files)
{
    struct taut_gauge gauge;
    struct taut_gauge_mark a, b;

    put("statistics/tx_bytes", "0\n");
    taut_gauge_open(&gauge, root, "hsn0");
    taut_gauge_mark(&gauge, &a, 0, 0);
    put("statistics/rx_bytes", "5000\n");
    taut_gauge_mark(&gauge, &b, 0, 0);
    ck_assert_int_ge(b.at_ns, a.at_ns);
    ck_assert_int_eq(taut_gauge_foreign(&a, &b, 0, INT64_MAX), 4000);
    taut_gauge_close(&gauge);
}
END_TEST

#define COUNT(cases) ((int)(sizeof(cases) / sizeof(cases)[0]))

int main(void)
{
    TCase *tc = tcase_create("counters");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_port_is_the_one_that_names_the_interface);
    tcase_add_test(tc, a_vlans_port_is_found_behind_the_gids_of_its_card);
    tcase_add_test(tc, the_port_of_a_bond_is_found_among_many_devices);
    tcase_add_test(tc, where_ports_name_others_none_is_read);
    tcase_add_test(tc, where_no_port_names_any_its_number_tells);
    tcase_add_test(tc, what_cannot_be_read_is_left_out);
    tcase_add_test(tc, a_label_belongs_to_its_device);
    tcase_add_test(tc, two_names_of_one_device_open_it_once);
    tcase_add_test(tc, netdev_of_a_recorded_tree);
    tcase_add_test(tc, a_speed_that_is_not_known_is_no_error);
    tcase_add_test(tc, an_infiniband_port);
    tcase_add_test(tc, planes_of_a_port_are_added_up);
    tcase_add_test(tc, planes_on_a_device_beside_are_counted_by_the_data_s);
    tcase_add_test(tc, what_planes_lose_during_a_test_is_added_up);
    tcase_add_test(tc, what_no_plane_can_have_lost_is_not_added_up);
    tcase_add_test(tc, ports_of_other_drivers);
    tcase_add_test(tc, what_a_port_without_an_agent_loses_is_told_by_its_driver);
    tcase_add_test(tc, a_name_with_blanks_is_told_without);
    tcase_add_test(tc, soft_roce_is_found_by_the_interface_that_it_names);
    tcase_add_test(tc, each_network_device_has_its_own_port_of_a_card);
    tcase_add_test(tc, two_devices_of_one_card_share_its_link);
    tcase_add_test(tc, a_link_trained_down_and_a_narrow_slot);
    tcase_add_test(tc, a_slingshot_adapter);
    tcase_add_test(tc, gemini_and_aries);
    tcase_add_loop_test(tc, nothing_is_lost_but_what_cannot_be_read, 0,
                        COUNT(bad));
    tcase_add_test(tc, a_port_that_vanishes_is_told_no_more);
    tcase_add_loop_test(tc, values_with_a_time, 0, COUNT(stamped));
    tcase_add_loop_test(tc, rates_of_a_port, 0, COUNT(rates));
    tcase_add_test(tc, a_message_has_only_so_many_numbers);
    tcase_add_test(tc, what_a_node_tells_is_one_line_a_reading);
    tcase_add_test(tc, own_traffic_is_not_foreign);
    tcase_add_test(tc, of_what_others_sent_a_test_gets_its_share_of_the_time);
    tcase_add_test(tc, foreign_in_one_direction_is_not_hidden_by_the_other);
    tcase_add_test(tc, a_port_tells_all_it_carried);
    tcase_add_test(tc, without_counters_nothing_is_known);
    tcase_add_test(tc, the_gauge_follows_the_files);
    tcase_add_test(tc, what_a_receiver_threw_away_is_added_up);
    tcase_add_test(tc, the_kernel_tells_what_it_threw_away);
    return unit_run("counters", tc);
}
