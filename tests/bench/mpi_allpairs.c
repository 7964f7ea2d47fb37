/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All-pairs bandwidth by MPI, what `taut matrix` is held against, and a way
 * to see what each habit of such programs costs.
 *
 * usage: mpirun -n N mpi_allpairs [--pattern shift|both|pairs|alone]
 *          [--clock sender|receiver] [--bytes N] [--window N]
 *          [--iterations N]
 *
 *   shift  N-1 steps; in step k every rank sends to the rank k further on and
 *          receives from the rank k before it, all at once
 *   both   N-1 rounds of disjoint pairs, both directions at once
 *   pairs  N-1 rounds of disjoint pairs, first one direction, then the other
 *   alone  one pair in one direction at a time
 *
 * Each measurement is --iterations times --window messages of --bytes, after
 * one message that is not counted.  The sender's clock stops when the last
 * MPI_Isend is complete, the receiver's when the last message is there.
 *
 * Prints on rank 0 "pair FROM TO BYTES_PER_SECOND" for each pair, in ranks'
 * processor names, and "wall SECONDS" from barrier to barrier. */
#include <getopt.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum pattern { PATTERN_SHIFT, PATTERN_BOTH, PATTERN_PAIRS, PATTERN_ALONE };

enum { MOST_WINDOW = 64, TAG = 7 };

struct options {
    enum pattern pattern;
    bool receiver_clock;
    int bytes;
    int window;
    int iterations;
};

struct state {
    struct options o;
    int rank, ranks;
    char *out, *in; /* window messages each */
    double *mine;   /* by receiver, or sender with the receiver's clock */
};

static void fail(const struct state *s, const char *what)
{
    if (s->rank == 0)
        fprintf(stderr, "mpi_allpairs: %s\n", what);
    MPI_Finalize();
    exit(2);
}

static int whole(const struct state *s, const char *text, int most)
{
    char *end;
    long v = strtol(text, &end, 10);

    if (*text == '\0' || *end != '\0' || v < 1 || v > most)
        fail(s, "a whole number out of range");
    return (int)v;
}

static enum pattern pattern_of(const struct state *s, const char *text)
{
    static const char *const names[] = {"shift", "both", "pairs", "alone"};

    for (int i = 0; i < 4; i++)
        if (strcmp(text, names[i]) == 0)
            return (enum pattern)i;
    fail(s, "--pattern is shift, both, pairs or alone");
    return PATTERN_SHIFT;
}

static void parse(struct state *s, int argc, char **argv)
{
    static const struct option longs[] = {
        {"pattern", required_argument, NULL, 'p'},
        {"clock", required_argument, NULL, 'c'},
        {"bytes", required_argument, NULL, 'b'},
        {"window", required_argument, NULL, 'w'},
        {"iterations", required_argument, NULL, 'i'},
        {NULL, 0, NULL, 0}};
    int c;

    s->o = (struct options){.bytes = 1 << 20, .window = 2, .iterations = 4};
    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c == 'p')
            s->o.pattern = pattern_of(s, optarg);
        else if (c == 'c')
            s->o.receiver_clock = strcmp(optarg, "receiver") == 0;
        else if (c == 'b')
            s->o.bytes = whole(s, optarg, 1 << 24);
        else if (c == 'w')
            s->o.window = whole(s, optarg, MOST_WINDOW);
        else if (c == 'i')
            s->o.iterations = whole(s, optarg, 1000);
        else
            fail(s, "usage: see the top of mpi_allpairs.c");
    }
}

/* One message that is not counted sets up what is set up only once. */
static void first_message(struct state *s, int to, int from)
{
    MPI_Request r[2];
    int n = 0;

    if (from >= 0)
        MPI_Irecv(s->in, s->o.bytes, MPI_BYTE, from, TAG, MPI_COMM_WORLD,
                  &r[n++]);
    if (to >= 0)
        MPI_Isend(s->out, s->o.bytes, MPI_BYTE, to, TAG, MPI_COMM_WORLD,
                  &r[n++]);
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
}

/* One window: sets the times at which all was sent, and all was received. */
static void window(struct state *s, int to, int from, double *sent,
                   double *received)
{
    MPI_Request in[MOST_WINDOW], out[MOST_WINDOW];
    int bytes = s->o.bytes;

    for (int w = 0; from >= 0 && w < s->o.window; w++)
        MPI_Irecv(s->in + (size_t)w * (size_t)bytes, bytes, MPI_BYTE, from, TAG,
                  MPI_COMM_WORLD, &in[w]);
    for (int w = 0; to >= 0 && w < s->o.window; w++)
        MPI_Isend(s->out + (size_t)w * (size_t)bytes, bytes, MPI_BYTE, to, TAG,
                  MPI_COMM_WORLD, &out[w]);
    if (to >= 0)
        MPI_Waitall(s->o.window, out, MPI_STATUSES_IGNORE);
    *sent = MPI_Wtime();
    if (from >= 0)
        MPI_Waitall(s->o.window, in, MPI_STATUSES_IGNORE);
    *received = MPI_Wtime();
}

/* Send to one rank, receive from another, or only one of them (-1: none). */
static void measure(struct state *s, int to, int from)
{
    double sent = 0, received = 0;
    double all = (double)s->o.bytes * s->o.window * s->o.iterations;

    first_message(s, to, from);
    double begin = MPI_Wtime();
    for (int i = 0; i < s->o.iterations; i++)
        window(s, to, from, &sent, &received);
    if (s->o.receiver_clock && from >= 0)
        s->mine[from] = all / (received - begin);
    else if (!s->o.receiver_clock && to >= 0)
        s->mine[to] = all / (sent - begin);
}

static void step(struct state *s, int to, int from)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (to >= 0 || from >= 0)
        measure(s, to, from);
}

static void run_shift(struct state *s)
{
    for (int k = 1; k < s->ranks; k++)
        step(s, (s->rank + k) % s->ranks, (s->rank - k + s->ranks) % s->ranks);
}

/* The other one of this rank's pair in a round (circle method), or -1. */
static int partner(int rank, int ranks, int round)
{
    int even = ranks + ranks % 2;
    int p;

    if (rank == even - 1)
        p = round;
    else if (rank == round)
        p = even - 1;
    else
        p = (2 * round - rank + 2 * (even - 1)) % (even - 1);
    return p < ranks ? p : -1;
}

static void run_pairs(struct state *s)
{
    int rounds = s->ranks - 1 + s->ranks % 2;

    for (int k = 0; k < rounds; k++) {
        int p = partner(s->rank, s->ranks, k);
        bool first = s->rank < p;

        if (s->o.pattern == PATTERN_BOTH) {
            step(s, p, p);
            continue;
        }
        step(s, first ? p : -1, first ? -1 : p);
        step(s, first ? -1 : p, first ? p : -1);
    }
}

static void run_alone(struct state *s)
{
    for (int a = 0; a < s->ranks; a++)
        for (int b = 0; b < s->ranks; b++)
            if (a != b)
                step(s, s->rank == a ? b : -1, s->rank == b ? a : -1);
}

static void print(struct state *s, double wall)
{
    enum { NAME = MPI_MAX_PROCESSOR_NAME };
    int n = s->ranks, length;
    char name[NAME] = "";
    char *names = malloc((size_t)n * NAME);
    double *all = malloc((size_t)n * (size_t)n * sizeof(*all));

    if (names == NULL || all == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Get_processor_name(name, &length);
    MPI_Gather(name, NAME, MPI_CHAR, names, NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Gather(s->mine, n, MPI_DOUBLE, all, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; s->rank == 0 && i < n; i++) {
        for (int j = 0; j < n; j++) {
            int from = s->o.receiver_clock ? j : i;
            int to = s->o.receiver_clock ? i : j;

            if (i != j)
                printf("pair %s %s %.0f\n", names + (size_t)from * NAME,
                       names + (size_t)to * NAME, all[i * n + j]);
        }
    }
    if (s->rank == 0)
        printf("wall %.3f\n", wall);
    free(names);
    free(all);
}

int main(int argc, char **argv)
{
    struct state s = {.rank = 0};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
    parse(&s, argc, argv);
    size_t room = (size_t)s.o.bytes * (size_t)s.o.window;
    s.out = calloc(1, room);
    s.in = calloc(1, room);
    s.mine = calloc((size_t)s.ranks, sizeof(*s.mine));
    if (s.out == NULL || s.in == NULL || s.mine == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    if (s.o.pattern == PATTERN_SHIFT)
        run_shift(&s);
    else if (s.o.pattern == PATTERN_ALONE)
        run_alone(&s);
    else
        run_pairs(&s);
    MPI_Barrier(MPI_COMM_WORLD);
    print(&s, MPI_Wtime() - begin);
    free(s.out);
    free(s.in);
    free(s.mine);
    MPI_Finalize();
    return 0;
}
