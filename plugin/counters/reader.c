/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/common/confine.h"
#include "plugin/counters/host.h"
#include "plugin/counters/reader.h"

/* Between both processes.  The reader writes sets[s][i], then turns[s][i];
 * it writes to a set again only when it is asked again. */
struct taut_counter_shared {
    atomic_uchar turns[TAUT_COUNTER_SOURCES][TAUT_PLAN_RAILS];
    struct taut_counters sets[TAUT_COUNTER_SOURCES][TAUT_PLAN_RAILS];
    struct taut_port_count ports[TAUT_PLAN_RAILS]; /* the last answer */
};

/* The thread of taut_counters_ib answers this, too: what ports lost. */
#define ASK_PORTS 0 /* which is no turn */

static bool has_ports(size_t source)
{
    return taut_counter_sources[source] == &taut_counters_ib;
}

/* ---- the reader ---- */

struct task {
    int fd, root_fd;
    size_t source, count;
    struct taut_counter_shared *shared;
    char names[TAUT_PLAN_RAILS][IFNAMSIZ];
    bool are_ports_open;
    struct taut_port_files ports[TAUT_PLAN_RAILS];
    struct taut_host host; /* of the network devices' */
};

static bool is_netdev(size_t source)
{
    return taut_counter_sources[source] == &taut_counters_netdev;
}

static void read_source(const struct task *t, uint8_t turn)
{
    for (size_t i = 0; i < t->count; i++) {
        taut_counters_read(taut_counter_sources[t->source],
                           t->shared->sets[t->source], i, t->root_fd,
                           t->names[i]);
        if (i == 0 && is_netdev(t->source))
            taut_host_put(&t->host, &t->shared->sets[t->source][i]);
        atomic_store(&t->shared->turns[t->source][i], turn);
    }
}

/* Where descriptors run out, nothing is known of the ports left over; those of
 * the last one that had all are given back, for the other threads. */
static void open_ports(struct task *t)
{
    for (size_t i = 0; i < t->count; i++) {
        if (taut_port_files_open(&t->ports[i], t->root_fd, t->names[i]) == 0)
            continue;
        if (i > 0)
            taut_port_files_close(&t->ports[i - 1]);
        return;
    }
}

static void read_ports(struct task *t)
{
    if (!t->are_ports_open)
        open_ports(t);
    t->are_ports_open = true;
    for (size_t i = 0; i < t->count; i++)
        t->shared->ports[i] = taut_port_files_read(&t->ports[i]);
}

/* One byte is the question, the same one the answer; the end of the file is
 * the end of the process that asks, and so of ours. */
static void *serve(void *arg)
{
    struct task *t = arg;
    uint8_t turn;

    while (read(t->fd, &turn, 1) == 1) {
        if (turn == ASK_PORTS && has_ports(t->source))
            read_ports(t);
        else
            read_source(t, turn);
        if (send(t->fd, &turn, 1, MSG_NOSIGNAL) != 1)
            break;
    }
    _exit(0);
}

/* A reader of our standard output waits for its end; and no lock or socket may
 * live as long as a read that hangs. */
static void close_others(const struct task *tasks)
{
    int low, high = tasks[0].root_fd > 3 ? tasks[0].root_fd : 3;

    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++)
        high = tasks[s].fd > high ? tasks[s].fd : high;
    for (low = 0; low <= high; low++) {
        bool is_ours = low == tasks[0].root_fd;

        for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++)
            is_ours = is_ours || tasks[s].fd == low;
        if (!is_ours)
            close(low);
    }
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)low, ~0U, 0) == 0)
        return;
#endif
    for (; low < 1024; low++)
        close(low);
}

/* The usual soft limit is 1024: less than the files of five ports of eight
 * planes. */
static void raise_descriptor_limit(size_t interfaces)
{
    rlim_t wanted = (rlim_t)interfaces * TAUT_IB_PLANES * TAUT_PORT_FILES + 256;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Of the terminal's signals each process of a survey makes its own. */
static int become_reader(pid_t parent, const struct taut_user *run_as,
                         struct task *tasks)
{
    int root_fd = tasks[0].root_fd;
    char text[TAUT_CONFINE_TEXT];

    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    raise_descriptor_limit(tasks[0].count);
    if (run_as != NULL && taut_privileges_drop(run_as, NULL) < 0)
        return -1;
    /* Forgotten when the user changes, so after that. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        return -1;
    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++) {
        if (is_netdev(s))
            taut_host_open(&tasks[s].host, root_fd);
    }
    taut_confine(TAUT_CONFINE_READER, root_fd, text);
    return 0;
}

static _Noreturn void run(struct task *tasks, pid_t parent,
                          const struct taut_user *run_as)
{
    struct task *last = NULL;
    pthread_t thread;

    close_others(tasks);
    if (become_reader(parent, run_as, tasks) < 0)
        _exit(1);
    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++) {
        if (tasks[s].fd < 0)
            continue;
        if (last != NULL && pthread_create(&thread, NULL, serve, last) != 0)
            _exit(1);
        last = &tasks[s];
    }
    serve(last);
    _exit(0);
}

/* ---- the one who asks ---- */

void taut_counters_init(struct taut_counters_reader *r)
{
    memset(r, 0, sizeof(*r));
    r->pid = -1;
    r->patience = 1;
    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++)
        r->fds[s] = -1;
}

/* A process that was killed is gone at once, unless it hangs. */
static void reap(pid_t pid)
{
    struct timespec nap = taut_timespec(TAUT_MS_NS / 20);

    for (int i = 0; i < 40; i++) {
        if (waitpid(pid, NULL, WNOHANG) != 0)
            return;
        nanosleep(&nap, NULL);
    }
}

void taut_counters_close(struct taut_counters_reader *r)
{
    int saved = errno;

    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++) {
        if (r->fds[s] >= 0)
            close(r->fds[s]);
        r->fds[s] = -1;
    }
    if (r->pid > 0) {
        kill(r->pid, SIGKILL);
        reap(r->pid);
    }
    if (r->shared != NULL)
        munmap(r->shared, sizeof(*r->shared));
    r->pid = -1;
    r->shared = NULL;
    r->readings.count = 0;
    errno = saved;
}

static void name_interfaces(struct task *t, const char *const *names,
                            size_t count)
{
    for (t->count = 0; t->count < count && t->count < TAUT_PLAN_RAILS;
         t->count++)
        snprintf(t->names[t->count], IFNAMSIZ, "%s", names[t->count]);
}

/* Looking for directories asks no driver. */
static bool is_there(const struct task *t)
{
    const struct taut_counter_source *source = taut_counter_sources[t->source];

    for (size_t i = 0; i < t->count; i++) {
        struct taut_counters c = {.count = 0};

        snprintf(c.interface, IFNAMSIZ, "%s", t->names[i]);
        if (source->find(&c, t->root_fd) == 0)
            return true;
    }
    return false;
}

/* Most nodes have one source or two: the others get no way and no thread.
 * Returns how many there are, or -1 with errno. */
static int open_pairs(struct taut_counters_reader *r, struct task *tasks)
{
    int there = 0;

    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++) {
        int pair[2];

        tasks[s].source = s;
        if (!is_there(&tasks[s]))
            continue;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
            return -1;
        r->fds[s] = pair[0];
        tasks[s].fd = pair[1];
        r->is_there[s] = true;
        there++;
    }
    return there;
}

static int start(struct taut_counters_reader *r, struct task *tasks,
                 const struct taut_user *run_as)
{
    int there = open_pairs(r, tasks);
    pid_t parent = getpid();

    if (there <= 0)
        return there;
    r->shared = mmap(NULL, sizeof(*r->shared), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->shared == MAP_FAILED) {
        r->shared = NULL;
        return -1;
    }
    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++)
        tasks[s].shared = r->shared;
    r->pid = fork();
    if (r->pid == 0)
        run(tasks, parent, run_as);
    return r->pid < 0 ? -1 : 0;
}

/* The tasks are too large for a stack: one that cannot grow is a signal, and no
 * error. */
int taut_counters_open(struct taut_counters_reader *r, const char *const *names,
                       size_t count, int root_fd,
                       const struct taut_user *run_as, struct taut_error *err)
{
    struct task *tasks = calloc(TAUT_COUNTER_SOURCES, sizeof(*tasks));
    int rc;

    taut_counters_init(r);
    if (tasks == NULL)
        return taut_error_set(err, "counters are not read: %s",
                              strerror(errno));
    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++) {
        tasks[s].fd = -1;
        tasks[s].root_fd = root_fd;
        name_interfaces(&tasks[s], names, count);
    }
    r->count = tasks[0].count;
    rc = start(r, tasks, run_as);
    if (rc < 0)
        taut_error_set(err, "counters are not read: %s", strerror(errno));
    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++) {
        if (tasks[s].fd >= 0)
            close(tasks[s].fd);
    }
    free(tasks);
    if (rc < 0)
        taut_counters_close(r);
    return rc;
}

static bool is_busy(const struct taut_counters_reader *r, size_t s)
{
    return r->asked[s] != r->heard[s] || (r->owes_ports && has_ports(s));
}

/* An answer that is there; the end of the reader is the last one. */
static void hear(struct taut_counters_reader *r, size_t s)
{
    uint8_t turn;
    ssize_t n = recv(r->fds[s], &turn, 1, MSG_DONTWAIT);

    if (n == 1 && turn == ASK_PORTS) {
        r->owes_ports = false;
    } else if (n == 1) {
        r->heard[s] = turn;
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(r->fds[s]);
        r->fds[s] = -1;
    }
}

static void ask_all(struct taut_counters_reader *r)
{
    r->turn = (uint8_t)(r->turn % 255 + 1); /* 0 is no turn */
    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++) {
        if (r->fds[s] >= 0 && is_busy(r, s))
            hear(r, s);
        if (r->fds[s] >= 0 && !is_busy(r, s) &&
            send(r->fds[s], &r->turn, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
            r->asked[s] = r->turn;
    }
}

static int64_t deadline_of(const struct taut_counters_reader *r, size_t s,
                           int64_t start_ns, int64_t deadline_ns)
{
    int64_t own_ns = start_ns + r->patience *
                                    taut_counter_sources[s]->deadline_ms *
                                    TAUT_MS_NS;

    return own_ns < deadline_ns ? own_ns : deadline_ns;
}

/* Wait for one answer, or for the next deadline.  Returns false when there
 * is nothing to wait for any more. */
static bool wait_once(struct taut_counters_reader *r, int64_t start_ns,
                      int64_t deadline_ns)
{
    struct pollfd pfds[TAUT_COUNTER_SOURCES];
    int64_t now_ns = taut_now_ns(), next_ns = INT64_MAX;

    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++) {
        int64_t until_ns = deadline_of(r, s, start_ns, deadline_ns);
        bool is_waited_for = r->fds[s] >= 0 && r->asked[s] == r->turn &&
                             is_busy(r, s) && until_ns > now_ns;

        pfds[s].fd = is_waited_for ? r->fds[s] : -1;
        pfds[s].events = POLLIN;
        pfds[s].revents = 0;
        if (is_waited_for && until_ns < next_ns)
            next_ns = until_ns;
    }
    if (next_ns == INT64_MAX)
        return false;
    poll(pfds, TAUT_COUNTER_SOURCES, taut_left_ms(next_ns));
    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++) {
        if (pfds[s].fd >= 0 && pfds[s].revents)
            hear(r, s);
    }
    return true;
}

/* ---- what came of it ---- */

/* What another process wrote is taken within its bounds. */
static void keep_within(struct taut_counters *c, size_t s)
{
    c->source = taut_counter_sources[s]->name;
    c->count = c->count < TAUT_COUNTER_MAX ? c->count : TAUT_COUNTER_MAX;
    if (c->text_count > TAUT_COUNTER_TEXTS)
        c->text_count = TAUT_COUNTER_TEXTS;
    c->interface[sizeof(c->interface) - 1] = '\0';
    c->why[sizeof(c->why) - 1] = '\0';
    for (size_t i = 0; i < c->count; i++)
        c->list[i].name[TAUT_COUNTER_NAME - 1] = '\0';
    for (size_t i = 0; i < c->text_count; i++) {
        c->texts[i].name[TAUT_COUNTER_TEXT - 1] = '\0';
        c->texts[i].value[TAUT_COUNTER_TEXT - 1] = '\0';
    }
}

static void collect(struct taut_counters_reader *r)
{
    struct taut_readings *out = &r->readings;

    out->count = 0;
    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++) {
        for (size_t i = 0; i < r->count; i++) {
            struct taut_counters *c = &r->shared->sets[s][i];

            if (atomic_load(&r->shared->turns[s][i]) != r->turn)
                continue;
            keep_within(c, s);
            if (c->count + c->text_count > 0 && out->count < TAUT_READINGS_MAX)
                out->list[out->count++] = c;
        }
    }
}

/* Names of the sources that did not answer, "ib, cxi". */
static void name_silent(const struct taut_counters_reader *r, char *text,
                        size_t room)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++) {
        if (r->is_there[s] && r->heard[s] != r->turn &&
            used + 16 < room)
            used += (size_t)snprintf(text + used, room - used, "%s%s",
                                     used ? ", " : "",
                                     taut_counter_sources[s]->name);
    }
}

static int tell(const struct taut_counters_reader *r, struct taut_error *err)
{
    const struct taut_counters *first = NULL;
    unsigned bad = 0;
    char silent[80];

    name_silent(r, silent, sizeof(silent));
    if (*silent)
        return taut_error_set(
            err, "counters: no answer in time from %s; left out", silent);
    for (size_t s = 0; s < TAUT_COUNTER_SOURCES; s++) {
        for (size_t i = 0; i < r->count; i++) {
            const struct taut_counters *c = &r->shared->sets[s][i];

            bad += c->bad;
            first = first == NULL && c->bad > 0 ? c : first;
        }
    }
    if (first == NULL)
        return 0;
    return taut_error_set(err, "counters of %s, %s: %s; %u left out",
                          first->interface, first->source, first->why, bad);
}

int taut_counters_ask(struct taut_counters_reader *r, int64_t deadline_ns,
                      struct taut_error *err)
{
    int64_t start_ns = taut_now_ns();

    r->readings.count = 0;
    if (r->pid < 0)
        return 0;
    ask_all(r);
    while (wait_once(r, start_ns, deadline_ns))
        ;
    collect(r);
    return tell(r, err);
}

/* ---- ports ---- */

/* The source that knows them; TAUT_COUNTER_SOURCES where none of the interfaces
 * has a port. */
static size_t port_source(const struct taut_counters_reader *r)
{
    size_t s = 0;

    while (s < TAUT_COUNTER_SOURCES && !(has_ports(s) && r->fds[s] >= 0))
        s++;
    return r->pid < 0 ? TAUT_COUNTER_SOURCES : s;
}

/* Returns 0, or -1 with errno: nothing was asked. */
static int send_question(struct taut_counters_reader *r, size_t s)
{
    static const uint8_t question = ASK_PORTS;

    if (is_busy(r, s))
        hear(r, s);
    if (r->fds[s] < 0 || is_busy(r, s) ||
        send(r->fds[s], &question, 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1) {
        errno = EBUSY;
        return -1;
    }
    r->owes_ports = true;
    return 0;
}

int taut_counters_ask_ports(struct taut_counters_reader *r,
                            struct taut_port_count *counts, int64_t deadline_ns)
{
    size_t s = port_source(r);

    for (size_t i = 0; i < TAUT_PLAN_RAILS; i++)
        counts[i] = taut_port_nothing;
    if (s == TAUT_COUNTER_SOURCES) {
        errno = ENODEV;
        return -1;
    }
    if (send_question(r, s) < 0)
        return -1;
    while (r->owes_ports && r->fds[s] >= 0 && taut_now_ns() < deadline_ns) {
        struct timespec left = taut_timespec(deadline_ns - taut_now_ns());
        struct pollfd pfd = {.fd = r->fds[s], .events = POLLIN};

        if (ppoll(&pfd, 1, &left, NULL) > 0)
            hear(r, s);
    }
    if (r->owes_ports) {
        errno = ETIMEDOUT;
        return -1;
    }
    memcpy(counts, r->shared->ports, r->count * sizeof(*counts));
    return 0;
}
