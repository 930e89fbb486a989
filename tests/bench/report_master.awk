# Makes the table of `make bench ARGS=master` from the lines of master.txt, which are key=value words: those that
# run_master puts in front (cell, what, way, server, round) and those of master.lua.

{
	delete line
	for (i = 1; i <= NF; i++) {
		at = index($i, "=")
		line[substr($i, 1, at - 1)] = substr($i, at + 1)
	}
	if (line["round"] == 0)
		next
	cell = line["cell"]
	title[cell] = line["what"] ", " (line["way"] == "keep" ? "connections stay" : "one per connection")
	line["cpu_us"] = line["requests"] > 0 ? line["cpu_ms"] * 1000 / line["requests"] : 0
	for (key in line)
		value[cell, line["server"], line["round"], key] = line[key]
	if (line["round"] > rounds)
		rounds = line["round"]
	if (cell > cells)
		cells = cell
	failed[line["server"]] += line["failed"]
	broken[line["server"]] += line["broken"]
}

# Median over the rounds of coopd's requests per second divided by the reference's in the same round.
function ratio(cell,	round, n) {
	n = 0
	for (round = 1; round <= rounds; round++)
		if (value[cell, "bare", round, "requests_s"] > 0 && value[cell, "coopd", round, "requests_s"] > 0)
			list[++n] = value[cell, "coopd", round, "requests_s"] / value[cell, "bare", round, "requests_s"]
	return n ? median_of_list(n) : ""
}

function print_row(cell,	r) {
	r = ratio(cell)
	if (r == "") {
		printf "  %-32s no result\n", title[cell]
		return
	}
	printf "  %-32s %9.0f %9.0f %6.2f  %8.1f %8.1f  %8.0f %8.0f\n", title[cell], median(cell, "bare", "requests_s"),
	       median(cell, "coopd", "requests_s"), r, median(cell, "bare", "p99_us") / 1000,
	       median(cell, "coopd", "p99_us") / 1000, median(cell, "bare", "cpu_us"), median(cell, "coopd", "cpu_us")
}

function print_target(cell, at_least,	is) {
	is = ratio(cell)
	printf "  %-62s %10s  %s\n", sprintf("%s / the HTTP library alone, >= %.2f", title[cell], at_least),
	       (is == "" ? "" : sprintf("%.2f", is)), (is == "" ? "not measured" : (is >= at_least) ? "met" : "NOT MET")
}

END {
	if (rounds == 0) {
		print "Nothing was measured."
		exit 1
	}
	printf "\nThe lobby master with %d lobbies, %d connections at once. Each figure is the median of %d, each measured over %s s.\n",
	       lobbies, at_once, rounds, seconds
	printf "  bytes of the answers: %s\n", sizes
	print  "  ratio    coopd's requests per second, divided by those of the HTTP library alone in the same round"
	print  "  p99 ms   the slowest of a hundred requests; CPU us: processor time of the server per request"
	printf "\n  %-32s %19s %6s  %17s  %17s\n", "", "requests per s", "", "p99 ms", "CPU us"
	printf "  %-32s %9s %9s %6s  %8s %8s  %8s %8s\n", "", "library", "coopd", "ratio", "library", "coopd", "library", "coopd"
	for (cell = 1; cell <= cells; cell++)
		print_row(cell)
	for (server in failed)
		if (failed[server] + broken[server] > 0)
			printf "  NOT CLEAN: %s: %d answers were errors, %d connections broke\n", server, failed[server], broken[server]

	print "\nAgainst the targets (for information)"
	for (cell = 1; cell <= cells; cell++)
		if (title[cell] !~ /^healthz/)
			print_target(cell, 0.85)
}
