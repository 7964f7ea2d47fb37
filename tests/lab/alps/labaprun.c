/* SPDX-License-Identifier: GPL-2.0-or-later */
/* aprun of the lab: set-uid root, it claims nodes of the caller's confirmed
 * reservation (alps/alps.lua), enters them and becomes the caller again.
 *
 * Standard input reaches the first process only.  A file hang.aprun or
 * dead.aprun in LAB_ALPS makes it hang or fail, for tests. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAB_ALPS "/run/lab/alps"
#define PES_MAX 512

struct options {
    const char *width, *per_node, *nodes;
    char **command;
};

static pid_t pes[PES_MAX];
static int pe_count;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "aprun: %s: %s\n", what, why);
    exit(1);
}

/* The options that the lab knows, up to the command. */
static struct options parse(int argc, char *argv[])
{
    struct options o = {.width = "1", .per_node = "1", .nodes = ""};
    int c;

    while ((c = getopt(argc, argv, "+n:N:L:d:e:t:qbB")) != -1) {
        if (c == 'n')
            o.width = optarg;
        else if (c == 'N')
            o.per_node = optarg;
        else if (c == 'L')
            o.nodes = optarg;
        else if (c == 'e')
            putenv(optarg);
        else if (c == '?')
            exit(1);
    }
    if (optind == argc)
        die("usage", "aprun [-n PES] [-N PER-NODE] [-L NODES] COMMAND");
    o.command = argv + optind;
    return o;
}

static void fault(void)
{
    if (access(LAB_ALPS "/hang.aprun", F_OK) == 0)
        for (;;)
            pause();
    if (access(LAB_ALPS "/dead.aprun", F_OK) == 0)
        die("apsched", "claim refused");
}

/* Ask apsched, as root; its first line is the apid, the second the nodes. */
static void claim(const struct options *o, char *apid, char *nodes, int size)
{
    char pid[16], uid[16];
    int ends[2], status;

    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    snprintf(uid, sizeof(uid), "%u", (unsigned)getuid());
    if (pipe(ends) < 0)
        die("pipe", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        if (setresuid(0, 0, 0) < 0 || dup2(ends[1], 1) < 0)
            _exit(1);
        execl(LAB_ALPS "/bin/claim", "claim", pid, uid, o->width, o->per_node,
              o->nodes, o->command[0], (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    bool is_whole = in && fgets(apid, 16, in) && fgets(nodes, size, in);
    waitpid(child, &status, 0);
    if (!is_whole || status != 0)
        exit(1);
    fclose(in);
}

static void enter(const char *file, pid_t pid, const char *ns)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, ns);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, 0) < 0)
        die(file, strerror(errno));
}

/* Into the node, as the caller; the parent's death is ours. */
static void become(const char *nid, pid_t parent)
{
    char file[64], cwd[4096];
    int pid = 0;

    snprintf(file, sizeof(file), "/run/lab/pid/node@n%s", nid);
    FILE *in = fopen(file, "r");
    if (in == NULL || fscanf(in, "%d", &pid) != 1)
        die(file, "no such node");
    if (getcwd(cwd, sizeof(cwd)) == NULL)
        strcpy(cwd, "/");
    enter(file, pid, "net");
    enter(file, pid, "uts");
    enter(file, pid, "mnt");
    if (setgid(getgid()) < 0 || setuid(getuid()) < 0 ||
        (chdir(cwd) < 0 && chdir("/") < 0))
        die("becoming the user", strerror(errno));
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
}

static void start(const struct options *o, const char *nid, const char *apid)
{
    pid_t parent = getpid(), pid = fork();
    char rank[16];

    if (pid == 0) {
        signal(SIGTERM, SIG_DFL);
        become(nid, parent);
        if (pe_count > 0)
            dup2(open("/dev/null", O_RDONLY), 0);
        snprintf(rank, sizeof(rank), "%d", pe_count);
        setenv("ALPS_APP_PE", rank, 1);
        setenv("ALPS_APP_ID", apid, 1);
        execvp(o->command[0], o->command);
        die(o->command[0], strerror(errno));
    }
    if (pid > 0)
        pes[pe_count++] = pid;
}

static void on_term(int number)
{
    for (int i = 0; i < pe_count; i++)
        kill(pes[i], number);
}

static int wait_all(void)
{
    int worst = 0, status;

    for (int i = 0; i < pe_count; i++) {
        while (waitpid(pes[i], &status, 0) < 0 && errno == EINTR)
            continue;
        if (status != 0)
            worst = WIFEXITED(status) ? WEXITSTATUS(status)
                                      : 128 + WTERMSIG(status);
    }
    return worst;
}

int main(int argc, char *argv[])
{
    struct options o = parse(argc, argv);
    char apid[16], nodes[8192];
    int per_node = atoi(o.per_node), left = atoi(o.width);

    fault();
    claim(&o, apid, nodes, sizeof(nodes));
    apid[strcspn(apid, "\n")] = '\0';
    signal(SIGTERM, on_term);
    for (char *nid = strtok(nodes, " \n"); nid; nid = strtok(NULL, " \n"))
        for (int i = 0; i < per_node && left > 0 && pe_count < PES_MAX; i++) {
            start(&o, nid, apid);
            left--;
        }
    return wait_all();
}
