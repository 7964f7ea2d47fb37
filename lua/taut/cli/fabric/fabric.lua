-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut fabric`: the InfiniBand fabric, asked of a tautd that sweeps it, or swept here and now.
local ask = require "taut.base.ask"
local queries = require "taut.fabric.queries"
local config = require "taut.config"
local keeper = require "taut.fabric.keeper"
local report = require "taut.report"
local show = require "taut.cli.fabric.fabric_show"
local sys = require "taut.sys"

local fabric = { summary = "The InfiniBand fabric: links, errors, faults, changes." }

local TIMEOUT_MS = 200000

function fabric.setup(parser)
   parser:command_target "what"
   parser:require_command(true)
   parser:flag("--fresh"):description
      "Sweep now, even where tautd has swept (only root and SlurmUser)."
   parser:flag("--alone"):description "Sweep from here, without tautd."
   parser:option("--names"):description "Node-name map; without tautd.":argname "<file>"
   parser:option("--device"):description "Device to send from; without tautd.":argname "<name>"
   parser:option("--state"):description "Where the last sweep is kept; without tautd."
      :argname "<file>"
   parser:option("--recorded"):description "The recorded fabric; without tautd.":argname "<file>"
   local links = parser:command("links"):summary "One line per link, both ends."
   links:flag("--down"):description "Also ports that nothing is connected to."
   links:flag("--bad"):description "Only links below what both ends support."
   local errors = parser:command("errors"):summary "Error counters, and which of them matter."
   errors:flag("-a --all"):description "Also those that can be ignored, and why."
   parser:command("check"):summary "What is wrong, in itself and against the recorded fabric."
   parser:command("diff"):summary "What changed since the fabric was recorded."
   parser:command("record"):summary "Record the fabric as it is now."
   local mcast = parser:command("mcast"):summary "Hosts that are up but not in a multicast group."
   mcast:argument("group"):description "ipoib, ipoib:PKEY, an MLID or an MGID."
   parser:command("sm"):summary "State of the subnet managers."
   parser:command("sweep"):summary "What the last sweeps saw change: errors, links."
end

---------------------------------------------------------------- by tautd

-- The answer; or nil, why, and whether to sweep from here instead.
local function ask_tautd(args, params)
   local data, err, unanswered = ask.request(args, "fabric", { what = args.what, args = params },
      TIMEOUT_MS)
   local may_sweep_here = unanswered and not args.server
   return data, err, may_sweep_here or err == "fabric: tautd does not sweep"
end

---------------------------------------------------------------- from here

local function own_conf(args)
   local conf, err = config.fabric(sys.paths)
   if not conf then
      return nil, err
   end
   for _, name in ipairs { "names", "device", "state", "recorded" } do
      conf[name] = args[name] or conf[name]
   end
   return conf
end

local function sweep_here(args, params)
   local conf, err = own_conf(args)
   if not conf then
      return nil, err
   end
   -- it ends soon: collecting what it leaves behind only takes time
   collectgarbage("incremental", 1000)
   local k = keeper.new(conf)
   k.observations, err = k:sweep(not queries.needs_counters(args.what))
   if not k.observations then
      return nil, err
   end
   return queries.give(k, args.what, params)
end

---------------------------------------------------------------- both

local function is_own(args)
   return args.alone or args.names or args.device or args.state or args.recorded
end

local function ask_fabric(args)
   local params = { group = args.group, fresh = args.fresh or nil }
   if is_own(args) then
      return sweep_here(args, params)
   end
   local data, err, here = ask_tautd(args, params)
   if not data and here then
      return sweep_here(args, params)
   end
   return data, err
end

function fabric.run(args)
   local data, err = ask_fabric(args)
   if not data then
      report.complain(sys.plain(err))
      return 1
   end
   if args.json then
      print(ask.json(data))
      return show.status(args.what, data)
   end
   data = ask.plain(data)
   show[args.what](data, args)
   for _, note in ipairs(data.notes or {}) do
      report.wrap("note: " .. note, "")
   end
   if data.incomplete then
      report.wrap("the sweep is not complete: " .. data.incomplete, "")
   end
   return show.status(args.what, data)
end

return fabric
