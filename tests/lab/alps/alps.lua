-- SPDX-License-Identifier: GPL-2.0-or-later
--- The lab's ALPS: apbasil, apstat, xtprocadmin, apkill, and what aprun asks apsched for.
-- alps.lua NAME ARGUMENT…; `run` beside it takes the lock.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua"
local state = require "state"

local programs = { apbasil = require "basil" }

local function die(text, ...)
   io.stderr:write(text:format(...), "\n")
   os.exit(1)
end

---------------------------------------------------------------- apstat, xtprocadmin, apkill

local LETTERS = { BATCH = "B", INTERACTIVE = "I" }

local function list_nodes(s)
   local holder = state.holders(s)
   print "  NID Arch State HW Rv Pl PgSz     Avl   Conf Placed PEs Apids"
   for _, nid in ipairs(state.sorted(s.nodes)) do
      local n = s.nodes[nid]
      print(("%5d   XT %-2s %s %2d %2s  -   4K %7d      0      0   0"):format(nid,
         n.state == "UP" and "UP" or n.state:sub(1, 2), LETTERS[n.role], s.cpus,
         holder[nid] and s.cpus or "-", 262144))
   end
end

local function list_reservations(s)
   print "  ResId  ApId From     Arch PEs N d Memory State"
   for _, id in ipairs(state.sorted(s.reservations)) do
      local r = s.reservations[id]
      print(("%7d %5d batch:%s XT %d %d 1 1000 %s"):format(id, id, r.batch, r.width, r.nppn,
         next(r.apps) and "atomic,claim" or "NID list,conf"))
      for _, apid in ipairs(state.sorted(r.apps)) do
         print(("A %5d %5d batch:%s XT %d 1 1 1000 conf,claim"):format(id, apid, r.batch,
            r.apps[apid].width))
      end
   end
end

function programs.apstat(flag)
   local s = state.load()
   if flag and flag:match "^%-r?n" then
      list_nodes(s)
   elseif flag and flag:match "^%-r" then
      list_reservations(s)
   else
      die("apstat: the lab knows -n, -rn and -r")
   end
end

local STATES = { up = "UP", down = "DOWN", admindown = "ADMIN", suspect = "SUSPECT",
   unavail = "UNAVAILABLE", routing = "ROUTING" }

local function show_nodes(s, list)
   print "   NID    (HEX)     NODENAME     TYPE    STATUS        MODE"
   for _, nid in ipairs(list) do
      local n = s.nodes[nid]
      local word = n.state:lower()
      for name, value in pairs(STATES) do
         word = value == n.state and name or word
      end
      print(("%6d %8s %12s  compute %9s %11s"):format(nid, ("0x%x"):format(nid), n.cname, word,
         n.role:lower()))
   end
end

function programs.xtprocadmin(...)
   local s, list, set = state.load(), nil, {}
   local args, i = { ... }, 1
   while i <= #args do
      if args[i] == "-n" then
         list, i = state.parse_list(args[i + 1] or ""), i + 2
      elseif args[i] == "-k" then
         set[args[i + 1] or ""], i = args[i + 2], i + 3
      else
         die("xtprocadmin: unknown option %s", args[i])
      end
   end
   for _, nid in ipairs(list or {}) do
      local n = s.nodes[nid] or die("xtprocadmin: node %d does not exist", nid)
      n.state = set.s and (STATES[set.s] or die("xtprocadmin: unknown state %s", set.s)) or n.state
      n.role = set.m and set.m:upper() or n.role
   end
   if next(set) then
      return list and state.save(s) or not list and die("xtprocadmin: -k wants -n")
   end
   show_nodes(s, list or state.sorted(s.nodes))
end

function programs.apkill(signal, apid)
   if not apid then
      signal, apid = "-15", signal
   end
   for _, r in pairs(state.load().reservations) do
      local app = r.apps[math.tointeger(tonumber(apid))]
      if app then
         os.execute(("kill %d %d"):format(math.tointeger(tonumber(signal)), app.pid))
         return
      end
   end
   die("apkill: no such apid %s", tostring(apid))
end

---------------------------------------------------------------- apsched

-- Process, group and session of a process and of all above it.
local function containers(pid)
   local set = {}
   while pid and pid > 1 do
      local f = io.open(("/proc/%d/stat"):format(pid))
      local parent, group, session = (f and f:read "a" or ""):match "%) %a (%d+) (%d+) (%d+)"
      if f then
         f:close()
      end
      set[pid], set[tonumber(group)], set[tonumber(session)] = true, true, true
      pid = math.tointeger(tonumber(parent))
   end
   return set
end

local function find_reservation(s, pid)
   local inside = containers(pid)
   for _, r in pairs(s.reservations) do
      if r.pagg and inside[r.pagg] and not r.released then
         return r
      end
   end
   die "apsched: no confirmed reservation for this process"
end

-- claim PID UID WIDTH PER-NODE LIST COMMAND: prints the apid, then the nodes.
function programs.claim(pid, uid, width, nppn, list, command)
   local s = state.load()
   pid, uid = math.tointeger(pid), math.tointeger(uid)
   width, nppn = math.tointeger(width), math.tointeger(nppn)
   local r = find_reservation(s, pid)
   if uid ~= 0 and r.user ~= io.popen("id -un " .. uid):read() then
      die("apsched: uid %d does not own the reservation", uid)
   end
   local mine, nodes = {}, {}
   for _, nid in ipairs(r.nodes) do
      mine[nid] = true
   end
   for _, nid in ipairs(list ~= "" and state.parse_list(list) or r.nodes) do
      if not mine[nid] then
         die("apsched: claim of node %d, which is not in the reservation", nid)
      end
      nodes[#nodes + 1] = nid
   end
   local count = math.ceil(width / nppn)
   if count > #nodes then
      die "apsched: claim exceeds reservation's node-count"
   end
   s.next_apid = s.next_apid + 1
   r.apps[s.next_apid] = { uid = uid, pid = pid, width = width, cmd = command:match "[^/]*$",
      time = os.time() }
   state.save(s)
   print(s.next_apid)
   print(table.concat(nodes, " ", 1, count))
end

-- init NODES CPUS
function programs.init(count, cpus)
   local s = { nodes = {}, reservations = {}, next_reservation = 100, next_apid = 1000,
      cpus = math.tointeger(cpus) }
   for nid = 0, count - 1 do
      s.nodes[nid] = { state = "UP", role = "BATCH",
         cname = ("c0-0c%ds%dn%d"):format(nid // 32 % 3, nid // 4 % 8, nid % 4) }
   end
   state.save(s)
end

local program = programs[arg[1] or ""] or die("no program %s", tostring(arg[1]))
program(table.unpack(arg, 2))
