-- SPDX-License-Identifier: GPL-2.0-or-later
local common = require "taut.cli.topology.common"
local draw = require "taut.topology.draw"
local json = require "taut.json"
local output = require "taut.cli.output"
local report = require "taut.report"

local command = { summary = "A picture (SVG) of routers and links, coloured by health.",
   whole = true }

function command.setup(parser)
   parser:option("-o --output"):description "Write to this file.":argname "<file>"
   parser:option("--plane"):description "Torus, mesh, HyperX: this plane only, such as Z=3."
      :argname "<plane>"
   parser:option("--title"):description "Title of the picture.":argname "<text>"
end

function command.run(args, scene)
   if args.json and not args.output then
      report.complain "draw: --json tells of the picture: give it a file, with --output"
      return 2
   end
   local text, about = draw.picture(scene, { plane = args.plane, title = args.title })
   local ok, err
   if text then
      ok, err = output.write(args.output, text)
   else
      err = about
   end
   if not ok then
      report.complain("draw: ", err)
      return common.status_of(err)
   end
   if args.json then
      print(json.encode({ file = args.output, bytes = #text, links = about.links,
         bad = json.array(about.bad), note = scene.note }, 2))
   elseif args.output and args.output ~= "-" then
      print(("%s: %d links, %d bytes"):format(args.output, about.links, #text))
   end
   if scene.note then
      report.complain(scene.note)
   end
   return 0
end

return command
