-- SPDX-License-Identifier: GPL-2.0-or-later
--- What `taut doctor` sees by itself, on the host where it runs.
local ask = require "taut.base.ask"
local dial = require "taut.dial"
local sys = require "taut.sys"
local wire = require "taut.wire"

local here = {}

--- Look.
-- @param args parsed command line, after ask.choose
-- @return { server = a tautd elsewhere is asked, where = words, version, asked_at, user_port,
--   munge_error }
function here.look(args)
   local own = { server = args.server ~= nil, where = ask.where(args), version = sys.version,
      asked_at = sys.now(), user_port = wire.user_port() }
   local cred, err = dial.sign("doctor", sys.uid(), args.server and args.server.munge_socket)
   if not cred then
      own.munge_error = err
   end
   return own
end

--- What may be wrong where no tautd answered.
function here.unanswered(own)
   local list = {}
   if own.munge_error then
      list[1] = { level = "mend", about = "MUNGE", text = "here: " .. own.munge_error,
         mend = "systemctl restart munge; its key is the cluster's; auth/slurm does not " ..
            "take its place (doc/install.md)" }
   end
   local mend = "systemctl status tautd; journalctl -u tautd"
   if own.server then
      mend = "is it up there (systemctl status tautd)?  Does a firewall let this " ..
         "host reach that port?  Is remote.ask of taut.lua(5) true?"
   end
   list[#list + 1] = { level = "mend", about = "tautd", text = "does not answer at " .. own.where,
      mend = mend }
   return list
end

return here
