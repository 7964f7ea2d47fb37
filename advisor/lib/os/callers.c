/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include <sodium.h>

#include "advisor/lib/os/blocking.h"
#include "advisor/lib/os/callers.h"
#include "advisor/lib/os/tcp_port.h"

#define SWEEP_MS 20        /* between two looks for those that waited long */
#define ERROR_PAUSE_MS 100 /* when descriptors have run out */
#define BURST 256          /* accepted between two such looks */
#define SLOTS 4096         /* for addresses that called of late */
#define OFTEN_BURST 32     /* calls of one address at once, */
#define OFTEN_EACH_MS 100  /* and one more in so long: who calls more often waits
                              until all others have been taken in */

struct waiting {
    TAILQ_ENTRY(waiting) link;
    struct taut_caller caller;
};

TAILQ_HEAD(queue, waiting);

/* How many calls of an address are left, at that time. */
struct slot {
    int64_t at_ms;
    int left;
};

struct taut_callers {
    pthread_t thread;
    pthread_mutex_t lock;
    struct queue waiting, often; /* the latter's addresses call too often */
    long count;                  /* of both */
    struct slot slots[SLOTS];
    unsigned char key[crypto_shorthash_KEYBYTES]; /* slots are unpredictable */
    bool news; /* for the owner, who is rung once for all of a burst */
    struct taut_callers_refused refused;
    int socket, event, stop; /* the last two are eventfds */
    int wait_ms;
};

static void ring(int event)
{
    uint64_t one = 1;
    ssize_t n;

    do
        n = write(event, &one, sizeof(one));
    while (n < 0 && errno == EINTR);
}

/* ---- the thread ---- */

/* With the lock held, as all of these. */
static void count_refused(struct taut_callers_refused *r,
                          const struct taut_caller *caller)
{
    char address[TAUT_CALLERS_HOST];
    int i = 0;

    taut_port_peer(address, sizeof(address), (const void *)&caller->sa,
                   caller->length);
    *strrchr(address, ':') = '\0'; /* the port follows it */
    while (i < r->hosts && strcmp(r->host[i].address, address) != 0)
        i++;
    if (i == TAUT_CALLERS_HOSTS) {
        r->others++;
        return;
    }
    if (i == r->hosts) {
        strcpy(r->host[i].address, address);
        r->host[i].count = 0;
        r->hosts++;
    }
    r->host[i].count++;
}

static void refuse(struct taut_callers *c, const struct taut_caller *caller)
{
    close(caller->fd);
    count_refused(&c->refused, caller);
    c->news = true;
}

static void refuse_first(struct taut_callers *c, struct queue *queue)
{
    struct waiting *w = TAILQ_FIRST(queue);

    TAILQ_REMOVE(queue, w, link);
    c->count--;
    refuse(c, &w->caller);
    free(w);
}

static void sweep_queue(struct taut_callers *c, struct queue *queue)
{
    int64_t since_ms = taut_blocking_now_ms() - c->wait_ms;
    struct waiting *w;

    while ((w = TAILQ_FIRST(queue)) != NULL && w->caller.since_ms < since_ms)
        refuse_first(c, queue);
}

static void sweep(struct taut_callers *c)
{
    sweep_queue(c, &c->waiting);
    sweep_queue(c, &c->often);
}

static struct slot *slot_of(struct taut_callers *c,
                            const struct taut_caller *caller)
{
    const struct sockaddr_in *in = (const void *)&caller->sa;
    const struct sockaddr_in6 *in6 = (const void *)&caller->sa;
    bool is_6 = caller->sa.ss_family == AF_INET6;
    unsigned char hash[crypto_shorthash_BYTES];

    crypto_shorthash(hash,
                     is_6 ? (const void *)&in6->sin6_addr
                          : (const void *)&in->sin_addr,
                     is_6 ? sizeof(in6->sin6_addr) : sizeof(in->sin_addr),
                     c->key);
    return &c->slots[(hash[0] | hash[1] << 8) % SLOTS];
}

/* Has this address called too often of late?  The call is counted. */
static bool calls_often(struct taut_callers *c,
                        const struct taut_caller *caller)
{
    struct slot *s = slot_of(c, caller);
    int64_t more = (caller->since_ms - s->at_ms) / OFTEN_EACH_MS;

    if (s->at_ms == 0 || more >= OFTEN_BURST) {
        s->left = OFTEN_BURST;
        s->at_ms = caller->since_ms;
    } else if (more > 0) {
        s->left += (int)more;
        s->left = s->left > OFTEN_BURST ? OFTEN_BURST : s->left;
        s->at_ms += more * OFTEN_EACH_MS;
    }
    if (s->left == 0)
        return true;
    s->left--;
    return false;
}

static void enqueue(struct taut_callers *c, const struct taut_caller *caller)
{
    bool often = calls_often(c, caller);
    struct waiting *w;

    if (!often && c->count >= TAUT_CALLERS_MAX && !TAILQ_EMPTY(&c->often))
        refuse_first(c, &c->often);
    w = c->count < TAUT_CALLERS_MAX ? malloc(sizeof(*w)) : NULL;
    if (w == NULL) {
        refuse(c, caller);
        return;
    }
    w->caller = *caller;
    TAILQ_INSERT_TAIL(often ? &c->often : &c->waiting, w, link);
    if (c->count++ == 0)
        c->news = true;
}

/* Returns false if no connection waits. */
static bool accept_one(struct taut_callers *c)
{
    struct taut_caller caller = {.length = sizeof(caller.sa)};

    caller.fd = accept4(c->socket, (struct sockaddr *)&caller.sa,
                        &caller.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (caller.fd < 0 && (errno == EINTR || errno == ECONNABORTED))
        return true;
    pthread_mutex_lock(&c->lock);
    if (caller.fd >= 0) {
        caller.since_ms = taut_blocking_now_ms();
        enqueue(c, &caller);
    } else if (errno != EAGAIN) {
        c->refused.error = errno;
        c->news = true;
    }
    pthread_mutex_unlock(&c->lock);
    return caller.fd >= 0;
}

/* After a burst.  Returns for how long nothing needs to be done but accept. */
static int after_burst(struct taut_callers *c, bool *failed)
{
    pthread_mutex_lock(&c->lock);
    sweep(c);
    bool news = c->news;
    c->news = false;
    *failed = c->refused.error != 0;
    int pause_ms = c->count > 0 ? SWEEP_MS : -1;
    pthread_mutex_unlock(&c->lock);
    if (news)
        ring(c->event);
    return pause_ms;
}

static void *run(void *arg)
{
    struct taut_callers *c = arg;
    struct pollfd fds[2] = {{.fd = c->socket, .events = POLLIN},
                            {.fd = c->stop, .events = POLLIN}};
    int pause_ms = -1;
    bool failed;

    while (poll(fds, 2, pause_ms) >= 0 || errno == EINTR) {
        if (fds[1].revents != 0)
            break;
        for (int n = 0; n < BURST && accept_one(c); n++)
            continue;
        pause_ms = after_burst(c, &failed);
        if (failed)
            poll(&fds[1], 1, ERROR_PAUSE_MS);
    }
    return NULL;
}

/* ---- the owner ---- */

static void close_all(struct queue *queue)
{
    struct waiting *w;

    while ((w = TAILQ_FIRST(queue)) != NULL) {
        TAILQ_REMOVE(queue, w, link);
        close(w->caller.fd);
        free(w);
    }
}

static void destroy(struct taut_callers *c)
{
    close_all(&c->waiting);
    close_all(&c->often);
    if (c->event >= 0)
        close(c->event);
    if (c->stop >= 0)
        close(c->stop);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Signals are the owner's business. */
static int start(struct taut_callers *c)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&c->thread, NULL, run, c);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

struct taut_callers *taut_callers_create(int fd, int wait_ms)
{
    struct taut_callers *c = calloc(1, sizeof(*c));
    int rc;

    if (c == NULL)
        return NULL;
    TAILQ_INIT(&c->waiting);
    TAILQ_INIT(&c->often);
    crypto_shorthash_keygen(c->key);
    pthread_mutex_init(&c->lock, NULL);
    c->socket = fd;
    c->wait_ms = wait_ms;
    c->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    c->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rc = c->event < 0 || c->stop < 0 ? errno : start(c);
    if (rc != 0) {
        destroy(c);
        errno = rc;
        return NULL;
    }
    return c;
}

void taut_callers_destroy(struct taut_callers *c)
{
    if (c == NULL)
        return;
    ring(c->stop);
    pthread_join(c->thread, NULL);
    close(c->socket);
    destroy(c);
}

int taut_callers_fd(const struct taut_callers *c)
{
    return c->event;
}

int taut_callers_socket(const struct taut_callers *c)
{
    return c->socket;
}

int taut_callers_take(struct taut_callers *c, struct taut_caller *caller)
{
    uint64_t count;

    pthread_mutex_lock(&c->lock);
    struct queue *queue =
        TAILQ_EMPTY(&c->waiting) ? &c->often : &c->waiting;
    struct waiting *w = TAILQ_FIRST(queue);
    if (w != NULL) {
        TAILQ_REMOVE(queue, w, link);
        c->count--;
    } else {
        (void)!read(c->event, &count, sizeof(count));
    }
    pthread_mutex_unlock(&c->lock);
    if (w == NULL)
        return 0;
    *caller = w->caller;
    free(w);
    return 1;
}

struct taut_callers_refused taut_callers_refused(struct taut_callers *c)
{
    pthread_mutex_lock(&c->lock);
    struct taut_callers_refused r = c->refused;
    c->refused = (struct taut_callers_refused){0};
    pthread_mutex_unlock(&c->lock);
    return r;
}
