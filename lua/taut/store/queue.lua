-- SPDX-License-Identifier: GPL-2.0-or-later
--- Batches that wait on disk for a server that is away (`tautd --queue FOLDER`): a process of its
-- own, because a disk may take its time.
--
-- In the folder are files of lines, a batch each, `1.rows`, `2.rows` … in order; what is sent first
-- goes first, and a file goes when all of it is sent.  A batch that is sent again after a restart
-- carries its place, by which the database knows it.  Rows that it refuses are in `refused.rows`.
--
-- Requests are JSON lines on stdin, replies JSON lines on stdout, in order; each reply has batches,
-- rows, bytes, since (time of the oldest; nil where none waits), refused (rows) and left_out (rows
-- refused that found no room either):
--   { id, op = "conf", folder, most } first: bytes that may wait
--   { id, op = "append", batch = { place, time, rows }, durable }: fails where it finds no room
--   { id, op = "head" } → batch, if one waits; { id, op = "drop" }: that one is stored
--   { id, op = "refuse", rows = { { table, row, why } } }
local answering = require "taut.base.answering"
local json = require "taut.json"
local sys = require "taut.sys"

local queue = {}

local FILE_BYTES = 8 << 20
local REFUSED_BYTES = 64 << 20

local q -- { folder, most, list = { { file, offset, bytes, rows, time } }, last = file number }

local function path_of(number)
   return ("%s/%d.rows"):format(q.folder, number)
end

local function state_reply(more)
   local first = q.list[q.first]
   more = more or {}
   more.batches, more.rows, more.bytes = #q.list - q.first + 1, q.rows, q.bytes
   more.since, more.refused, more.left_out = first and first.time, q.refused, q.left_out
   return more
end

local function note_entry(entry)
   q.list[#q.list + 1] = entry
   q.rows, q.bytes = q.rows + entry.rows, q.bytes + entry.bytes
end

-- A line that is not a batch, of a machine that stopped while it was written for instance.
local function look_at(number, offset, line)
   local batch = json.decode(line)
   if type(batch) == "table" and type(batch.rows) == "table" and type(batch.place) == "table" then
      note_entry { file = number, offset = offset, bytes = #line, rows = #batch.rows,
         time = batch.time }
   else
      sys.log("err", ("%s: the data at byte %d is not a batch and is skipped"):format(
         path_of(number), offset))
   end
end

local function read_file(number)
   local file, err = io.open(path_of(number), "rb")
   if not file then
      return nil, err
   end
   local offset = 0
   for line in file:lines "L" do
      look_at(number, offset, line)
      offset = offset + #line
   end
   file:close()
   if not q.list[1] or q.list[#q.list].file ~= number then
      os.remove(path_of(number))
   end
   return true
end

local function count_lines(path)
   local n = 0
   local file = io.open(path, "rb")
   if file then
      for _ in file:lines() do
         n = n + 1
      end
      file:close()
   end
   return n
end

local ops = {}

function ops.conf(request)
   local made, why = sys.mkdir(request.folder, 448) -- 0700
   local names, err = sys.names(request.folder)
   if not made and not names then
      return nil, why
   elseif not names then
      return nil, err or why
   end
   q = { folder = request.folder, most = request.most, list = {}, first = 1, rows = 0, bytes = 0,
      left_out = 0, refused = count_lines(request.folder .. "/refused.rows") }
   local numbers = {}
   for _, name in ipairs(names) do
      numbers[#numbers + 1] = math.tointeger(tonumber(name:match "^(%d+)%.rows$"))
   end
   table.sort(numbers)
   for _, number in ipairs(numbers) do
      local ok, bad = read_file(number)
      if not ok then
         return nil, bad
      end
   end
   -- behind a line that ends early nothing may follow: what comes goes into a new file
   q.last, q.size = (numbers[#numbers] or 0) + 1, 0
   return state_reply()
end

function ops.append(request)
   local text, err = json.encode(request.batch)
   if not text then
      return nil, err
   elseif q.bytes + #text + 1 > q.most then
      return nil, ("%s is full: %d MB wait"):format(q.folder, q.bytes // 1000000)
   elseif q.size > FILE_BYTES then
      q.last, q.size = q.last + 1, 0
   end
   local ok, why = sys.append(path_of(q.last), text .. "\n", request.durable == true)
   if not ok then
      return nil, why
   end
   note_entry { file = q.last, offset = q.size, bytes = #text + 1, rows = #request.batch.rows,
      time = request.batch.time }
   q.size = q.size + #text + 1
   return state_reply()
end

function ops.head()
   local e = q.list[q.first]
   if not e then
      return state_reply()
   end
   local file, err = io.open(path_of(e.file), "rb")
   if not file then
      return nil, err
   end
   file:seek("set", e.offset)
   local batch, why = json.decode(file:read(e.bytes) or "")
   file:close()
   if not batch then
      return nil, ("%s: byte %d: %s"):format(path_of(e.file), e.offset, why)
   end
   return state_reply { batch = batch }
end

-- The list gets short again once most of it is gone.
local function forget_sent()
   if q.first > 1000 and q.first > #q.list // 2 then
      q.list = table.move(q.list, q.first, #q.list, 1, {})
      q.first = 1
   end
end

function ops.drop()
   local e = q.list[q.first]
   if e then
      q.rows, q.bytes, q.first = q.rows - e.rows, q.bytes - e.bytes, q.first + 1
      local following = q.list[q.first]
      if not following or following.file ~= e.file then
         os.remove(path_of(e.file))
         if e.file == q.last then
            q.last, q.size = q.last + 1, 0
         end
      end
      forget_sent()
   end
   return state_reply()
end

function ops.refuse(request)
   local path = q.folder .. "/refused.rows"
   local st = sys.stat(path)
   local room = REFUSED_BYTES
   if st then
      room = room - (st.size or 0)
   end
   for _, row in ipairs(request.rows) do
      local text = json.encode { row[1], row[2], row[3] } .. "\n"
      room = room - #text
      if room > 0 and sys.append(path, text, true) then
         q.refused = q.refused + 1
      else
         q.left_out = q.left_out + 1
      end
   end
   return state_reply()
end

--- Serve requests until stdin ends.
-- @return exit status
function queue.main()
   return answering.serve { name = "queue", ops = ops, is_ready = function() return q ~= nil end }
end

return queue
