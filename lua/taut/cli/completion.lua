-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut completion SHELL`: what the shell has to know to complete this command line.
local completion = {
   summary = "Print completions for bash, zsh or fish.",
   has_json = false,
}

function completion.setup(parser)
   parser:argument("shell"):choices { "bash", "zsh", "fish" }
end

function completion.run(args)
   io.write(args.parser[("get_%s_complete"):format(args.shell)](args.parser))
   return 0
end

return completion
