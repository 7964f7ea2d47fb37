/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two communication patterns as applications have them, timed: what the bench
 * placement_lab runs on Slurm's choice of nodes and on Taut's.
 *
 * usage: mpirun -n N mpi_exchange halo|all-to-all [--grid XxYxZ]
 *          [--bytes N] [--steps N | --seconds S]
 *
 *   halo        ranks in a grid (--grid; x varies slowest, all dimensions are
 *               rings), each exchanges --bytes with each of its six
 *               neighbours, all at once
 *   all-to-all  MPI_Ialltoall, --bytes from each rank to each other
 *
 * A rank that waits looks every half millisecond and sleeps in between: MPI's
 * own waiting takes a processor for each rank, and here many ranks share few.
 *
 * A step begins at a barrier and lasts until the last rank has all it waits
 * for.  Prints on rank 0 "step SECONDS" for each but the first, which sets up
 * connections.  --seconds: steps until then, for the job that is in the way,
 * and nothing is printed. */
#include <getopt.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDES = 6, TAG = 7 };

struct exchange {
    bool halo;
    int grid[3];
    int bytes;
    int steps;
    double seconds;
    int rank, ranks;
    int beside[SIDES]; /* neighbours, - and + of each dimension */
    MPI_Comm comm;
    char *out, *in;
};

static void fail(const struct exchange *x, const char *what)
{
    if (x->rank == 0)
        fprintf(stderr, "mpi_exchange: %s\n", what);
    MPI_Finalize();
    exit(2);
}

static int whole(const struct exchange *x, const char *text, int most)
{
    char *end;
    long v = strtol(text, &end, 10);

    if (*text == '\0' || *end != '\0' || v < 1 || v > most)
        fail(x, "a whole number out of range");
    return (int)v;
}

static void parse_grid(struct exchange *x, const char *text)
{
    char rest;

    if (sscanf(text, "%dx%dx%d%c", &x->grid[0], &x->grid[1], &x->grid[2],
               &rest) != 3)
        fail(x, "--grid wants three numbers, as 4x2x2");
}

static void parse(struct exchange *x, int argc, char **argv)
{
    static const struct option longs[] = {
        {"bytes", required_argument, NULL, 'b'},
        {"grid", required_argument, NULL, 'g'},
        {"seconds", required_argument, NULL, 's'},
        {"steps", required_argument, NULL, 'n'},
        {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c == 'b')
            x->bytes = whole(x, optarg, 1 << 24);
        else if (c == 'g')
            parse_grid(x, optarg);
        else if (c == 's')
            x->seconds = whole(x, optarg, 1 << 20);
        else if (c == 'n')
            x->steps = whole(x, optarg, 1 << 20);
        else
            fail(x, "usage: see the top of mpi_exchange.c");
    }
    if (optind != argc - 1)
        fail(x, "one pattern, halo or all-to-all, is wanted");
    x->halo = strcmp(argv[optind], "halo") == 0;
    if (!x->halo && strcmp(argv[optind], "all-to-all") != 0)
        fail(x, "the pattern is halo or all-to-all");
    if (x->halo && (long)x->grid[0] * x->grid[1] * x->grid[2] != (long)x->ranks)
        fail(x, "--grid does not have as many places as there are ranks");
}

static void find_neighbours(struct exchange *x)
{
    const int rings[3] = {1, 1, 1};

    MPI_Cart_create(MPI_COMM_WORLD, 3, x->grid, rings, 0, &x->comm);
    for (int d = 0; d < 3; d++)
        MPI_Cart_shift(x->comm, d, 1, &x->beside[2 * d], &x->beside[2 * d + 1]);
}

static void prepare(struct exchange *x)
{
    size_t room = (size_t)x->bytes * (size_t)(x->halo ? SIDES : x->ranks);

    x->comm = MPI_COMM_WORLD;
    if (x->halo)
        find_neighbours(x);
    x->out = calloc(1, room);
    x->in = calloc(1, room);
    if (x->out == NULL || x->in == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void wait_for(int n, MPI_Request *r)
{
    const struct timespec nap = {.tv_nsec = 500000};
    int done = 0;

    for (;;) {
        MPI_Testall(n, r, &done, MPI_STATUSES_IGNORE);
        if (done)
            return;
        nanosleep(&nap, NULL);
    }
}

static void barrier(const struct exchange *x)
{
    MPI_Request r;

    MPI_Ibarrier(x->comm, &r);
    wait_for(1, &r);
}

static void all_to_all(struct exchange *x)
{
    MPI_Request r;

    MPI_Ialltoall(x->out, x->bytes, MPI_BYTE, x->in, x->bytes, MPI_BYTE,
                  x->comm, &r);
    wait_for(1, &r);
}

/* A ring of one has nobody to talk to.  What leaves by one side arrives at
 * the neighbour's other side, hence the tags. */
static void halo(struct exchange *x)
{
    MPI_Request r[2 * SIDES];
    int n = 0;

    for (int i = 0; i < SIDES; i++)
        if (x->beside[i] != x->rank)
            MPI_Irecv(x->in + (size_t)i * (size_t)x->bytes, x->bytes, MPI_BYTE,
                      x->beside[i], TAG + (i ^ 1), x->comm, &r[n++]);
    for (int i = 0; i < SIDES; i++)
        if (x->beside[i] != x->rank)
            MPI_Isend(x->out + (size_t)i * (size_t)x->bytes, x->bytes, MPI_BYTE,
                      x->beside[i], TAG + i, x->comm, &r[n++]);
    wait_for(n, r);
}

/* Returns how long the slowest rank took. */
static double step(struct exchange *x)
{
    double begin, mine, most;
    MPI_Request r;

    barrier(x);
    begin = MPI_Wtime();
    if (x->halo)
        halo(x);
    else
        all_to_all(x);
    mine = MPI_Wtime() - begin;
    MPI_Iallreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, x->comm, &r);
    wait_for(1, &r);
    return most;
}

/* Every rank has to stop after the same step: rank 0 says when. */
static void run_for(struct exchange *x)
{
    double end = MPI_Wtime() + x->seconds;
    MPI_Request r;
    int more = 1;

    while (more) {
        step(x);
        more = MPI_Wtime() < end;
        MPI_Ibcast(&more, 1, MPI_INT, 0, x->comm, &r);
        wait_for(1, &r);
    }
}

static void run_steps(struct exchange *x)
{
    step(x);
    for (int i = 0; i < x->steps; i++) {
        double took = step(x);

        if (x->rank == 0)
            printf("step %.6f\n", took);
    }
}

int main(int argc, char **argv)
{
    struct exchange x = {.bytes = 65536, .steps = 5, .grid = {1, 1, 1}};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &x.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &x.ranks);
    parse(&x, argc, argv);
    prepare(&x);
    if (x.seconds > 0)
        run_for(&x);
    else
        run_steps(&x);
    free(x.out);
    free(x.in);
    MPI_Finalize();
    return 0;
}
