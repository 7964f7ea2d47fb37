-- SPDX-License-Identifier: GPL-2.0-or-later
-- A job's last epilog: what it leaves, and what it does not.
local job_over = require "taut.core.job_over"
local looptest = require "lib.looptest"
local loop = require "taut.loop"
local lu = require "luaunit"
local summary = require "taut.events.summary"

local tests = {}

-- What profiles were told of job 7, and what its AdminComment became.
local function after(job, rows, is_comment)
   local got = {}
   local o = job_over.new { comment = is_comment,
      journal = { flush = function() end, query = function(_, _, _, fn) fn(rows) end },
      profiles = { take = function(_, j, nodes, steered)
         got.taken = { j.id, #nodes, nodes[1].sent, steered }
         return { id = j.id }
      end },
      why = { over = function(_, j, _, row, fn)
         got.row = { j.id, row.id }
         fn "taut: network fine"
      end },
      steer = { over = function(_, j) return "mark of " .. j.id end },
      slurm = { ask = function(_, request, fn)
         got.comment = request.comment or got.comment
         fn(request.op == "job" and { job = job } or { done = true })
      end } }
   looptest.quietly(function()
      o:take(7)
      loop.timer(600, loop.stop)
      loop.run()
   end)
   return got
end

-- As the store's `usage_of_job` answers.
local function rows()
   local s, nodes = summary.of { { node = "n0", interface = "hsn0", source = "netdev", seconds = 10,
      counters = { tx_bytes = 5 } } }
   return { { summary = s, nodes = nodes } }
end

function tests.test_a_job_that_slurm_knows_goes_to_its_profile()
   lu.assertEquals(after({ id = 7, num_nodes = 2 }, rows()), { taken = { 7, 1, 5, "mark of 7" },
      row = { 7, 7 } })
end

function tests.test_a_job_that_slurm_forgot_leaves_nothing()
   lu.assertEquals(after(nil, rows()), {})
   lu.assertEquals(after({ id = 7, num_nodes = 0 }, rows()), {})
end

function tests.test_its_comment_is_written_where_the_site_wants_it()
   lu.assertStrContains(after(nil, rows(), true).comment, "taut: 1 nodes, sent 5 B")
   lu.assertNil(after(nil, { { nodes = {} } }, true).comment)
   lu.assertNil(after(nil, nil, true).comment)
   local job = { id = 7, num_nodes = 2 }
   lu.assertEquals(after(job, rows(), "why").comment, "taut: network fine")
   lu.assertStrContains(after(job, rows(), true).comment, "taut: 1 nodes, sent 5 B")
   lu.assertNil(after(job, rows(), false).comment)
end

return tests
