"""A script that starts a load test of another system once, and then looks at it by its state."""

LOAD_TEST = """--@does check
--@asks http
--@params address
local tests = obj.params.address .. "/tests"
if not obj.answers then
    if obj.state then return {ask = {{url = tests .. "/" .. obj.state.run}}, state = obj.state} end
    return {ask = {{url = tests, json = {key = obj.id, rollout = obj.release.rollout}}}}
end
local run = json.decode(obj.answers[1].body)
if not obj.state then return {ask = {{url = tests .. "/" .. run.id}}, state = {run = run.id}} end
if run.done then return {pass = "run " .. run.id .. " is good"} end
return {hold = "run " .. run.id .. " goes on", again = 5, state = obj.state}
"""
