-- SPDX-License-Identifier: GPL-2.0-or-later
-- A figure that a shell script worked out: figure_line.lua NAME VALUE UNIT OP LIMIT
require "figure"(arg[1], tonumber(arg[2]), arg[3], arg[4], tonumber(arg[5]))
