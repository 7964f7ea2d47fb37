-- SPDX-License-Identifier: GPL-2.0-or-later
local common = require "taut.cli.study.common"
local curve = require "taut.study.curve"
local further = require "taut.cli.study.further"
local json = require "taut.json"
local mix = require "taut.cli.study.mix"
local repair = require "taut.study.repair"
local report = require "taut.cli.study.report"
local terminal = require "taut.report"

local command = { summary = "What each repair brings to running jobs; when maintenance pays." }

local DEFAULT = "halo3d26:points=30"

function command.setup(parser)
   common.setup(parser, DEFAULT)
   common.setup_links(parser)
   mix.setup(parser)
   parser:option("--maintenance"):description "Say when one that costs so much pays."
      :argname "<node-hours>":convert(common.above_zero)
   parser:option("--days"):description "Days until the next planned maintenance (30).":argname "<n>"
      :convert(common.above_zero)
   parser:option("--most"):description "Further failed cables to look at (256).":argname "<n>"
      :convert(common.whole(1, 1 << 20))
   common.setup_work(parser)
   report.setup(parser)
end

local function names_of_step(topo, step)
   return topo.components[step.component] .. terminal.text_if(step.back, " and back")
end

local function steps_table(studied, page, order)
   page.heads, page.csv = { ">#", "CABLE", ">LEFT", ">GAIN" },
      { heads = { "order", "component", "left", "gain", "pairs_without_way" }, rows = {} }
   for i, step in ipairs(order.steps) do
      page.rows[i] = { tostring(i), names_of_step(studied.machine.topo, step),
         terminal.percent(step.left), ("%.2f%%"):format(step.gain * 100) }
      page.csv.rows[i] = { i, studied.machine.topo.components[step.component], step.left, step.gain,
         step.lost }
   end
end

local function add_footer(page, order, busy, list, pays, args)
   if order.tried == 0 then
      page.footer[#page.footer + 1] = "Every link is whole, as far as is known: nothing to repair."
   else
      page.footer[#page.footer + 1] =
         ("GAIN: of the time of the jobs' iterations, by this repair and " ..
         "those above it. Today they take %.2f %% more than with every link whole: %.1f " ..
         "node-hours a day."):format((order.now / order.healthy - 1) * 100,
         math.max(0, order.now / order.healthy - 1) * busy * 24)
   end
   if order.lost > 0 then
      page.footer[#page.footer + 1] = ("Today %d pairs have no way at all."):format(order.lost)
   end
   if list then
      local last = pays or list[#list]
      local form = terminal.text_if(pays, "A maintenance of %g node-hours pays after %d more " ..
         "failed cables: then %.1f node-hours a day are lost.", "A maintenance of %g " ..
         "node-hours does not pay with %d more failed cables: %.1f node-hours a day.")
      page.footer[#page.footer + 1] = form:format(args.maintenance, last.failed,
         last.lost_per_day)
   end
end

function command.run(args)
   local f, err
   if args.work and not args.maintenance then
      err = "--work is for --maintenance"
   else
      f, err = further.open(args, DEFAULT)
   end
   if not f then
      return common.fail(err)
   end
   local s, list, pays = f.scene, nil, nil
   if args.maintenance then
      list, pays = further.failures(f, args, 256, { cost = args.maintenance,
         days = args.days or 30 })
      if not list then
         return pays
      end
   end
   local order
   order, err = repair.order(s.machine, f.works, s.known or {}, s.c)
   if not order then
      return common.fail(err)
   end
   local R = { title = "Repairs, the one that brings most first", notes = s.notes, rows = {},
      footer = {} }
   steps_table(s, R, order)
   add_footer(R, order, f.busy, list, pays, args)
   for _, step in ipairs(order.steps) do
      step.name = s.machine.topo.components[step.component]
   end
   R.data = { machine = s.path, today = order.now / order.healthy - 1, busy_nodes = f.busy,
      steps = json.array(order.steps), maintenance = list and json.array(list), pays = pays }
   R.curves = list and curve.of_failures(list)
   return report.give(R, args)
end

return command
