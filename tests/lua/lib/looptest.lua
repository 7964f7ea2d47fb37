-- SPDX-License-Identifier: GPL-2.0-or-later
-- What tests of the event loop share: a loop that ends, and clients.
local loop = require "taut.loop"
local sys = require "taut.sys"

local looptest = {}

--- Run the loop until stop() is called; an error after limit_ms (a minute).
function looptest.run(limit_ms)
  local late = false
  local guard = loop.timer(limit_ms or 60000, function()
    late = true
    loop.stop()
  end)
  loop.run()
  guard:cancel()
  if late then
    error("the loop was not stopped in time", 2)
  end
end

--- Let the loop run for ms.
function looptest.pass(ms)
  loop.timer(ms, loop.stop)
  loop.run()
end

--- Run the loop until done() is true; an error after limit_ms.
function looptest.until_true(done, limit_ms)
  local poll = loop.every(5, function()
    if done() then
      loop.stop()
    end
  end)
  local ok, why = pcall(looptest.run, limit_ms)
  poll:cancel()
  if not ok then
    error(why, 2)
  end
end

--- A TCP client on 127.0.0.1: a bash script that has the connection as
-- descriptor 3; lines it prints go to on_line.
function looptest.client(port, script, on_line)
  local text = ("exec 3<>/dev/tcp/127.0.0.1/%d || exit 9; %s"):format(port, script)
  return assert(loop.spawn { argv = { "bash", "-c", text }, on_line = on_line })
end

--- The bytes of a frame, as printf of the shell wants them.
function looptest.frame(type, payload, length)
  local bytes = string.pack(">I4B", length or #payload + 1, type) .. payload
  return (bytes:gsub(".", function(c)
    return ("\\%03o"):format(c:byte())
  end))
end

--- A new empty folder, removed with the table returned when it is closed.
function looptest.folder()
  local pipe = assert(io.popen("mktemp -d"))
  local path = pipe:read("l")
  pipe:close()
  return setmetatable({ path = path }, {
    __close = function()
      os.execute("rm -rf '" .. path .. "'")
    end,
  })
end

--- Log nothing to stderr while fn runs: the error it causes is expected.
function looptest.quietly(fn)
  sys.log_to_stderr(false)
  local ok, why = pcall(fn)
  sys.log_to_stderr(true)
  if not ok then
    error(why, 0)
  end
end

return looptest
