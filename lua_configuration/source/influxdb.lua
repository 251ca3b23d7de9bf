--@name InfluxDB
--@does source
--@asks http, https
--@secrets token
--@params query, address, org
--@use exchange
--@docs https://docs.influxdata.com/influxdb/v2/api/v2/#operation/PostQuery
-- The query is Flux; $from and $to in it are the seconds of the window. The answer is a table as CSV.
if not obj.answers then
    return {ask = {{
        method = "POST", url = obj.params.address .. "/api/v2/query", query = {org = obj.params.org},
        headers = {Authorization = "Token " .. obj.secrets.token, Accept = "application/csv",
            ["Content-Type"] = "application/vnd.flux"},
        body = (obj.params.query:gsub("%$from", obj.window.from):gsub("%$to", obj.window.to)),
    }}}
end
local values, tables, column, number = {}, {}, nil, nil
for line in (exchange.accept(obj.answers[1], "InfluxDB") .. "\n"):gmatch("(.-)\r?\n") do
    local cells = {}
    for cell in (line .. ","):gmatch("([^,]*),") do cells[#cells + 1] = cell end
    if cells[1] == "error" then column = "error"
    elseif column == "error" then exchange.fail("InfluxDB", line:match('^"?(.-)"?,[^,]*$'))
    elseif not column and cells[2] == "result" then
        for place, name in ipairs(cells) do
            if name == "_value" then column = place elseif name == "table" then number = place end
        end
    elseif line == "" then column = nil
    elseif column and not line:find("^#") then
        if tables[#tables] ~= cells[number] then tables[#tables + 1] = cells[number] end
        values[#values + 1] = cells[column]
    end
end
exchange.one(tables, "InfluxDB")
return exchange.newest(values)
