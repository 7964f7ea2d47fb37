-- SPDX-License-Identifier: GPL-2.0-or-later
--- The constants of the time model from what a site measured without failures.
--
-- A point is a motif with its parameters, and either the seconds of an iteration or the share of
-- its time that is communication.  With shares alone nothing is known of the absolute speed: the
-- given compute speed stays, and the others are in its proportion.
local fit = {}

-- Least squares by normal equations and Gauss' elimination; no more than three unknowns.
local function solve_equations(rows, unknowns)
   local m, scale = {}, { [unknowns + 1] = 1 } -- columns of one length: the unknowns differ by 1e15
   for i = 1, unknowns do
      scale[i] = 0
      for _, r in ipairs(rows) do
         scale[i] = scale[i] + r[i] ^ 2
      end
      if scale[i] > 0 then
         scale[i] = math.sqrt(scale[i])
      else
         scale[i] = 1
      end
   end
   for i = 1, unknowns do
      m[i] = {}
      for j = 1, unknowns + 1 do
         m[i][j] = 0
         for _, r in ipairs(rows) do
            m[i][j] = m[i][j] + r[i] / scale[i] * r[j] / scale[j]
         end
      end
   end
   for i = 1, unknowns do
      local best = i
      for k = i + 1, unknowns do
         if math.abs(m[k][i]) > math.abs(m[best][i]) then
            best = k
         end
      end
      m[i], m[best] = m[best], m[i]
      if math.abs(m[i][i]) < 1e-10 then
         return nil
      end
      for k = 1, unknowns do
         local f = 0
         if k ~= i then
            f = m[k][i] / m[i][i]
         end
         for j = i, unknowns + 1 do
            m[k][j] = m[k][j] - f * m[i][j]
         end
      end
   end
   local x = {}
   for i = 1, unknowns do
      x[i] = m[i][unknowns + 1] / m[i][i] / scale[i]
   end
   return x
end

-- An equation scaled so that each point's relative error counts alike; unknowns are b and, where
-- asked for, message_s and 1 / flops.
local function make_equation(point, flops, has)
   local total = point.time_s
   if point.share then
      total = point.flops / flops * point.share / (1 - point.share)
   end
   local row = { point.network_s / total }
   if has.messages then
      row[#row + 1] = point.messages / total
   end
   if has.compute then
      row[#row + 1] = point.flops / total
   end
   row[#row + 1] = 1
   return row
end

-- Constants by these unknowns; what a message costs is not below 0.
local function fit_constants(points, flops, has)
   local rows, n = {}, 1
   if has.messages then
      n = n + 1
   end
   if has.compute then
      n = n + 1
   end
   if #points < n then
      return nil, ("%d points for %d unknowns"):format(#points, n)
   end
   for i, p in ipairs(points) do
      rows[i] = make_equation(p, flops, has)
   end
   local x = solve_equations(rows, n)
   if not x then
      return nil, "the points do not tell the constants apart: vary size or message length"
   elseif has.messages and x[2] < 0 then
      return fit_constants(points, flops, { compute = has.compute })
   end
   local constants = { b = x[1], message_s = 0, flops = flops }
   if has.messages then
      constants.message_s = x[2]
   end
   if has.compute then
      constants.flops = 1 / x[n]
   end
   return constants
end

local function check_points(points)
   local shares = 0
   for i, p in ipairs(points) do
      if p.share and not (p.share > 0 and p.share < 1) then
         return nil, ("point %d: share %g is not between 0 and 1"):format(i, p.share)
      elseif not p.share and not (p.time_s and p.time_s > 0) then
         return nil, ("point %d: neither a time nor a share"):format(i)
      end
      if p.share then
         shares = shares + 1
      end
   end
   if shares > 0 and shares < #points then
      return nil, "some points have a time, others a share of communication; expected one of both"
   end
   return shares > 0
end

-- Mean and largest relative error of the fit.
local function measure_errors(points, constants)
   local sum, most = 0, 0
   for _, p in ipairs(points) do
      local compute = p.flops / constants.flops
      local other = p.messages * constants.message_s + constants.b * p.network_s
      local e
      if p.share then
         e = math.abs(other / (compute + other) / p.share - 1)
      else
         e = math.abs((compute + other) / p.time_s - 1)
      end
      sum, most = sum + e, math.max(most, e)
   end
   return sum / #points, most
end

--- Fit.
-- @param points array of { flops, messages, network_s = sum over stages of max(F, L), without
--   failures; time_s = or share = }
-- @param start constants: flops is kept where there are shares only, or nothing computes
-- @return constants { flops, message_s, b, error = mean, worst = largest relative error, points =
--   how many }; or nil and what is wrong
function fit.constants(points, start)
   local by_share, err = check_points(points)
   if by_share == nil then
      return nil, err
   end
   local has = { messages = true }
   for _, p in ipairs(points) do
      has.compute = has.compute or not by_share and p.flops > 0
   end
   local c
   c, err = fit_constants(points, start.flops, has)
   if not c then
      return nil, err
   elseif not (c.b > 0 and c.flops > 0) then
      return nil, ("the fit gives b = %.3g, %.3g flop/s: a negative constant; the points are no " ..
         "such programs"):format(c.b, c.flops)
   end
   c.points = #points
   c.error, c.worst = measure_errors(points, c)
   return c
end

return fit
