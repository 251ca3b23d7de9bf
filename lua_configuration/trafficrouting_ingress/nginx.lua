--@name ingress-nginx
--@can weight,header,header-regex,cookie,both
--@regex pcre
--@use ingresses, ingress_classes
--
-- A canary Ingress beside the owner's: at most one is looked at for a path. Its header is asked first, and its cookie where the
-- header does not hold: one of each are alternatives. Two headers that hold together and other alternatives are refused.
-- An expression is written as it is and searched for (PCRE): whoever means the whole value says ^ and $.
-- What matches goes to the new version; of the rest, where the step has a share too, that share.
-- Traefik (from 3.7) and others that read these annotations are served as well.

local PREFIX, KIND = "nginx.ingress.kubernetes.io/", "canary Ingress of ingress-nginx"
ingress_classes.check(obj, "ingress-nginx", {"nginx"})

-- One alternative is a cookie alone, the other a header alone.
local function header_and_cookie(matches)
    local cookies = 0
    for _, match in ipairs(matches) do
        local headers = match.headers or {}
        if #headers ~= 1 or match.path or match.method or #(match.queryParams or {}) > 0 then
            return false
        elseif headers[1].name == "canary-by-cookie" then
            cookies = cookies + 1
        end
    end
    return #matches == 2 and cookies == 1
end

local annotations, wanted = ingresses.canary_annotations(obj, KIND, PREFIX), obj.matches or {}
if header_and_cookie(wanted) then
    ingresses.match_header(annotations, KIND, PREFIX, wanted[1].headers[1])
    ingresses.match_header(annotations, KIND, PREFIX, wanted[2].headers[1])
elseif #wanted > 0 then
    ingresses.match_header(annotations, KIND, PREFIX, ingresses.one_header(wanted, KIND))
end
return annotations
