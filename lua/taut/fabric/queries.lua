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
local tables = require "taut.base.tables"

local queries = {}

local SM_STATES = { [0] = "not active", "discovering", "standby", "master" }
local LINK_LOCAL = "fe80000000000000"

local function array_of(list)
   return json.array(list)
end

---------------------------------------------------------------- links

local function end_of(port)
   local lid = port.lid
   if port.node.type == "switch" then
      lid = port.node.lid or lid
   end
   return { node = port.node.name, guid = port.node.guid, port_guid = port.guid, port = port.number,
      lid = lid,
      state = lane.state(port), phys = lane.phys(port) }
end

local function link_row(link)
   local set
   if link.narrow or link.slow then
      set = link.set or nil
   end
   return { a = end_of(link.a), b = end_of(link.b), between = link.between,
      width = link.lanes and link.lanes .. "X", speed = link.speed and link.speed.name,
      Bps = link.Bps, best_width = link.best_lanes and link.best_lanes .. "X",
      best_speed = link.best_speed and link.best_speed.name, left = link.left,
      active = link.active, set = set }
end

function queries.links(keeper)
   local links, down = array_of {}, array_of {}
   for i, link in ipairs(keeper.fabric.links) do
      links[i] = link_row(link)
   end
   for p in model.ports(keeper.fabric) do
      if not p.link then
         local e = end_of(p)
         e.silent = p.silent
         down[#down + 1] = e
      end
   end
   return { links = links, unconnected = down }
end

---------------------------------------------------------------- errors, check, diff

function queries.errors(keeper)
   local n = { real = 0, undated = 0, ignorable = 0 }
   local rows = errors.find(keeper.fabric, keeper.state)
   for _, row in ipairs(rows) do
      n[row.verdict] = n[row.verdict] + 1
   end
   return { errors = array_of(rows), counts = n }
end

local function plain_finding(finding)
   return { kind = finding.kind, severity = finding.severity, text = finding.text,
      port = finding.port, node = finding.node,
      guid = finding.guid, number = finding.number, left = finding.left }
end

-- What of the changes is a fault: something is gone or slower.
local FAULTS = { ["missing host"] = true, ["missing switch"] = true, ["lost cable"] = true,
   disabled = true, slower = true, ["moved cable"] = true }

local function list_findings(keeper, record)
   local list, seen = array_of {}, {}
   for _, f in ipairs(check.find(keeper.fabric)) do
      list[#list + 1] = plain_finding(f)
      seen[("%s/%s"):format(f.guid or "", f.number or "")] = true
   end
   for _, c in ipairs(tables.or_empty(record and changes.find(record, keeper.fabric))) do
      -- a link found narrow is told once
      if not (c.kind == "slower" and seen[("%s/%s"):format(c.guid, c.number)])
         and not (c.kind == "disabled" and seen[("%s/%s"):format(c.guid, c.number)]) then
         c.severity = "warning"
         if FAULTS[c.kind] then
            c.severity = "fault"
         end
         list[#list + 1] = plain_finding(c)
      end
   end
   return list
end

function queries.check(keeper)
   local record, err, absent = keeper:record()
   if not record and not absent then
      return nil, err
   end
   local list = list_findings(keeper, record)
   local n = { fault = 0, warning = 0 }
   for _, f in ipairs(list) do
      n[f.severity] = n[f.severity] + 1
   end
   local real = tables.count(errors.find(keeper.fabric, keeper.state), function(row)
      return row.verdict == "real"
   end)
   return { findings = list, counts = n, real_errors = real, ports = check.counts(keeper.fabric),
      recorded = record and record.time, recorded_in = keeper.conf.recorded,
      clashes = #(keeper.fabric.sweep.clashes or {}) }
end

function queries.diff(keeper)
   local record, err, absent = keeper:record()
   if not record and absent then
      return nil, ("no fabric is recorded in %s: `taut fabric record` does it"):format(
         keeper.conf.recorded)
   elseif not record then
      return nil, err
   end
   local list = array_of {}
   for i, c in ipairs(changes.find(record, keeper.fabric)) do
      list[i] = plain_finding(c)
   end
   return { changes = list, recorded = record.time, recorded_in = keeper.conf.recorded }
end

function queries.record(keeper)
   if keeper.fabric.sweep.incomplete then
      return nil, ("not recorded: the sweep is not complete: %s"):format(keeper.fabric.sweep.why)
   end
   local ok, err = state.record(keeper.conf.recorded, keeper.fabric)
   if not ok then
      return nil, err
   end
   return { recorded_in = keeper.conf.recorded }
end

function queries.sweep(keeper)
   local s = keeper.state
   local standing = array_of {}
   for _, o in pairs(s.standing) do
      standing[#standing + 1] = o
   end
   table.sort(standing, function(one, other) return one.text < other.text end)
   return { observations = array_of(keeper.observations or {}), standing = standing,
      recent = array_of(s.recent) }
end

---------------------------------------------------------------- sm, mcast

local function origin_port(keeper)
   local o = keeper.fabric.sweep.origin
   local node = keeper.fabric.by_guid[o.guid]
   local p = node and node.port[o.port]
   if node and node.type == "switch" then
      p = node.port[0] or p
   end
   if not p or (p.sm_lid or 0) == 0 then
      return nil, "this host's port has no subnet manager"
   end
   return p
end

local function sm_lids(kept, first)
   local lids, port_of = { first }, {}
   for _, node in ipairs(kept.fabric.nodes) do
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

function queries.sm(keeper)
   local port, err = origin_port(keeper)
   if not port then
      return nil, err
   end
   local lids, port_of = sm_lids(keeper, port.sm_lid)
   local sms
   sms, err = sweep.sm(keeper.conf, lids)
   if not sms then
      return nil, err
   end
   for _, sm in ipairs(sms) do
      local p = port_of[sm.lid]
      sm.node = p and p.node.name
      sm.state = sm.state and (SM_STATES[sm.state] or tostring(sm.state))
      sm.used = sm.lid == port.sm_lid
   end
   return { sms = array_of(sms), used_lid = port.sm_lid }
end

function queries.mcast(keeper, args)
   local group, err = mcast.group(tostring(args.group or ""))
   local port, why = origin_port(keeper)
   if not group or not port then
      return nil, err or why
   end
   local ports, guids = mcast.ports(keeper.fabric), {}
   for i, p in ipairs(ports) do
      guids[i] = p.guid:sub(3)
   end
   local prefix = (port.gid_prefix or ""):sub(3)
   if #prefix ~= 16 then
      prefix = LINK_LOCAL
   end
   local answer
   answer, err = sweep.mcast(keeper.conf, { mgid = group.mgid, mlid = group.mlid,
      sm_lid = port.sm_lid,
      sm_key = keeper.conf.sm_key, prefix = prefix, ports = guids })
   if not answer then
      return nil, err
   end
   local m = mcast.missing(ports, answer)
   return { mgid = answer.mgid, mlid = answer.mlid, pkey = answer.pkey, up = #ports,
      members = m.members, missing = array_of(m.missing), unknown = array_of(m.unknown) }
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

--- @param keeper keeper that has swept
-- @param what name of an answer
-- @return plain data, or nil and why
function queries.give(keeper, what, args)
   if not KNOWN[what] then
      return nil, ("fabric: no answer '%s'"):format(tostring(what))
   end
   local data, err = queries[what](keeper, args)
   if not data then
      return nil, err
   end
   local s = keeper.fabric.sweep
   data.swept, data.took_s = s.begin, s.finish - s.begin
   data.incomplete, data.notes = sweep.why_incomplete(s), array_of(keeper.notes)
   data.mads, data.nodes = s.mads, #keeper.fabric.nodes
   return data
end

return queries
