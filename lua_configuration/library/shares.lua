-- Arithmetic of shares: percentages as whole numbers with an unchanged sum.

local shares = {}

local function whole(value)
    return math.abs(value - math.floor(value + 0.5)) < 1e-9
end

---Whole numbers with the sum `total`, as close to the given parts as possible.
---@param parts number[] shares of 1
---@param total number
---@param least? number the least number for a part above 0, else 1; always 0 if `total` is below the number of parts
---@return number[]
function shares.largest_remainder(parts, total, least)
    local result, left = {}, total
    least = total >= #parts and (least or 1) or 0
    for index, part in ipairs(parts) do
        result[index] = math.max(math.floor(part * total + 1e-9), part > 1e-9 and least or 0)
        left = left - result[index]
    end
    while left ~= 0 do
        local at, step = 1, left > 0 and 1 or -1
        for index, part in ipairs(parts) do
            local short = step > 0 and part * total - result[index] > parts[at] * total - result[at] + 1e-9
            at = (short or (step < 0 and result[index] > result[at])) and index or at
        end
        result[at], left = result[at] + step, left - step
    end
    return result
end

-- Whether whole numbers can express the step's share of `total`: the error is at most half a percent of `sum` (half a
-- hundredth if the share has parts of a percent), and a share above 0 does not become 0.
local function says(step, scale, total, sum)
    local all = total * scale
    local share = all * step.weight / 100
    local rounded = math.floor(share + 0.5)
    local lost = (rounded == 0 and share > 0) or (rounded == all and share < all)
    return not lost and math.abs(share - rounded) * (whole(step.weight) and 200 or 20000) <= sum * scale + 1e-9
end

-- The factor for the weights: 1 if possible, otherwise 100, or the factor that makes their sum 100 or 10000.
local function best_scale(step, most, total, sum)
    local scales, asked = {1, 100}, step.params.scale
    if sum < 100 then
        scales = {1, 100, 100 / sum, 10000 / sum}
    end
    if asked and sum * asked > most + 1e-9 then
        error("with params.scale the weights would be more than " .. most .. ", which no " .. step.kind .. " can express")
    end
    for _, scale in ipairs(asked and {asked} or scales) do
        if asked or (sum * scale <= most + 1e-9 and says(step, scale, total, sum)) then
            return scale
        end
    end
    if not whole(step.weight) then
        error("no " .. step.kind .. " can express " .. step.weight .. " % here: its weights are too small for parts of a percent")
    end
    return 1
end

---The factor for the weights of a list, so that they can express the step's share. `params.scale` has precedence.
---@param step moonshift.Step
---@param services moonshift.Backends
---@param total number the weights of the stable Service and the new version together
---@param sum number the weights of all entries together
---@return number
function shares.scale_for(step, services, total, sum)
    if services.exact then
        local share = total * step.weight / 100
        local scale = step.params.scale or (whole(share) and 1 or 100)
        if share > 0 and share < total and math.min(share, total - share) * scale < 0.5 then
            error("no " .. step.kind .. " can express " .. step.weight .. " % here: its weights are too small")
        end
        return scale
    end
    return best_scale(step, services.most, total, sum)
end

return shares
