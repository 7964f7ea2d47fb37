-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a day saw, counted: for `taut report`.
local days = {}

--- Queries: name → fn(sql, args).
days.queries = {
   -- from one moment up to before another: a row for each purpose of checks, and for each class of
   -- tests
   day = function(sql, args)
      local rows = sql.rows_of("SELECT purpose, COUNT(*) AS checks FROM " ..
         "event WHERE time >= ? AND time < ? GROUP BY purpose", args.from, args.to)
      local tests = sql.rows_of("SELECT class, COUNT(*) AS tests FROM test " ..
         "WHERE time >= ? AND time < ? GROUP BY class", args.from, args.to)
      table.move(tests, 1, #tests, #rows + 1, rows)
      return rows
   end,
}

return days
