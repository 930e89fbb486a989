-- What wrk asks the lobby master, or master_baseline, for.
--
--	wrk ... -s master.lua URL -- WHAT WAY PATH FILE
--
-- WHAT: list, join, heartbeat, healthz; WAY: keep (connections stay open) or close (one request per connection).  PATH is
-- where to ask: the reference is asked the same at /N.  Joins and heartbeats go round the lobbies of FILE (see master.c).
-- One line comes out, of key=value words.

local requests = {}
local at = 0

local function body_of(what, id, session, token)
	if what == "join" then
		return string.format('{"lobbyId":"%s"}', id)
	end
	return string.format('{"sessionId":"%s","token":"%s","players_cur":1}', session, token)
end

function init(args)
	local what, way, path, file = args[1], args[2], args[3], args[4]
	local fields = {}

	if way == "close" then
		fields["Connection"] = "close"
	end
	if what == "list" or what == "healthz" then
		requests[1] = wrk.format("GET", path, fields)
		return
	end
	fields["Content-Type"] = "application/json"
	for line in io.lines(file) do
		local id, session, token = line:match("(%S+) (%S+) (%S+)")
		requests[#requests + 1] = wrk.format("POST", path, fields, body_of(what, id, session, token))
	end
end

function request()
	at = at % #requests + 1
	return requests[at]
end

function done(summary, latency)
	local e = summary.errors
	local seconds = summary.duration / 1e6

	io.write(string.format("requests=%d requests_s=%.1f p50_us=%d p99_us=%d MB_s=%.1f failed=%d broken=%d\n",
		summary.requests, summary.requests / seconds, latency:percentile(50), latency:percentile(99),
		summary.bytes / seconds / 1e6, e.status, e.connect + e.read + e.write + e.timeout))
end
