/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

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
    lua_createtable(L, 0, 5);
    lua_pushinteger(L, (lua_Integer)st.st_dev);
    lua_setfield(L, -2, "dev");
    lua_pushinteger(L, (lua_Integer)st.st_ino);
    lua_setfield(L, -2, "inode");
    lua_pushinteger(L, (lua_Integer)st.st_size);
    lua_setfield(L, -2, "size");
    lua_pushnumber(L, (lua_Number)st.st_mtim.tv_sec +
                          (lua_Number)st.st_mtim.tv_nsec / 1e9);
    lua_setfield(L, -2, "mtime");
    lua_pushboolean(L, S_ISREG(st.st_mode));
    lua_setfield(L, -2, "regular");
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
