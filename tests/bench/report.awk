# Makes the tables of `make bench` from the lines of results.txt, which are key=value words: those that tests/bench/run
# puts in front (cell, kind, server, round), those of load.c, and the relay's syscalls_per_datagram.

{
	delete line
	for (i = 1; i <= NF; i++) {
		at = index($i, "=")
		line[substr($i, 1, at - 1)] = substr($i, at + 1)
	}
	cell = line["cell"]
	if (cell > cells)
		cells = cell
	kind[cell] = line["kind"]
	label[cell] = describe()
	line["rss_mb"] = line["rss"] / 1048576
	line["idle_bytes"] = line["idle"] > 0 ? (line["rss"] - line["rss_start"]) / line["idle"] : 0
	for (key in line)
		value[cell, line["server"], line["round"], key] = line[key]
	lost[cell, line["server"]] += line["lost"]
	begun[cell, line["server"]] += line["sent"]
	if (line["round"] > rounds)
		rounds = line["round"]
}

function describe(	text) {
	if (line["games"] > 0)
		text = line["games"] "x" line["friends"] " " line["bytes"] " B, " \
		       (line["flight"] > 0 ? line["flight"] " in flight" : sprintf("%.4g/s", line["rate"]))
	if (line["idle"] > 0)
		text = text (text ? ", " : "") line["idle"] " idle"
	return text
}

# Median over the rounds of a's value divided by b's in the same round: what disturbed the round disturbed both.
function ratio(cell, a, b, key,	round, n) {
	n = 0
	for (round = 1; round <= rounds; round++)
		if (value[cell, a, round, key] > 0 && value[cell, b, round, key] > 0)
			list[++n] = value[cell, a, round, key] / value[cell, b, round, key]
	return n ? median_of_list(n) : ""
}

function print_row(cell, server,	r) {
	if (median(cell, server, "datagrams") == "") {
		printf "  %-36s %-6s no result\n", label[cell], server
		return
	}
	r = server == "coopd" ? ratio(cell, "relay", "coopd", "cpu_us") : ""
	printf "  %-36s %-6s %9.0f %7.2f %7.2f %7.2f %8.2f %7.2f %6.1f %6.2f%% %5s\n", \
	       server == "relay" ? label[cell] : "", server, median(cell, server, "datagrams_s"), \
	       median(cell, server, "cpu_us"), median(cell, server, "p50_us") / 1000, \
	       median(cell, server, "p99_us") / 1000, median(cell, server, "p999_us") / 1000, \
	       median(cell, server, "lag_p99_us") / 1000, median(cell, server, "rss_mb"), \
	       begun[cell, server] ? 100 * lost[cell, server] / begun[cell, server] : 0, \
	       r == "" ? "" : sprintf("%.2f", r)
}

function print_table(of_kind, title,	cell, rows) {
	rows = 0
	for (cell = 1; cell <= cells; cell++) {
		if (kind[cell] != of_kind)
			continue
		if (rows++ == 0)
			printf "\n%s\n  %-36s %-6s %9s %7s %7s %7s %8s %7s %6s %7s %5s\n", title, \
			       "games x friends, datagram", "server", "dgrams/s", "us CPU", "p50 ms", "p99 ms", \
			       "p99.9 ms", "late ms", "RSS MB", "lost", "ratio"
		print_row(cell, "relay")
		print_row(cell, "coopd")
	}
}

# One line of the summary. met is 1 or 0, and does not matter when there is no figure.
function print_target(text, is, format, met) {
	printf "  %-62s %10s  %s\n", text, is == "" ? "" : sprintf(format, is), \
	       is == "" ? "not measured" : met ? "met" : "NOT MET"
}

# The median (or with lowest, the minimum) of the processor time ratios of the cells of two kinds.
function ratios(kind1, kind2, lowest,	cell, n, r, kept, i) {
	n = 0
	for (cell = 1; cell <= cells; cell++) {
		if (kind[cell] != kind1 && kind[cell] != kind2)
			continue
		r = ratio(cell, "relay", "coopd", "cpu_us")
		if (r != "")
			kept[++n] = r
	}
	if (n == 0)
		return ""
	for (i = 1; i <= n; i++)
		list[i] = kept[i]
	r = median_of_list(n)
	return lowest ? list[1] : r
}

function worst_p99(	cell, worst, r) {
	worst = ""
	for (cell = 1; cell <= cells; cell++) {
		r = kind[cell] == "half" ? ratio(cell, "coopd", "relay", "p99_us") : ""
		if (r != "" && (worst == "" || r > worst))
			worst = r
	}
	return worst
}

# At one datagram in flight and four friends per host: the cell in which the least can be put together.
function relay_calls(	cell) {
	for (cell = 1; cell <= cells; cell++)
		if (kind[cell] == "closed" && label[cell] ~ /^50x4 .* 1 in flight/)
			return median(cell, "relay", "syscalls_per_datagram")
	return ""
}

function idle_bytes(server,	cell) {
	for (cell = 1; cell <= cells; cell++)
		if (kind[cell] == "memory")
			return median(cell, server, "idle_bytes")
	return ""
}

END {
	if (cells == 0) {
		print "Nothing was measured."
		exit 1
	}
	printf "\nEach figure is the median of %d, each measured over %s s.\n", rounds, seconds
	print "  us CPU   processor time of the server per datagram"
	print "  late     by how much the generator itself was late, p99: round trips not far above it are the generator's"
	print "  ratio    datagrams per processor second, coopd's divided by the relay's in the same round"
	if (self)
		print "  BENCH_SELF: what is called coopd here is the relay again; every ratio should be 1.00."
	print_table("closed", "Closed loop: each friend keeps that many datagrams under way")
	print_table("beside", "The same beside idle connections")
	print_table("paced", "Paced: each friend sends at that rate")
	print_table("half", "Paced at half of what the relay reaches in the closed loop")

	relay = idle_bytes("relay")
	coopd = idle_bytes("coopd")
	if (relay != "" && coopd != "")
		printf "\nResident memory per idle connection: relay %.0f bytes, coopd %.0f bytes\n", relay, coopd

	print "\nAgainst the targets (for information)"
	print_target("relay: system calls per datagram, 50x4, 1 in flight, <= 1.40", r = relay_calls(), "%.2f", r <= 1.4)
	print_target("ratio, median, closed and paced, >= 0.70", r = ratios("closed", "paced", 0), "%.2f", r >= 0.7)
	print_target("ratio, lowest, closed and paced, >= 0.55", r = ratios("closed", "paced", 1), "%.2f", r >= 0.55)
	print_target("ratio beside 8,000 idle connections, >= 0.85", r = ratios("beside", "", 0), "%.2f", r >= 0.85)
	print_target("p99 at half load, coopd / relay, worst cell, <= 1.20", r = worst_p99(), "%.2f", r <= 1.2)
	print_target("memory per idle connection, <= 10 KB", r = coopd == "" ? "" : coopd / 1024, "%.1f KB", r <= 10)
}
