# Makes the tables of `make bench ARGS=p2p` from the lines of p2p.txt, which are key=value words: those that run_p2p puts in
# front (cell, server, round) and those of p2p.c.

{
	delete line
	for (i = 1; i <= NF; i++) {
		at = index($i, "=")
		line[substr($i, 1, at - 1)] = substr($i, at + 1)
	}
	for (key in line)
		value[line["cell"], line["server"], line["round"], key] = line[key]
	if (line["round"] > rounds)
		rounds = line["round"]
}

# Median over the rounds of what one does in a second of processor time, divided by what the other does.
function ratio(cell, server, other_cell, other,	round, n, mine, theirs) {
	n = 0
	for (round = 1; round <= rounds; round++) {
		mine   = value[cell, server, round, "cpu_us"]
		theirs = value[other_cell, other, round, "cpu_us"]
		if (mine > 0 && theirs > 0)
			list[++n] = theirs / mine
	}
	return n ? median_of_list(n) : ""
}

function print_row(cell, server, name, r) {
	if (median(cell, server, "ops_s") == "")
		return
	printf "  %-32s %11.0f %8.0f %8.0f %8.2f %6.2f %6s %6s", name, median(cell, server, "ops_s"),
	       median(cell, server, "p50_us"), median(cell, server, "p99_us"), median(cell, server, "cpu_us"),
	       median(cell, server, "cpu_share"), r == "" ? "" : sprintf("%.2f", r), median(cell, server, "lost")
	if (median(cell, server, "frames") != "")
		printf " %10.0f %7.2f", median(cell, server, "messages_s"), median(cell, server, "frames")
	print ""
}

function print_head(title, more) {
	printf "\n%s\n  %-32s %11s %8s %8s %8s %6s %6s %6s%s\n", title, "", "per s", "p50 us", "p99 us", "CPU us", "share",
	       "ratio", "lost", more
}

function print_table(cell, title) {
	if (median(cell, "coopd", "ops_s") == "")
		return
	print_head(title, "")
	print_row(cell, "bare", "a bare echo", "")
	print_row(cell, "batch", "a bare echo, many in one call", "")
	print_row(cell, "coopd", "coopd", ratio(cell, "coopd", cell, "bare"))
}

function print_target(text, is, bound) {
	printf "  %-72s %8s  %s\n", text, (is == "" ? "" : sprintf("%.2f", is)),
	       (is == "" ? "not measured" : is >= bound ? "MET" : "NOT MET")
}

END {
	if (rounds == 0) {
		print "Nothing was measured."
		exit 1
	}
	printf "\nPeer to peer. Each figure is the median of %d, each measured over %s s.\n", rounds, seconds
	print "  CPU us   processor time of the server per answer or delivered message"
	print "  share    of one processor"
	print "  ratio    what a second of processor time is good for, divided by what it is for the bare echo (or straight)"
	print_table("stun", "STUN, 20 bytes and 68 back, 64 addresses, four under way each")
	print_table("hello", "HELLO, 64 bytes and 64 back, 64 sessions, four under way each")
	if (median("straight", "coopd", "ops_s") != "" || median("leaders", "coopd", "ops_s") != "") {
		print_head("Link messages of 64 bytes, a room of 64, eight under way; per s and CPU of those delivered",
		           "   messages  frames")
		print_row("straight", "coopd", "straight", "")
		print_row("leaders", "coopd", "through leaders, groups of 8", ratio("leaders", "coopd", "straight", "coopd"))
	}

	print "\nAgainst the targets (for information)"
	print_target("STUN answers per processor second / bare echo, >= 0.80", ratio("stun", "coopd", "stun", "bare"), 0.8)
	print_target("HELLOs per processor second / bare echo, >= 0.80", ratio("hello", "coopd", "hello", "bare"), 0.8)
}
