/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <lauxlib.h>

#include "advisor/bindings/host.h"
#include "advisor/bindings/sys_files.h"

#define FOLDER "taut.sys.folder"

int taut_sys_stat(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    struct stat st;

    if (stat(path, &st) != 0)
        return taut_fail_errno(L, "%s", path);
    lua_createtable(L, 0, 6);
    taut_set_integer(L, "dev", (lua_Integer)st.st_dev);
    taut_set_integer(L, "inode", (lua_Integer)st.st_ino);
    taut_set_integer(L, "size", (lua_Integer)st.st_size);
    taut_set_number(L, "mtime",
                    (lua_Number)st.st_mtim.tv_sec +
                        (lua_Number)st.st_mtim.tv_nsec / 1e9);
    taut_set_flag(L, "regular", S_ISREG(st.st_mode));
    taut_set_integer(L, "mode", (lua_Integer)(st.st_mode & 07777));
    return 1;
}

/* sys.chmod(path, mode) -> true, or nil and why not */
int taut_sys_chmod(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    lua_Integer mode = luaL_checkinteger(L, 2);

    luaL_argcheck(L, mode >= 0 && mode <= 07777, 2, "not within 0 to 07777");
    if (chmod(path, (mode_t)mode) != 0)
        return taut_fail_errno(L, "%s", path);
    lua_pushboolean(L, 1);
    return 1;
}

/* sys.space(path) -> bytes that others than root may still write there */
int taut_sys_space(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    struct statvfs st;

    if (statvfs(path, &st) != 0)
        return taut_fail_errno(L, "%s", path);
    lua_pushinteger(L, (lua_Integer)(st.f_bavail * st.f_frsize));
    return 1;
}

static int folder_close(lua_State *L)
{
    DIR **folder = luaL_checkudata(L, 1, FOLDER);

    if (*folder != NULL)
        closedir(*folder);
    *folder = NULL;
    return 0;
}

/* [-0, +1]: the userdata owns the folder before anything can go wrong. */
static DIR **folder_new(lua_State *L)
{
    DIR **folder = lua_newuserdatauv(L, sizeof(*folder), 0);

    *folder = NULL;
    if (luaL_newmetatable(L, FOLDER)) {
        lua_pushcfunction(L, folder_close);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return folder;
}

int taut_sys_names(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    DIR **folder = folder_new(L);
    struct dirent *entry;
    lua_Integer n = 0;

    *folder = opendir(path);
    if (*folder == NULL)
        return taut_fail_errno(L, "%s", path);
    lua_newtable(L);
    while ((errno = 0, entry = readdir(*folder))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        lua_pushstring(L, entry->d_name);
        lua_rawseti(L, -2, ++n);
    }
    if (errno != 0)
        return taut_fail_errno(L, "%s", path);
    closedir(*folder);
    *folder = NULL;
    return 1;
}

/* Write all of it; the errno when it can not be, or 0. */
static int write_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, text, n);
        if (done < 0 && errno != EINTR)
            return errno;
        if (done > 0) {
            text += done;
            n -= (size_t)done;
        }
    }
    return 0;
}

/* Write all of it and, if 'durable', have it on disk, then close; -1 and errno
 * when not. */
static int fill(int fd, const char *text, size_t n, bool durable)
{
    int saved = write_all(fd, text, n);

    if (saved == 0 && durable && fsync(fd) != 0)
        saved = errno;
    if (close(fd) != 0 && saved == 0)
        saved = errno;
    errno = saved;
    return saved == 0 ? 0 : -1;
}

/* Have the names in the folder of 'path' on disk. */
static int sync_folder(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    int n = slash == NULL || slash == path ? 1 : (int)(slash - path);

    snprintf(folder, sizeof(folder), "%.*s", n, slash == NULL ? "." : path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int failed = fsync(fd), saved = errno;
    close(fd);
    errno = saved;
    return failed;
}

/* A new file of that name takes the place of the old one: a link that somebody
 * has put there, at either name, is not followed. */
static int put_file(lua_State *L, bool durable)
{
    size_t n;
    const char *path = luaL_checkstring(L, 1);
    const char *text = luaL_checklstring(L, 2, &n);
    char name[4096];

    luaL_argcheck(L, strlen(path) + 5 < sizeof(name), 1, "is too long");
    snprintf(name, sizeof(name), "%s.new", path);
    if (unlink(name) != 0 && errno != ENOENT) /* of a write that ended early */
        return taut_fail_errno(L, "%s", name);
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return taut_fail_errno(L, "%s", name);
    if (fill(fd, text, n, durable) != 0 || rename(name, path) != 0) {
        int saved = errno;
        unlink(name);
        errno = saved;
        return taut_fail_errno(L, "%s", name);
    }
    if (durable && sync_folder(path) != 0)
        return taut_fail_errno(L, "the folder of %s", path);
    lua_pushboolean(L, 1);
    return 1;
}

int taut_sys_write_durably(lua_State *L)
{
    return put_file(L, true);
}

int taut_sys_write_whole(lua_State *L)
{
    return put_file(L, false);
}

/* All of it at the end of the file, or nothing: an errno, or 0. */
static int append_all(int fd, const char *text, size_t n, bool durable)
{
    struct stat st;
    int saved;

    if (fstat(fd, &st) != 0)
        return errno;
    saved = write_all(fd, text, n);
    if (saved == 0 && durable && fsync(fd) != 0)
        saved = errno;
    /* A device has no size: that it can not be cut matters nothing. */
    if (saved != 0 && ftruncate(fd, st.st_size) != 0)
        return saved;
    return saved;
}

int taut_sys_append(lua_State *L)
{
    size_t n;
    const char *path = luaL_checkstring(L, 1);
    const char *text = luaL_checklstring(L, 2, &n);
    bool durable = lua_toboolean(L, 3);
    int fd = open(path,
                  O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return taut_fail_errno(L, "%s", path);
    int saved = append_all(fd, text, n, durable);
    close(fd);
    if (saved == 0 && durable && sync_folder(path) != 0)
        saved = errno;
    errno = saved;
    if (saved != 0)
        return taut_fail_errno(L, "%s", path);
    lua_pushboolean(L, 1);
    return 1;
}

/* nil, why, and the pid in the file of a lock that somebody has. */
static int held_by(lua_State *L, int fd, const char *path)
{
    char text[32] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    long pid = n > 0 ? strtol(text, NULL, 10) : 0;

    close(fd);
    lua_pushnil(L);
    lua_pushfstring(L, "%s: is locked", path);
    lua_pushinteger(L, pid);
    return 3;
}

int taut_sys_lock(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    char pid[32];

    if (fd < 0)
        return taut_fail_errno(L, "%s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int saved = errno;
        if (saved == EWOULDBLOCK)
            return held_by(L, fd, path);
        close(fd);
        errno = saved;
        return taut_fail_errno(L, "%s", path);
    }
    /* The holder's name is for people only, and may be lost on a full disk. */
    int n = snprintf(pid, sizeof(pid), "%jd\n", (intmax_t)getpid());
    if (ftruncate(fd, 0) != 0 || pwrite(fd, pid, (size_t)n, 0) != n)
        errno = 0;
    lua_pushboolean(L, 1);
    return 1; /* the descriptor stays open: the lock ends with the process */
}
