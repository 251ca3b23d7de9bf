--@name SMI TrafficSplit
--@can weight,subpercent
--@use steps, backends, weights
--
-- Divides the stable Service's own share among the backends. Weights of the oldest version may be quantities ("500m"); what
-- is written is whole numbers, which every version takes.
--
-- obj.params.scale: multiply the weights by this much.

local step = steps.of(obj)
local services = backends.of(step, {name = "service", without_weight = 0, most = 1000000000})

-- A quantity in thousandths.
local function thousandths(text)
    local number = text:match("^(%d+)m$") or (tonumber(text) and tonumber(text) * 1000)
    if number == nil then
        error("the weight " .. text .. " is no number")
    end
    return tonumber(number)
end

steps.carry_out(step, {
    divide = function()
        local entries, quantities = step.spec.backends or {}, false
        for _, entry in ipairs(entries) do
            quantities = quantities or type(entry.weight) == "string"
        end
        for _, entry in ipairs(quantities and entries or {}) do
            entry.weight = thousandths(tostring(entry.weight or 0))
        end
        weights.divide(step, services, entries)
    end,
})
return obj.data
