-- SPDX-License-Identifier: GPL-2.0-or-later
local check = require "taut.topology.check"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local report = require "taut.report"
local slurmconf = require "taut.slurm.conf"
local common = require "taut.cli.topology.common"
local tables = require "taut.base.tables"

local command = { summary = "What in a topology cannot be right, or is worth a second look." }

local SHOWN = 10

function command.setup(parser)
   parser:option("--slurm-conf"):description(
      "Compare the names with this slurm.conf ($SLURM_CONF, /etc/slurm/slurm.conf); - for none.")
      :argname "<file>"
   parser:flag("-a --all"):description(("All names, not only %d of a finding."):format(SHOWN))
end

-- The slurm.conf asked for must be there; the usual one may be missing.
local function slurm_of(args)
   local path = args.slurm_conf or os.getenv "SLURM_CONF" or "/etc/slurm/slurm.conf"
   if path == "-" then
      return nil, nil, "names not compared with slurm.conf"
   end
   local names, known = slurmconf.nodes(path)
   if names then
      return { names = names, known = known }
   elseif args.slurm_conf then
      return nil, known
   end
   return nil, nil, "names not compared with slurm.conf: " .. known
end

local NODES = { not_in_slurm = true, not_in_topology = true, nodes_without_links = true }

local function print_finding(finding, all)
   report.wrap(("%s: %d"):format(finding.text, finding.count), "")
   if NODES[finding.kind] then
      common.say("", hostlist.compress(finding.names))
      return
   end
   for i, name in ipairs(finding.names) do
      if i > SHOWN and not all then
         print(("            … and %d more (--all)"):format(finding.count - SHOWN))
         return
      end
      common.say("", name)
   end
end

function command.run(args, scene)
   local slurm, err, note = slurm_of(args)
   if err then
      report.complain("check: ", err)
      return 2
   end
   if slurm then
      slurm.whole, slurm.is_said = scene.whole, scene.whole and not scene.is_first
   end
   local list = check.all(scene.topo, { slurm = slurm, rerouted = scene.rerouted,
      around = scene.around })
   if args.json then
      for _, f in ipairs(list) do
         json.array(f.names)
      end
      common.json(scene, { file = scene.path, findings = json.array(list), note = note })
   else
      for _, f in ipairs(list) do
         print_finding(f, args.all)
      end
      if note then
         report.wrap(note, "")
      end
      common.footer(scene, true)
      report.wrap(("%s: %s"):format(scene.path, report.text_if(#list == 0, "nothing to say",
         report.count(#list, "finding"))), "")
   end
   return tables.one_if(#list > 0)
end

return command
