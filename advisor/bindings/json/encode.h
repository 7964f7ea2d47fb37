/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.json's encode(). */
#ifndef TAUT_JSON_ENCODE_H
#define TAUT_JSON_ENCODE_H

#include "advisor/bindings/host.h"

#define TAUT_JSON_ARRAY_CLASS "taut.json.array" /* metatable of arrays */
#define TAUT_JSON_DEPTH_MAX 128 /* tables in tables; ends a circle too */

/* encode(value[, indent]) → text; or nil and why not */
int taut_json_encode(lua_State *L);

#endif
