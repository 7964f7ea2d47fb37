-- SPDX-License-Identifier: GPL-2.0-or-later
--- `tautd --alps serve FILE`: for tautd what taut-slurm is, where no Slurm runs over ALPS.  JSON
-- lines as in doc/internals/slurm.md; it asks apbasil and tells xtprocadmin.
--
-- ALPS keeps no reason of a node that was taken down, so FILE has those of ours; it is written
-- before the state is set.  What is not in it was done by somebody else, and is left alone.
local answering = require "taut.base.answering"
local basil = require "taut.alps.basil"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local sys = require "taut.sys"

local serve = {}

local TIMEOUT_S = 20
local SAME_S = 1 -- an inventory is that of now
local PARTITION = "batch"

local file  -- of our drains
local seen, seen_at -- the last inventory
local ours  -- node name → { reason, time }

local function save_drains()
   return sys.write_durably(file, json.encode(ours))
end

local function load_drains()
   local f = io.open(file)
   local text = f and f:read "a"
   if f then
      f:close()
   end
   ours = text and json.decode(text) or {}
end

---------------------------------------------------------------- nodes

-- As Slurm would have it.
local function describe_node(node)
   local mine = ours[node.name]
   local is_up, is_batch = node.state == "UP", node.role == "BATCH"
   local drained = mine and node.state == "ADMIN"
   local out = { name = node.name, partitions = is_batch and { PARTITION } or json.array {},
      cpus = node.cpus, drain = drained or false, cname = node.cname, reason = "",
      state = node.reservation and "allocated" or "idle" }
   if drained then
      out.reason, out.reason_user, out.reason_time = mine.reason, "root", mine.time
   elseif not is_up or not is_batch then
      out.state, out.down = "down", true
      out.reason = "ALPS: " .. (is_up and node.role or node.state):lower():gsub("[^ -~]", "?")
   end
   return out
end

-- One of ours that is up again was set up by somebody else, or never taken down.
local function forget_released(nodes)
   local changed = false
   for _, n in ipairs(nodes) do
      if n.state == "UP" and ours[n.name] then
         ours[n.name], changed = nil, true
      end
   end
   return not changed or save_drains()
end

-- tautd asks for nodes and jobs in one go; an inventory of a large machine takes its time.
local function look_at_inventory()
   local now, err = os.time(), nil
   if not seen or now - seen_at > SAME_S then
      seen, err = basil.inventory()
      seen_at = now
      if seen then
         forget_released(seen.nodes)
      end
   end
   return seen, err
end

local function find_node(name)
   local inventory, err = basil.inventory()
   seen = nil
   for _, n in ipairs(inventory and inventory.nodes or {}) do
      if n.name == name then
         return n
      end
   end
   return nil, err or "ALPS has no node " .. tostring(name)
end

-- xtprocadmin says with its status whether it was done.
local function set_state(nid, state)
   local pipe = io.popen(("timeout -k 1 %d xtprocadmin -k s %s -n %d 2>&1"):format(TIMEOUT_S,
      state, nid))
   local text = pipe:read "a"
   local ok, _, status = pipe:close()
   if ok then
      return true
   end
   return nil, ("xtprocadmin: %s"):format(text ~= "" and text:gsub("%s+", " "):sub(1, 200)
      or ("status %d"):format(status))
end

---------------------------------------------------------------- requests

local ops = {}

function ops.config()
   return { cluster = "alps", slurm_user = "root", prolog_flags = { "Alloc", "DeferBatch" },
      private_data = json.array {}, slurm_version = "", select_type = "alps" }
end

function ops.controllers()
   return { controllers = json.array {}, active = -1 }
end

function ops.reservations()
   return { reservations = json.array {} }
end

function ops.topology()
   return { switches = json.array {} }
end

function ops.nodes()
   local inventory, err = look_at_inventory()
   if not inventory then
      return nil, err
   end
   local list = {}
   for i, n in ipairs(inventory.nodes) do
      list[i] = describe_node(n)
   end
   return { nodes = json.array(list), maintenance = json.array {} }
end

function ops.partitions()
   local inventory, err = look_at_inventory()
   if not inventory then
      return nil, err
   end
   local names = {}
   for _, n in ipairs(inventory.nodes) do
      if n.role == "BATCH" then
         names[#names + 1] = n.name
      end
   end
   return { partitions = { { name = PARTITION, nodes = hostlist.compress(names), up = true,
      default = true } } }
end

function ops.jobs()
   local inventory, err = look_at_inventory()
   if not inventory then
      return nil, err
   end
   local list = {}
   for _, r in ipairs(inventory.reservations) do
      local id, names = basil.job_of(r), basil.nodes_of(inventory, r.id)
      if id and #names > 0 then
         list[#list + 1] = { id = id, user_id = sys.user_id(r.user) or 0xfffffffe,
            state = "running", nodes = hostlist.compress(names), num_nodes = #names,
            partition = PARTITION, start = r.time or 0, name = "", array_job = 0, het_job = 0,
            priority = 0, reason = "None" }
      end
   end
   return { jobs = json.array(list) }
end

function ops.job(request)
   local reply, err = ops.jobs()
   for _, j in ipairs(reply and reply.jobs or {}) do
      if j.id == request.job then
         return { job = j }
      end
   end
   return reply and {}, err
end

function ops.drain(request)
   local n, err = find_node(request.node)
   if not n then
      return nil, err
   elseif n.state ~= "UP" and not (n.state == "ADMIN" and ours[n.name]) then
      return { done = false, why = "down already: ALPS: " .. n.state:lower() }
   end
   ours[n.name] = { reason = request.reason, time = os.time() }
   local ok
   ok, err = save_drains()
   if ok and n.state == "UP" then
      ok, err = set_state(n.nid, "admindown")
   end
   if not ok then
      return nil, err -- should it still be up, the next look forgets the reason
   end
   return { done = true, was = n.state:lower() }
end

function ops.resume(request)
   local n, err = find_node(request.node)
   if not n then
      return nil, err
   elseif not ours[n.name] then
      return { done = false, drained = n.state ~= "UP",
         why = n.state == "UP" and "not drained" or "taken down by somebody else" }
   elseif n.state == "ADMIN" then
      local ok
      ok, err = set_state(n.nid, "up")
      if not ok then
         return nil, err
      end
   end
   ours[n.name] = nil
   save_drains()
   return { done = true }
end

-- ALPS knows no steering, no features, no comments, and says nothing of the future.
for _, name in ipairs { "comment", "feature", "steer", "will_run" } do
   ops[name] = function()
      return nil, "not with ALPS"
   end
end

--- Serve requests until stdin ends.
-- @param path of the file that keeps our drains
-- @return exit status
function serve.main(path)
   file = path
   load_drains()
   return answering.serve { name = "alps", ops = ops, is_ready = function() return true end }
end

return serve
