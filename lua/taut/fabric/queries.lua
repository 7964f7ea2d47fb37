-- SPDX-License-Identifier: GPL-2.0-or-later
--- Answers to `taut fabric …`, as plain data: the same from tautd's sweeps and from one's own.
local changes = require "taut.fabric.changes"
local check = require "taut.fabric.check"
local errors = require "taut.fabric.errors"
local json = require "taut.json"
local lane = require "taut.fabric.lane"
local mcast = require "taut.fabric.mcast"
local model = require "taut.fabric.model"
local state = require "taut.fabric.state"
local sweep = require "taut.fabric.sweep"

local queries = {}

local SM_STATES = { [0] = "not active", "discovering", "standby", "master" }
local LINK_LOCAL = "fe80000000000000"

local function array(list)
   return json.array(list)
end

---------------------------------------------------------------- links

local function end_of(p)
   return { node = p.node.name, guid = p.node.guid, port_guid = p.guid, port = p.number,
      lid = p.node.type == "switch" and p.node.lid or p.lid,
      state = lane.state(p), phys = lane.phys(p) }
end

local function link_row(link)
   return { a = end_of(link.a), b = end_of(link.b), between = link.between,
      width = link.lanes and link.lanes .. "X", speed = link.speed and link.speed.name,
      Bps = link.Bps, best_width = link.best_lanes and link.best_lanes .. "X",
      best_speed = link.best_speed and link.best_speed.name, left = link.left,
      active = link.active, set = (link.narrow or link.slow) and link.set or nil }
end

function queries.links(k)
   local links, down = array {}, array {}
   for i, link in ipairs(k.fabric.links) do
      links[i] = link_row(link)
   end
   for p in model.ports(k.fabric) do
      if not p.link then
         local e = end_of(p)
         e.silent = p.silent
         down[#down + 1] = e
      end
   end
   return { links = links, unconnected = down }
end

---------------------------------------------------------------- errors, check, diff

function queries.errors(k)
   local n = { real = 0, undated = 0, ignorable = 0 }
   local rows = errors.find(k.fabric, k.state)
   for _, row in ipairs(rows) do
      n[row.verdict] = n[row.verdict] + 1
   end
   return { errors = array(rows), counts = n }
end

local function plain(f)
   return { kind = f.kind, severity = f.severity, text = f.text, port = f.port, node = f.node,
      guid = f.guid, number = f.number, left = f.left }
end

-- What of the changes is a fault: something is gone or slower.
local FAULTS = { ["missing host"] = true, ["missing switch"] = true, ["lost cable"] = true,
   disabled = true, slower = true, ["moved cable"] = true }

local function findings(k, record)
   local list, seen = array {}, {}
   for _, f in ipairs(check.find(k.fabric)) do
      list[#list + 1] = plain(f)
      seen[("%s/%s"):format(f.guid or "", f.number or "")] = true
   end
   for _, c in ipairs(record and changes.find(record, k.fabric) or {}) do
      -- a link found narrow is told once
      if not (c.kind == "slower" and seen[("%s/%s"):format(c.guid, c.number)])
         and not (c.kind == "disabled" and seen[("%s/%s"):format(c.guid, c.number)]) then
         c.severity = FAULTS[c.kind] and "fault" or "warning"
         list[#list + 1] = plain(c)
      end
   end
   return list
end

function queries.check(k)
   local record, err, absent = k:record()
   if not record and not absent then
      return nil, err
   end
   local list = findings(k, record)
   local n = { fault = 0, warning = 0 }
   for _, f in ipairs(list) do
      n[f.severity] = n[f.severity] + 1
   end
   local real = 0
   for _, row in ipairs(errors.find(k.fabric, k.state)) do
      real = real + (row.verdict == "real" and 1 or 0)
   end
   return { findings = list, counts = n, real_errors = real, ports = check.counts(k.fabric),
      recorded = record and record.time or nil, recorded_in = k.conf.recorded,
      clashes = #(k.fabric.sweep.clashes or {}) }
end

function queries.diff(k)
   local record, err, absent = k:record()
   if not record then
      return nil, absent and ("no fabric is recorded in %s: `taut fabric record` does it"):format(
         k.conf.recorded) or err
   end
   local list = array {}
   for i, c in ipairs(changes.find(record, k.fabric)) do
      list[i] = plain(c)
   end
   return { changes = list, recorded = record.time, recorded_in = k.conf.recorded }
end

function queries.record(k)
   if k.fabric.sweep.incomplete then
      return nil, ("not recorded: the sweep is not complete: %s"):format(k.fabric.sweep.why)
   end
   local ok, err = state.record(k.conf.recorded, k.fabric)
   return ok and { recorded_in = k.conf.recorded } or nil, err
end

function queries.sweep(k)
   local s = k.state
   local standing = array {}
   for _, o in pairs(s.standing) do
      standing[#standing + 1] = o
   end
   table.sort(standing, function(a, b) return a.text < b.text end)
   return { observations = array(k.observations or {}), standing = standing,
      recent = array(s.recent) }
end

---------------------------------------------------------------- sm, mcast

local function origin_port(k)
   local o = k.fabric.sweep.origin
   local node = k.fabric.by_guid[o.guid]
   local p = node and (node.type == "switch" and node.port[0] or node.port[o.port])
   if not p or (p.sm_lid or 0) == 0 then
      return nil, "this host's port knows no subnet manager"
   end
   return p
end

local function sm_lids(k, first)
   local lids, port_of = { first }, {}
   for _, node in ipairs(k.fabric.nodes) do
      for _, p in ipairs(node.ports) do
         local lid = p.lid or 0
         if lid > 0 and lid < 0xc000 then
            port_of[lid] = port_of[lid] or p
            if lane.is_sm(p) and lid ~= first then
               lids[#lids + 1] = lid
            end
         end
      end
   end
   return lids, port_of
end

function queries.sm(k)
   local port, err = origin_port(k)
   if not port then
      return nil, err
   end
   local lids, port_of = sm_lids(k, port.sm_lid)
   local sms
   sms, err = sweep.sm(k.conf, lids)
   if not sms then
      return nil, err
   end
   for _, sm in ipairs(sms) do
      local p = port_of[sm.lid]
      sm.node = p and p.node.name
      sm.state = sm.state and (SM_STATES[sm.state] or tostring(sm.state))
      sm.used = sm.lid == port.sm_lid
   end
   return { sms = array(sms), used_lid = port.sm_lid }
end

function queries.mcast(k, args)
   local group, err = mcast.group(tostring(args.group or ""))
   local port, why = origin_port(k)
   if not group or not port then
      return nil, err or why
   end
   local ports, guids = mcast.ports(k.fabric), {}
   for i, p in ipairs(ports) do
      guids[i] = p.guid:sub(3)
   end
   local prefix = (port.gid_prefix or ""):sub(3)
   local answer
   answer, err = sweep.mcast(k.conf, { mgid = group.mgid, mlid = group.mlid, sm_lid = port.sm_lid,
      sm_key = k.conf.sm_key, prefix = #prefix == 16 and prefix or LINK_LOCAL, ports = guids })
   if not answer then
      return nil, err
   end
   local m = mcast.missing(ports, answer)
   return { mgid = answer.mgid, mlid = answer.mlid, pkey = answer.pkey, up = #ports,
      members = m.members, missing = array(m.missing), unknown = array(m.unknown) }
end

---------------------------------------------------------------- all

-- Those that make work for the fabric, or change a file.
local PRIVILEGED = { record = true, sm = true, mcast = true }

--- Is this a question that only root and SlurmUser may ask tautd?
function queries.is_privileged(what, args)
   return PRIVILEGED[what] or args.fresh == true
end

--- Does this answer need counters, and the sweep before?
function queries.needs_counters(what)
   return what == "errors" or what == "check" or what == "sweep"
end

local KNOWN = { links = true, errors = true, check = true, diff = true, record = true, sweep = true,
   sm = true, mcast = true }

--- @param k keeper that has swept
-- @param what name of an answer
-- @return plain data, or nil and why
function queries.give(k, what, args)
   if not KNOWN[what] then
      return nil, ("fabric: no answer '%s'"):format(tostring(what))
   end
   local data, err = queries[what](k, args)
   if not data then
      return nil, err
   end
   local s = k.fabric.sweep
   data.swept, data.took_s = s.begin, s.finish - s.begin
   data.incomplete, data.notes = s.incomplete and s.why or nil, array(k.notes)
   data.mads, data.nodes = s.mads, #k.fabric.nodes
   return data
end

return queries
