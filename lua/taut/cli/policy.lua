local ask = require "taut.cli.ask"

local policy = { summary = "enable: drain nodes behind slow components; observe: only say so." }

function policy.setup(parser)
   parser:argument("mode"):description "The mode.":choices { "enable", "observe" }
end

function policy.run(args)
   local d, code = ask.tautd(args, "policy", { mode = args.mode })
   if d then
      print("mode is " .. d.mode)
   end
   return code or 0
end

return policy
