--@name Huawei CCE ELB Ingress
--@can weight,header,cookie
--@use ingresses
--
-- A canary Ingress beside the owner's, for dedicated load balancers: one header with the values that choose the new version,
-- or one cookie, or a share. Alternatives are values of one header.

local PREFIX, KIND = "kubernetes.io/elb.", "canary Ingress of ELB"

local annotations = ingresses.canary_annotations(obj, KIND, PREFIX)

-- Alternatives of one header are its values; of anything else there is one.
local function values_of(matches)
    local name, values = nil, {}
    for _, match in ipairs(matches) do
        local header = ingresses.one_header({match}, KIND)
        if header.type == "RegularExpression" then
            error("no " .. KIND .. " can match headers by regular expression")
        elseif header.name == "canary-by-cookie" and #matches > 1 or name ~= nil and name ~= header.name then
            error("a " .. KIND .. " has one header: alternatives of several cannot be said")
        elseif header.value:find("[*?]") then
            error("to a " .. KIND .. " * and ? stand for letters: " .. header.value .. " cannot be matched exactly")
        end
        name = header.name
        table.insert(values, header.value)
    end
    return name, values
end

if obj.matches ~= nil and #obj.matches > 0 then
    local name, values = values_of(obj.matches)
    if name == "canary-by-cookie" then
        annotations[PREFIX .. "canary-by-cookie"] = ingresses.cookie_name(obj.matches[1].headers[1], KIND)
    else
        annotations[PREFIX .. "canary-by-header"] = name
        annotations[PREFIX .. "canary-by-header-value"] = json.encode({values = values})
    end
    annotations[PREFIX .. "canary-weight"] = nil
end
return annotations
