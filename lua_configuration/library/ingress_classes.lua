-- The class of an Ingress: which controller reads what a script writes.

local ingress_classes = {}

-- The words of other controllers in the names of their classes, and the way to divide their routes.
local OTHERS = {
    traefik = "name its IngressRoute, or an HTTPRoute, in the Rollout",
    contour = "name an HTTPProxy, or an HTTPRoute, in the Rollout",
    istio = "name a VirtualService, or an HTTPRoute, in the Rollout",
    apisix = "name an ApisixRoute, or an HTTPRoute, in the Rollout",
    ambassador = "name a Mapping, or an HTTPRoute, in the Rollout",
    emissary = "name a Mapping, or an HTTPRoute, in the Rollout",
    cilium = "name an HTTPRoute, or a CiliumEnvoyConfig, in the Rollout",
    gce = "name an HTTPRoute in the Rollout",
    azure = "name an HTTPRoute in the Rollout",
    kong = "say classType: kong, or name an HTTPRoute in the Rollout",
    haproxy = "say classType: haproxy",
    alb = "say classType: alb (of AWS) or aliyun-alb",
    skipper = "say classType: skipper, or name a RouteGroup in the Rollout",
    higress = "say classType: higress",
    mse = "say classType: mse",
    cce = "say classType: huawei-elb",
}

---An error if the Ingress's class has the name of another controller, which does not read what this script writes.
---@param obj moonshift.IngressObj
---@param gateway string the gateway's name in messages
---@param own string[] words of classes that the script serves
function ingress_classes.check(obj, gateway, own)
    local spec = (obj.canaryIngress or {}).spec or {}
    local class = spec.ingressClassName or (obj.annotations or {})["kubernetes.io/ingress.class"]
    if type(class) ~= "string" then
        return
    end
    local advice
    for word in class:lower():gmatch("%a+") do
        for _, name in ipairs(own) do
            if word == name then
                return
            end
        end
        advice = advice or OTHERS[word]
    end
    if advice then
        error("the Ingress has the class " .. class .. ", whose controller does not read what is written for " .. gateway
            .. ": " .. advice)
    end
end

return ingress_classes
