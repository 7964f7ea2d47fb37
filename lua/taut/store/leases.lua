-- SPDX-License-Identifier: GPL-2.0-or-later
--- Of several tautd with one database one acts: the row of `lease` says which.  Its end in the
-- store's process; lease.lua has tautd's.
--
--   token    rises with each that takes it; a tautd with an older one is refused
--   beat     rises with each renewal, which shows a waiting tautd that the holder is alive
--   holder   which process, host where it is
--   offered  "" while it is held, a host to which it is handed, "*" for anybody
--   waiting  host of the standby; waiting_beat rises while it waits
--
-- Each change is one statement on one row, which holds only where the row is as was seen: no clock
-- decides in here, and nothing stays locked should the host be gone a moment later.  Each request
-- { op = "lease", what, … } is answered with the row as it is then:
--   look { waiting = host or nil }       take { holder, host, token, beat: as was seen }
--   renew { holder, token }              offer { holder, token, to }
local leases = {}

local NAME = "tautd"

local does = {}

function does.look(db, request)
   if request.waiting then
      db.run("UPDATE lease SET waiting = ?, waiting_beat = waiting_beat + 1 WHERE name = ?",
         request.waiting, NAME)
   end
end

function does.take(db, request)
   db.run("UPDATE lease SET token = token + 1, beat = beat + 1, holder = ?, host = ?, " ..
      "offered = '' WHERE name = ? AND token = ? AND beat = ?", request.holder, request.host, NAME,
      request.token, request.beat)
end

function does.renew(db, request)
   db.run("UPDATE lease SET beat = beat + 1 WHERE name = ? AND holder = ? AND token = ?", NAME,
      request.holder, request.token)
end

function does.offer(db, request)
   db.run("UPDATE lease SET beat = beat + 1, offered = ? WHERE name = ? AND holder = ? AND " ..
      "token = ?", request.to, NAME, request.holder, request.token)
end

--- Carry out a request.
-- @param db store/db.lua
-- @return the row
function leases.ask(db, request)
   local fn = does[request.what] or error("no lease operation '" .. tostring(request.what) .. "'",
      0)
   fn(db, request)
   return db.rows_of("SELECT token, beat, holder, host, offered, waiting, waiting_beat FROM " ..
      "lease WHERE name = ?", NAME)[1]
end

--- Have a row, if there is none.
function leases.begin(db)
   db.put_new("lease", { name = NAME, token = 0, beat = 0, holder = "", host = "", offered = "*",
      waiting = "", waiting_beat = 0 })
end

--- Has somebody else taken it since `token`?
function leases.is_old(db, token)
   return db.rows_of("SELECT token FROM lease WHERE token > ?", token)[1] ~= nil
end

--- An error where `token` is no longer in force.
function leases.in_force(db, token)
   if leases.is_old(db, token) then
      error(("another tautd is active: lease %d has ended"):format(token), 0)
   end
end

return leases
