-- SPDX-License-Identifier: GPL-2.0-or-later
--- A page by mail: a few lines of text, the page attached, handed to this host's sendmail.
local save = require "taut.report.save"
local seal = require "taut.seal"

local mail = {}

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local LINE = 57 -- bytes that make 76 characters, the most of a line (RFC 2045)

local LETTER = {}
for i = 0, 63 do
   LETTER[i] = ALPHABET:sub(i + 1, i + 1)
end

-- Three bytes, or the last one or two.
local function encode_group(text, at)
   local a, b, c = text:byte(at, at + 2)
   local v = a << 16 | (b or 0) << 8 | (c or 0)
   local third, fourth = "=", "="
   if b then
      third = LETTER[v >> 6 & 63]
   end
   if c then
      fourth = LETTER[v & 63]
   end
   return LETTER[v >> 18] .. LETTER[v >> 12 & 63] .. third .. fourth
end

--- Text in base64, in lines (RFC 2045, 6.8).
function mail.base64(text)
   local lines = {}
   for from = 1, #text, LINE do
      local parts = {}
      for at = from, math.min(from + LINE - 1, #text), 3 do
         parts[#parts + 1] = encode_group(text, at)
      end
      lines[#lines + 1] = table.concat(parts)
   end
   return table.concat(lines, "\n") .. "\n"
end

--- Is this an address, or a name of this host?  Nothing else gets into a header.
function mail.is_address(text)
   local name, host = text:match "^([^@]+)@([%w.-]+)$"
   name = name or not host and text
   return #text <= 254 and name:find "^%w[%w!#$%%&'*+/=?^_`{|}~.-]*$" ~= nil
end

--- The whole message.
-- @param letter { to = array of addresses, subject, text, page = HTML }
function mail.message(letter)
   local border = "taut-" .. seal.hex(seal.random(12))
   local subject = letter.subject:gsub("[^\32-\126]", "?")
   return table.concat({ "To: " .. table.concat(letter.to, ", "), "Subject: " .. subject,
      "MIME-Version: 1.0", ('Content-Type: multipart/mixed; boundary="%s"'):format(border),
      "Auto-Submitted: auto-generated", "", "--" .. border,
      "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: base64", "",
      mail.base64(letter.text), "--" .. border,
      'Content-Type: text/html; charset=utf-8; name="taut.html"',
      'Content-Disposition: attachment; filename="taut.html"', "Content-Transfer-Encoding: base64",
      "", mail.base64(letter.page) .. "--" .. border .. "--", "" }, "\n")
end

--- Send one.
-- @param letter of message
-- @return true, or nil and why not
function mail.send(letter)
   local words = {}
   for i, address in ipairs(letter.to) do
      words[i] = save.quoted(address)
   end
   local pipe, err = io.popen("PATH=$PATH:/usr/sbin:/usr/lib exec sendmail -oi -- " ..
      table.concat(words, " "), "w")
   if not pipe then
      return nil, err
   end
   pipe:write(mail.message(letter))
   local ok, how, code = pipe:close()
   if ok then
      return true
   elseif how == "exit" and code == 127 then
      return nil, "there is no sendmail on this host"
   end
   return nil, ("sendmail failed, %s %d"):format(how, code)
end

return mail
