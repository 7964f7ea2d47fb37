-- SPDX-License-Identifier: GPL-2.0-or-later
--- Follows one log: from where it was read to, through rotation and truncation.
--
-- The position is { dev, inode, offset, state }: the file, how many of its bytes were taken in
-- whole lines, and what the format remembers.  A renamed file is read to its end before the next
-- one is begun, even if it was renamed unseen, and more than once.  It is then searched beside its
-- old name (NAME.1, NAME-20261120, NAME.old), and all later files are read in their order.
local ingest = require "taut.events.ingest"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local follow = {}
local Follower = {}
Follower.__index = Follower

local PIECE = 1 << 18

local function is_same_file(first, second)
   return first and second and first.dev == second.dev and first.inode == second.inode
end

-- What is left of a name behind the log's when it was rotated: logrotate's number or date, with a
-- time, savelog's .0, .old.  Compressed ones are passed over.
local function is_rotated(rest)
   return rest:find "^[.-]%d[%d.-]*$" ~= nil or rest == ".old"
end

-- The rotated files of a log, the oldest first: { path, dev, inode, mtime }.
local function list_rotated(path)
   local folder, base = path:match "^(.*/)([^/]+)$"
   local list = {}
   for _, name in ipairs(sys.names(folder or ".") or {}) do
      local rest = name:sub(1, #(base or path)) == (base or path) and name:sub(#(base or path) + 1)
      local stat = rest and is_rotated(rest) and sys.stat((folder or "") .. name)
      if stat and stat.regular then
         stat.path = (folder or "") .. name
         list[#list + 1] = stat
      end
   end
   table.sort(list, function(first, second)
      return first.mtime < second.mtime or first.mtime == second.mtime and first.path > second.path
   end)
   return list
end

-- Where a rotated file is now, and the one that was written after it.
local function find_rotated(path, what)
   local list = list_rotated(path)
   for i, stat in ipairs(list) do
      if is_same_file(stat, what) then
         return stat.path, tables.or_empty(list[i + 1]).path or path
      end
   end
   return nil, path
end

-- Open one of the log's files.  Where that fails the position stays for the next look.
local function open_file(self, path, offset)
   local stat, err = sys.stat(path)
   if not stat then
      return nil, err
   elseif not stat.regular then
      return nil, path .. ": not a regular file" -- a pipe would hold us up
   end
   local f
   f, err = io.open(path, "rb")
   if not f then
      return nil, err
   end
   f:seek("set", offset)
   self.file, self.dev, self.inode, self.offset = f, stat.dev, stat.inode, offset
   self.reader.rest, self.position = "", nil
   return true
end

local function close_file(self)
   if self.file then
      self.file:close()
      self.file = nil
   end
end

-- Open what is to be read next: the rest of a file that was renamed, or the log.
local function begin_reading(self, stat)
   local p = self.position
   if p and is_same_file(stat, p) then
      local offset = p.offset
      if offset > stat.size then
         offset = 0
      end
      return open_file(self, self.path, offset)
   end
   local old = p and find_rotated(self.path, p)
   if old then
      return open_file(self, old, p.offset)
   elseif not p and not self.from_start then
      -- a log that is followed for the first time is read from now on: what it says of last year
      -- is nobody's news (`taut ingest` reads the whole of a file)
      return open_file(self, self.path, stat.size)
   end
   return open_file(self, self.path, 0)
end

-- Read on, at most `most` bytes.  Returns how many there were.
local function read_on(self, most, fn)
   local got = 0
   self.file:seek("cur", 0) -- an end that was met once is not the end for ever
   while got < most do
      local piece = self.file:read(math.min(PIECE, most - got))
      if not piece then
         break
      end
      got = got + #piece
      self.offset = self.offset + self.reader:feed(piece, fn)
   end
   return got
end

--- Look for news.
-- @param most bytes to read now
-- @param fn called with each observation
-- @return bytes read (fewer than `most`: there is no more now), or nil and why not; the same error
--   comes each time, the caller says it once
function Follower:look(most, fn)
   self.reader.now = sys.now()
   local stat, err = sys.stat(self.path)
   if not self.file then
      if not stat then
         return nil, err
      end
      local ok
      ok, err = begin_reading(self, stat)
      if not ok then
         return nil, err
      end
   elseif stat and is_same_file(stat, self) and stat.size < self.offset then
      close_file(self) -- it was cut (copytruncate): begin anew
      local ok
      ok, err = open_file(self, self.path, 0)
      if not ok then
         return nil, err
      end
   end
   local got = read_on(self, most, fn)
   while got < most and stat and not is_same_file(stat, self) do
      local _, next_path = find_rotated(self.path, self)
      self.reader:finish(fn) -- renamed and read to its end
      self.position = self:at()
      close_file(self)
      local ok
      ok, err = open_file(self, next_path, 0)
      if not ok then
         return nil, err
      elseif next_path == self.path then
         stat = nil -- renamed again since: the next look sees to it
      end
      got = got + read_on(self, most - got, fn)
   end
   return got
end

--- Where it has read to, for the store.
function Follower:at()
   if not self.file then
      return self.position
   end
   return { dev = self.dev, inode = self.inode, offset = self.offset, state = self.reader.state }
end

--- @param format name
-- @param path of the log
-- @param position of at(), of an earlier run; nil for a log never read
-- @param from_start read a log never read from its beginning
-- @param trusted as for ingest.reader
-- @return follower, or nil and why not
function follow.new(format, path, position, from_start, trusted)
   local reader, err = ingest.reader(format, { now = sys.now(), state = position
      and position.state, trusted = trusted })
   if not reader then
      return nil, err
   end
   return setmetatable({ path = path, position = position, reader = reader,
      from_start = from_start }, Follower)
end

return follow
