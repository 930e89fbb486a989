# Makes the tables of `make bench ARGS=signal` from the lines of signal.txt, which are key=value words: those that
# run_signal puts in front (cell, server, round) and those of signal.c and lib_repeat.h.

{
	delete line
	for (i = 1; i <= NF; i++) {
		at = index($i, "=")
		line[substr($i, 1, at - 1)] = substr($i, at + 1)
	}
	if ("transfers_s" in line) # registrations
		line["lines_s"] = line["transfers_s"]
	for (key in line)
		value[line["cell"], line["server"], line["round"], key] = line[key]
	if (line["round"] > rounds)
		rounds = line["round"]
}

# Median over the rounds of what coopd does in a second of processor time, divided by what the bare relay does.
function ratio(cell,	round, n, bare, coopd) {
	n = 0
	for (round = 1; round <= rounds; round++) {
		bare  = value[cell, "bare", round, "cpu_us"]
		coopd = value[cell, "coopd", round, "cpu_us"]
		if (bare > 0 && coopd > 0)
			list[++n] = bare / coopd
	}
	return n ? median_of_list(n) : ""
}

function print_row(cell, server, name,	r) {
	if (median(cell, server, "lines_s") == "") {
		printf "  %-28s no result\n", name
		return
	}
	r = server == "bare" ? "" : ratio(cell)
	printf "  %-28s %10.0f %9.0f %9.0f %9.2f %6s %6s\n", name, median(cell, server, "lines_s"), median(cell, server, "p50_us"),
	       median(cell, server, "p99_us"), median(cell, server, "cpu_us"),
	       r == "" ? "" : sprintf("%.2f", r), median(cell, server, "lost")
}

function print_table(cell, title) {
	printf "\n%s\n  %-28s %10s %9s %9s %9s %6s %6s\n", title, "", "per s", "p50 us", "p99 us", "CPU us", "ratio", "lost"
	print_row(cell, "bare", "a bare relay of lines")
	print_row(cell, "coopd", self == "" ? "coopd" : "a bare relay, once more")
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
	printf "\nSignaling with 500 peers. Each figure is the median of %d, each measured over %s s.\n", rounds, seconds
	print "  CPU us   processor time of the server per line, or per registration"
	print "  ratio    what a second of processor time is good for, divided by what it is for the bare relay"
	print_table("lines64", "Lines of 64 bytes, each answered by the next")
	print_table("lines4000", "Lines of 4000 bytes, each answered by the next")
	print_table("paced64", "Lines of 64 bytes, 15 per peer and second")
	print_table("register", "Registrations, 8 at a time, from connecting to the first self test (the bare relay checks no proof)")

	print "\nAgainst the targets (for information)"
	print_target("lines of 64 bytes per processor second / bare relay, >= 0.80", ratio("lines64"), 0.8)
	print_target("lines of 4000 bytes per processor second / bare relay, >= 0.80", ratio("lines4000"), 0.8)
}
