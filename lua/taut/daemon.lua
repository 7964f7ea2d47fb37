--- tautd: puts the parts together.
local act = require "taut.act"
local cluster = require "taut.cluster"
local config = require "taut.config"
local coverage = require "taut.coverage"
local diagnose = require "taut.diagnose"
local hello = require "taut.hello"
local helper = require "taut.helper"
local hostlist = require "taut.hostlist"
local journal = require "taut.journal"
local json = require "taut.json"
local judge = require "taut.judge"
local loop = require "taut.loop"
local memory = require "taut.memory"
local munge = require "taut.munge"
local policy = require "taut.policy"
local query = require "taut.query"
local reason = require "taut.reason"
local rendezvous = require "taut.rendezvous"
local sys = require "taut.sys"

local daemon = {}

local HELLO, RESULT = 1, 3
local HELLO_MAX = 2 << 20
local IDLE_WIDTH = 12 -- nodes besides the suspect's own that an idle cycle calls for

local USAGE = [[
usage: tautd [-c FILE] [--check]     run in the foreground (systemd: Type=notify)
       tautd --store FILE            the store process; tautd starts it itself
  -c FILE    configuration (default %s/taut.lua)
  --check    check the configuration and end
]]

---------------------------------------------------------------- refused messages

local function refuse(d, from, why)
   d.refused = d.refused + 1
   sys.log("warning", ("refused a message from %s: %s"):format(from, why))
end

---------------------------------------------------------------- checks

local function on_hello(d, conn, payload, uid)
   local from = conn:peer()
   local h, err = json.decode(payload)
   local ok = h
   if h then
      ok, err = hello.check(h)
   end
   local names
   if ok then
      names, err = rendezvous.names(h)
   end
   if not names then
      refuse(d, from, err)
      conn:close()
      return
   elseif uid ~= 0 then
      refuse(d, from, ("%s by uid %d, only root may"):format(h.purpose, uid))
      conn:close()
      return
   end
   d.cluster.last_heard[h.node] = loop.time()
   if h.purpose == "prolog" then
      d.cluster:prolog(h.job, names, h.node)
   elseif h.purpose == "epilog" then
      d.cluster:epilog(h.job, h.node)
   end
   if h.purpose ~= "idle" and h.counters then
      d.journal:add("sample", { job = h.job, restart = h.restart or 0, node = h.node,
         purpose = h.purpose, time = loop.time(), boot = h.boot,
         counters = json.encode(h.counters) })
   end
   d.meet:hello(conn, h, names)
end

local function on_frame(d, conn, kind, payload)
   if kind == HELLO and not d.greeted[conn] then
      d.greeted[conn] = true
      munge.decode(payload, function(text, uid)
         if not text then
            refuse(d, conn:peer() or "a closed connection", "HELLO: " .. tostring(uid))
            conn:close()
         elseif d.greeted[conn] then
            on_hello(d, conn, text, uid)
         end
      end)
      return
   end
   local ok, why
   if kind == RESULT then
      ok, why = d.meet:result(conn, payload)
   else
      why = ("frame of type %d out of order"):format(kind)
   end
   if not ok then
      refuse(d, conn:peer() or "a closed connection", why)
      conn:close()
   end
end

---------------------------------------------------------------- what a session brought

local function index_results(s)
   local send, recv, refused = {}, {}, 0
   for _, r in pairs(s.results) do
      for _, t in ipairs(r.tests) do
         if type(t) == "table" and math.type(t.id) == "integer" then
            (t.role == "send" and send or recv)[t.id] = t
         end
      end
      refused = refused + (math.type(r.refused) == "integer" and r.refused or 0)
   end
   return send, recv, refused
end

local function route_text(topo, route)
   local names = {}
   for i, c in ipairs(route) do
      names[i] = topo.components[c]
   end
   return table.concat(names, " ")
end

local function store_test(d, t)
   d.journal:add("test", { id = t.id, event = t.event, time = t.time, src = t.src_name,
      dst = t.dst_name, route = route_text(d.topo, t.route), kind = t.kind,
      confirms = t.confirms and d.topo.components[t.confirms], phase = t.phase,
      streams = t.streams, expected_Bps = t.expected_Bps, bw_Bps = t.bw_Bps,
      sender_Bps = t.sender_Bps, ratio = t.ratio, rtt_ns = t.rtt_ns, class = t.class,
      why = t.why })
end

-- A result that only its own node could have written: the reports of a test count for the node
-- that sent them, not for the one they name.
local function own(s, reports, t, n)
   local r = s.results[n]
   for _, x in ipairs(r and r.tests or {}) do
      if x == reports[t.id] then
         return x
      end
   end
   return nil
end

local function judge_session(d, s)
   local send, recv, refused = index_results(s)
   if refused > 0 then
      d.refused_streams = d.refused_streams + refused
      sys.log("warning", ("job %d: %d streams without a token of the plan were refused"):format(
         s.job, refused))
   end
   d.last_event = d.last_event + 1
   for _, t in ipairs(s.tests) do
      t.event, t.time, t.job = d.last_event, s.began, s.job
      judge.test(t, own(s, send, t, t.src), own(s, recv, t, t.dst), d.topo, d.conf.diagnosis)
      for _, c in ipairs(t.class ~= "void" and t.route or {}) do
         d.coverage:touch(c, s.began)
      end
      d.classes[t.class] = d.classes[t.class] + 1
      store_test(d, t)
   end
end

---------------------------------------------------------------- verdicts

local function worst_of(k)
   local worst
   for _, t in ipairs(k.run) do
      if t.streams == 1 and (not worst or t.ratio < worst.ratio) then
         worst = t
      end
   end
   return worst or k.run[#k.run]
end

local function reason_text(d, c, k)
   local worst = worst_of(k)
   return reason.format { kind = d.topo:kind(c), state = k.state, left = k.left or 1,
      worst = worst, low = #k.run, tests = math.max(k.tests, #k.run), job = worst and worst.job,
      cable = d.topo:is_link(c) and "cable " .. d.topo:cable(c) or nil }
end

local function evidence(k)
   local ids = json.array {}
   for i, t in ipairs(k.run) do
      ids[i] = t.id
   end
   return json.encode { tests = ids, left = k.left, busy = k.busy }
end

-- What the policy wants for a component that is slow or failed.
local function apply_policy(d, c)
   local k = d.diagnosis:component(c)
   local name = d.topo.components[c]
   local nodes, what = policy.nodes_for(d.topo, c, k.left or 1, d.conf.policy)
   d.measures[c] = what
   local text = reason_text(d, c, k)
   for _, n in ipairs(nodes) do
      d.act:want(d.topo.nodes[n], name, text)
   end
   return what, text
end

local function on_change(d, change)
   local c, topo = change.component, d.topo
   local name, k = topo.components[c], d.diagnosis:component(c)
   d.journal:add("verdict", { time = change.time, component = name, was = change.from,
      state = change.to, evidence = evidence(k) })
   if change.to == "slow" or change.to == "failed" then
      local what, text = apply_policy(d, c)
      sys.log("warning", ("%s is %s: %s [%s]"):format(name, change.to, text:sub(7), what))
   elseif change.from == "slow" or change.from == "failed" then
      d.measures[c] = nil
      for _, n in ipairs(topo:ends(c)) do
         d.act:unwant(topo.nodes[n])
      end
      sys.log("notice", ("%s is %s again"):format(name, change.to))
   elseif change.to == "suspect" then
      sys.log("notice", ("%s is suspect: %d low tests"):format(name, #k.run))
   end
end

local function remember(d, touched)
   for c in pairs(touched) do
      d.journal:add("component", { name = d.topo.components[c],
         data = memory.pack(d.diagnosis:component(c), d.topo) })
   end
end

-- Drained nodes whose components have been found well often enough are given back.
local function release_clean(d)
   local want = d.conf.policy.release_after_clean
   for name, drain in pairs(want and d.act.drained or {}) do
      local c = d.topo.component_id[drain.component]
      local k = c and d.diagnosis:component(c)
      if k and k.state == "ok" and k.good >= want and not d.act.busy[name] then
         d.act:release(name, "taut, after " .. k.good .. " clean tests", function(ok, err)
            if not ok then
               sys.log("warning", ("cannot release %s: %s"):format(name, err))
            end
         end)
      end
   end
end

local function on_done(d, s)
   if not s.tests or #s.tests == 0 then
      return
   end
   judge_session(d, s)
   local names = {}
   for i, n in ipairs(s.wanted) do
      names[i] = d.topo.nodes[n]
   end
   d.journal:add("event", { id = d.last_event, time = s.began, purpose = s.purpose,
      job = s.job, restart = s.restart, uid = s.uid, nodes = hostlist.compress(names),
      expected = #s.wanted, heard = s.heard, tests = #s.tests })
   local changes, touched = d.diagnosis:observe(s.tests, loop.time())
   for _, change in ipairs(changes) do
      touched[change.component] = true
      on_change(d, change)
   end
   remember(d, touched)
   release_clean(d)
end

-- Verdicts that stand are looked at again with each news from Slurm: a cap may have room now.
local function on_refresh(d)
   d.act:reconcile()
   for c, k in pairs(d.diagnosis.comp) do
      if k.state == "slow" or k.state == "failed" then
         apply_policy(d, c)
      end
   end
   d.meet:forget(loop.time() - 3600)
end

-- A node was given back: what spoke against the components it was drained for is forgotten.
local function on_released(d, name, drain)
   local now, list = loop.time(), {}
   local n = d.topo.node_id[name]
   if n then
      list = { d.topo.tx[n], d.topo.rx[n] }
   end
   local c = drain and d.topo.component_id[drain.component]
   if c and d.topo:is_link(c) then
      list[#list + 1] = c
   end
   local changes, touched = {}, {}
   for _, comp in ipairs(list) do
      d.diagnosis:forget(comp, now, d.conf.policy.probation_h * 3600, changes)
      d.measures[comp] = nil
      touched[comp] = true
   end
   for _, change in ipairs(changes) do
      on_change(d, change)
   end
   remember(d, touched)
end

---------------------------------------------------------------- what plans are for

-- Suspects; in idle cycles also what is slow already (it may be well again) and what no test
-- has reached for `coverage_h`.
local function wanted(d, purpose)
   local now = loop.time()
   local list = d.diagnosis:wanted(now)
   if purpose ~= "idle" then
      return list
   end
   for c, k in pairs(d.diagnosis.comp) do
      if k.state == "slow" or k.state == "failed" then
         list[#list + 1] = { component = c, tied = {}, seen = {}, tests = 1 }
      end
   end
   local oldest = now - d.conf.checks.coverage_h * 3600
   if d.started_at < oldest then
      local stale = 0
      for c = 1, #d.topo.components do
         if d.coverage:last(c) < oldest and stale < 16 then
            stale = stale + 1
            list[#list + 1] = { component = c, tied = {}, seen = {}, tests = 1 }
         end
      end
   end
   return list
end

local function is_idle(d, n)
   local name = d.topo.nodes[n]
   local node = d.cluster.nodes[name]
   return node and not node.down and not d.cluster.on_node[name]
      and (node.state == "idle" or node.drain)
end

-- Nodes that an idle cycle begun by node n waits for: for each suspect those at its ends and the
-- idle ones nearest to them.  A drained node serves only to test itself.
local function idle_nodes(d)
   local topo, set = d.topo, {}
   for _, w in ipairs(wanted(d, "idle")) do
      local ends, near = topo:ends(w.component), {}
      for n = 1, #topo.nodes do
         if is_idle(d, n) then
            near[#near + 1] = { n = n, hops = topo:hops(ends[1], n) +
               (ends[2] and topo:hops(ends[#ends], n) or 0) + 2 * (w.seen[n] or 0) }
         end
      end
      table.sort(near, function(a, b)
         return a.hops < b.hops or a.hops == b.hops and a.n < b.n
      end)
      for _, n in ipairs(ends) do
         set[n] = is_idle(d, n) or nil
      end
      for i = 1, math.min(#near, IDLE_WIDTH) do
         set[near[i].n] = true
      end
   end
   local list = {}
   for n in pairs(set) do
      list[#list + 1] = n
   end
   table.sort(list)
   return list
end

---------------------------------------------------------------- starting

local function on_job(d, h, count, why)
   if why and why ~= "single" and why ~= "off" then
      sys.log("info", ("job %d on %d nodes: not checked: %s"):format(h.job, count, why))
   end
   d.skipped[why or "checked"] = (d.skipped[why or "checked"] or 0) + 1
end

local function on_planned(d, s)
   for _, t in ipairs(s.tests) do
      if t.confirms then
         local k = d.diagnosis:component(t.confirms)
         k.asked = (k.asked or 0) + 1
      end
   end
end

local function set_setting(d, name, value)
   d[name] = value
   d.journal:add("setting", { name = name, value = tostring(value) })
end

local function build(d)
   local conf = d.conf
   d.topo = conf.topology
   d.coverage = coverage.new(conf.checks.link_time)
   d.diagnosis = diagnose.new(d.topo, conf.diagnosis)
   d.measures = {}
   d.meet = rendezvous.new {
      topology = d.topo, checks = conf.checks, coverage = d.coverage, cluster = d.cluster,
      enabled = function() return d.switch ~= "off" and conf.checks.enabled end,
      wanted = function(purpose) return wanted(d, purpose) end,
      idle_nodes = function() return idle_nodes(d) end,
      next_test = function()
         d.last_test = d.last_test + 1
         return d.last_test
      end,
      on_job = function(h, count, why) on_job(d, h, count, why) end,
      on_planned = function(s) on_planned(d, s) end,
      on_done = function(s) on_done(d, s) end,
   }
   d.act.policy = conf.policy
end

-- Take what the store kept; fn() when all of it is there.
local function load_memory(d, fn)
   local left = 4
   local function part(name, take)
      d.journal:query(name, {}, function(rows, err)
         if err then
            sys.log("err", ("cannot read %s from the database: %s"):format(name, err))
         end
         for _, row in ipairs(rows or {}) do
            take(row)
         end
         left = left - 1
         if left == 0 then
            fn()
         end
      end)
   end
   local seen = {}
   part("components", function(row)
      local c = d.topo.component_id[row.name]
      local k, err = memory.unpack(row.data, d.topo, seen)
      if c and k then
         d.diagnosis.comp[c] = k
         d.coverage.tested[c] = k.last
      elseif c then
         sys.log("warning", ("database: component %s: %s"):format(row.name, err))
      end
   end)
   part("drained", function(row) d.act.drained[row.node] = json.decode(row.data) end)
   part("settings", function(row)
      if row.name == "mode" or row.name == "switch" then
         d[row.name] = row.value
      end
   end)
   part("last_ids", function(row)
      d.last_event, d.last_test = math.max(d.last_event, row.event), math.max(d.last_test,
         row.test)
   end)
end

local function listen(d)
   local host, port = d.conf.listen:match("^%[?(.-)%]?:(%d+)$")
   local listener, err = loop.listen {
      host = host, port = math.tointeger(tonumber(port)), max_frame = HELLO_MAX,
      timeout_ms = 15000, max_conns = d.conf.checks.max_conns,
      on_frame = function(conn, kind, payload) on_frame(d, conn, kind, payload) end,
      on_close = function(conn)
         d.greeted[conn] = nil
         d.meet:gone(conn)
      end,
      on_refused = function(why) refuse(d, "the network", why) end,
   }
   if not listener then
      return nil, ("cannot listen on %s: %s"):format(d.conf.listen, err)
   end
   d.listener = listener
   return true
end

local function serve(d)
   sys.mkdir(d.conf.socket:match("^(.*)/[^/]*$"), 493) -- 0755
   local server, err = loop.serve { path = d.conf.socket, mode = 438, max_line = 1 << 20,
      on_line = function(client, line, uid) query.answer(d, client, line, uid) end }
   if not server then
      return nil, ("cannot serve %s: %s"):format(d.conf.socket, err)
   end
   return true
end

--- Read the configuration again; a bad one is said and the old one stays.
local function reload(d)
   local conf, err = config.load(d.conf.path, sys.paths)
   if not conf then
      d.config_error = err
      sys.log("err", ("configuration not taken: %s"):format(err))
      return nil, err
   elseif conf.listen ~= d.conf.listen or conf.socket ~= d.conf.socket or
      conf.database ~= d.conf.database then
      d.config_error = "listen, socket and database change only with a restart"
      sys.log("err", "configuration not taken: " .. d.config_error)
      return nil, d.config_error
   end
   d.config_error, d.conf = nil, conf
   build(d)
   load_memory(d, function() on_refresh(d) end)
   sys.log("notice", "configuration taken: " .. conf.path)
   return true
end

local function stop(d)
   sys.notify("STOPPING=1")
   if d.stopping then
      return
   end
   d.stopping = true
   d.cluster.helper:stop()
   d.journal:stop(function() loop.stop() end)
end

local function options(arg)
   local o, i = { config = sys.paths.confdir .. "/taut.lua" }, 1
   while i <= #arg do
      local a = arg[i]
      if a == "-c" or a == "--config" then
         i = i + 1
         o.config = arg[i]
      elseif a == "--check" then
         o.check = true
      elseif a == "--store" then
         i = i + 1
         o.store = arg[i]
      else
         return nil
      end
      i = i + 1
   end
   return (o.config and (not o.store or o.store ~= "")) and o or nil
end

local function start_slurm(d)
   local slurm = helper.start { name = "taut-slurm",
      argv = { sys.paths.libexecdir .. "/taut-slurm" } }
   d.act = act.new { slurm = slurm, journal = d.journal, policy = d.conf.policy,
      mode = function() return d.mode or d.conf.mode end,
      encode = json.encode,
      on_released = function(name, drain) on_released(d, name, drain) end }
   d.cluster = cluster.new(slurm, d.conf.refresh_s, function() on_refresh(d) end)
   d.act.cluster = d.cluster
end

local function run(conf)
   local d = { conf = conf, refused = 0, refused_streams = 0, greeted = {}, last_event = 0,
      last_test = 0, started_at = loop.time(), classes = { good = 0, low = 0, void = 0 },
      skipped = {} }
   d.set, d.reload, d.reason_text = set_setting, reload, reason_text
   if conf.munge_socket then
      munge.socket(conf.munge_socket)
   end
   local opened = false
   d.journal = journal.start({ sys.paths.program, "--store", conf.database }, function()
      if not opened then
         opened = true
         load_memory(d, function() on_refresh(d) end)
      end
   end)
   start_slurm(d)
   build(d)
   local ok, err = listen(d)
   if ok then
      ok, err = serve(d)
   end
   if not ok then
      sys.log("err", err)
      return 1
   end
   loop.signal("HUP", function() reload(d) end)
   loop.signal("TERM", function() stop(d) end)
   loop.signal("INT", function() stop(d) end)
   loop.every(3600 * 1000, function()
      d.journal:prune(loop.time() - conf.keep_days * 86400)
   end)
   sys.notify("READY=1")
   sys.log("notice", ("tautd %s: %d nodes, %d components, mode %s"):format(sys.version,
      #d.topo.nodes, #d.topo.components, conf.mode))
   loop.run()
   return 0
end

--- @param arg command line
-- @return exit status
function daemon.main(arg)
   local o = options(arg)
   if not o then
      io.stderr:write(USAGE:format(sys.paths.confdir))
      return 2
   elseif o.store then
      return require("taut.store").main(o.store)
   end
   local conf, err = config.load(o.config, sys.paths)
   if not conf then
      io.stderr:write("tautd: ", err, "\n")
      return 1
   elseif o.check then
      print(o.config .. ": good")
      return 0
   end
   return run(conf)
end

return daemon
