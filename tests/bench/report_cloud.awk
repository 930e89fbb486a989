# Makes the tables of `make bench ARGS=cloud` from the lines of cloud.txt, which are key=value words: those that
# run_cloud puts in front (what, server, round) and those of lib_repeat.h.

{
	delete line
	for (i = 1; i <= NF; i++) {
		at = index($i, "=")
		line[substr($i, 1, at - 1)] = substr($i, at + 1)
	}
	for (key in line)
		value[line["what"], line["server"], line["round"], key] = line[key]
	if (line["round"] > rounds)
		rounds = line["round"]
}

# Median over the rounds of a's transfers per second divided by b's in the same round.
function ratio(what, a, b,	round, n) {
	n = 0
	for (round = 1; round <= rounds; round++)
		if (value[what, a, round, "transfers_s"] > 0 && value[what, b, round, "transfers_s"] > 0)
			list[++n] = value[what, a, round, "transfers_s"] / value[what, b, round, "transfers_s"]
	return n ? median_of_list(n) : ""
}

function print_row(what, server, name, base,	r) {
	if (median(what, server, "transfers") == "") {
		printf "  %-34s no result\n", name
		return
	}
	r = server == base ? "" : ratio(what, server, base)
	printf "  %-34s %8.1f %8.1f %9.1f %9.1f %9.2f %6s\n", name, median(what, server, "transfers_s"),
	       median(what, server, "transfers_s") * bytes / 1e6, median(what, server, "p50_us") / 1000,
	       median(what, server, "p99_us") / 1000, median(what, server, "cpu_us") / 1000,
	       r == "" ? "" : sprintf("%.2f", r)
}

function print_table(what, title, base, base_name) {
	printf "\n%s\n  %-34s %8s %8s %9s %9s %9s %6s\n", title, "", "per s", "MB/s", "p50 ms", "p99 ms", "CPU ms", "ratio"
	print_row(what, base, base_name, base)
	print_row(what, "ws", "coopd, WebSocket", base)
	print_row(what, "rest", "coopd, REST", base)
}

function print_target(text, is, at_least) {
	printf "  %-62s %10s  %s\n", text, (is == "" ? "" : sprintf("%.2f", is)),
	       (is == "" ? "not measured" : (is >= at_least) ? "met" : "NOT MET")
}

END {
	if (rounds == 0) {
		print "Nothing was measured."
		exit 1
	}
	printf "\nCheckpoints of %.1f MB, %d at once. Each figure is the median of %d, each measured over %s s.\n",
	       bytes / 1e6, at_once, rounds, seconds
	print "  CPU ms   processor time of the server (or of the copying program) per transfer"
	print "  ratio    transfers per second, divided by those of the first row in the same round"
	print_table("upload", "Uploads, each acknowledged only when it is safely on disk", "copy",
	            "copy to the same disk and fsync")
	print_table("download", "Downloads", "static", "a file by the HTTP library alone")

	print "\nAgainst the targets (for information)"
	print_target("uploads over WebSocket / copy and fsync, >= 0.70", ratio("upload", "ws", "copy"), 0.7)
	print_target("uploads over REST / copy and fsync, >= 0.70", ratio("upload", "rest", "copy"), 0.7)
	print_target("downloads over WebSocket / the HTTP library alone, >= 0.80", ratio("download", "ws", "static"), 0.8)
	print_target("downloads over REST / the HTTP library alone, >= 0.80", ratio("download", "rest", "static"), 0.8)
}
