-- wrk's side of the load: PUTs of one size, or GETs, over paths that belong to one thread
-- each, so that the tokens of a path rise with time if they rise at all.
--
-- Arguments after the URL:
--   1  what all paths begin with; they end in /tTHREAD/NUMBER, both from 0
--   2  how many paths each thread has
--   3  bytes of a body
--   4  "equal": all requests carry the token; "rising": each thread counts up from it;
--      "none": they carry none
--   5  the token, decimal, below 2^53
--   6  the method, PUT or GET
--
-- The last line of the output is one JSON object; see wrk.go.

local threads = {}

function setup(thread)
   thread:set("id", #threads)
   table.insert(threads, thread)
end

function init(args)
   local prefix, size, method = args[1], tonumber(args[3]), args[6]
   paths, rising, token = tonumber(args[2]), args[4] == "rising", tonumber(args[5])
   sent = 0
   local more = ""
   body = "\r\n\r\n"
   if method == "PUT" then
      more = string.format("Content-Type: application/octet-stream\r\nContent-Length: %d\r\n", size)
      body = body .. string.rep("x", size)
   end
   begin = {}
   for i = 0, paths - 1 do
      local head = string.format("%s %s/t%d/%d HTTP/1.1\r\n%sHost: %s:%s", method, prefix, id, i, more, wrk.host, wrk.port)
      if args[4] ~= "none" then head = head .. "\r\nX-Fencing-Token: " end
      if args[4] == "equal" then head = head .. string.format("%.0f", token) end
      if not rising then head = head .. body end
      begin[i] = head
   end
end

function request()
   local path = sent % paths
   sent = sent + 1
   if not rising then return begin[path] end
   token = token + 1
   return begin[path] .. string.format("%.0f", token) .. body
end

-- No function "response": with one, wrk would hand every answer to Lua.

function done(summary, latency, requests)
   local e = summary.errors
   io.write(string.format('{"requests":%d,"micros":%d,"p50":%d,"p99":%d,"bytes":%d,"status":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d}\n',
      summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), summary.bytes,
      e.status, e.connect, e.read, e.write, e.timeout))
end
