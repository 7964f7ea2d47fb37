-- SPDX-License-Identifier: GPL-2.0-or-later
local colour = require "taut.report.colour"
local lu = require "luaunit"
local svg = require "taut.report.svg"

local tests = {}

function tests.test_bad_arguments_raise()
   lu.assertErrorMsgContains("expected #rrggbb", colour.scale, { "red", "#000000" })
   local doc = svg.new { width = 10, height = 10 }
   lu.assertErrorMsgContains("no group is open", doc.close, doc)
   lu.assertErrorMsgContains("not a number", doc.rect, doc, 0 / 0, 0, 1, 1)
   lu.assertErrorMsgContains("not a number", doc.rect, doc, 1 / 0, 0, 1, 1)
   doc:open()
   lu.assertErrorMsgContains("still open", doc.finish, doc)
end

function tests.test_text_may_hold_anything()
   local cases = {
      { "n5", "n5" },
      { "</text><script>alert('x\")&", "&lt;/text&gt;&lt;script&gt;alert(&#39;x&quot;)&amp;" },
      { "a\0b\27c", "a\u{FFFD}b\u{FFFD}c" },
      { "a\xffb\xc3", "a\u{FFFD}b\u{FFFD}" },
      { "\xed\xa0\x80", "\u{FFFD}\u{FFFD}\u{FFFD}" }, -- a surrogate
      { "\u{FFFE}", "\u{FFFD}" },
      { "Größe µs", "Größe µs" },
      { 12, "12" },
   }
   for _, c in ipairs(cases) do
      lu.assertEquals(svg.escape(c[1]), c[2])
   end
end

function tests.test_attributes_are_escaped_and_sorted()
   local doc = svg.new { width = 10, height = 20, title = "<t>", description = "&" }
   doc:rect(1, 2.5, 3, 4.000001, { fill = '"><x', stroke_width = 2, tip = "a<b" })
   local text = doc:finish()
   lu.assertStrContains(text, "<title>&lt;t&gt;</title>")
   lu.assertStrContains(text, "<desc>&amp;</desc>")
   lu.assertStrContains(text, '<rect fill="&quot;&gt;&lt;x" height="4" stroke-width="2" ' ..
      'width="3" x="1" y="2.5"><title>a&lt;b</title></rect>')
end

function tests.test_an_attribute_given_wins_over_the_default()
   local doc = svg.new { width = 10, height = 10 }
   doc:line(0, 0, 1, 1, { stroke = "#ff0000" })
   doc:text(1, 1, "x", { anchor = "end", bold = true, size = 9, turn = -90 })
   local text = doc:finish()
   lu.assertStrContains(text, 'stroke="#ff0000"')
   lu.assertStrContains(text, 'text-anchor="end"')
   lu.assertStrContains(text, 'transform="rotate(-90 1 1)"')
end

function tests.test_scales_run_one_way_in_lightness()
   local function luminance(text)
      local r, g, b = colour.rgb(text)
      return 0.2126 * r + 0.7152 * g + 0.0722 * b
   end
   local before = -1
   for i = 0, 100 do
      local now = luminance(colour.heat(i / 100))
      lu.assertTrue(now >= before - 1, i)
      before = now
   end
   lu.assertEquals(colour.heat(-1), colour.heat(0))
   lu.assertEquals(colour.heat(2), colour.heat(1))
   lu.assertEquals(colour.scale { "#123456", "#abcdef" }(0), "#123456")
   lu.assertEquals(colour.scale { "#123456", "#abcdef" }(1), "#abcdef")
   lu.assertEquals(colour.ink "#fdf3d6", "#1c1c1c")
   lu.assertEquals(colour.ink "#2a0a3a", "#ffffff")
end

return tests
