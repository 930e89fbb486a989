# Makes the tables of `make bench ARGS=rooms` from the lines of rooms.txt, which are key=value words: those that run_rooms
# puts in front (cell, server, round) and those of rooms.c.

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

# Median over the rounds of what coopd does in a second of processor time, divided by what the other does.
function ratio(cell, other,	round, n, bare, coopd) {
	n = 0
	for (round = 1; round <= rounds; round++) {
		bare  = value[cell, other, round, "cpu_us"]
		coopd = value[cell, "coopd", round, "cpu_us"]
		if (bare > 0 && coopd > 0)
			list[++n] = bare / coopd
	}
	return n ? median_of_list(n) : ""
}

# The same of a figure in two cells of coopd.
function change(cell, from, key,	round, n) {
	n = 0
	for (round = 1; round <= rounds; round++)
		if (value[from, "coopd", round, key] > 0 && value[cell, "coopd", round, key] > 0)
			list[++n] = value[cell, "coopd", round, key] / value[from, "coopd", round, key]
	return n ? median_of_list(n) : ""
}

function print_row(cell, server, name,	r) {
	if (median(cell, server, "ops_s") == "")
		return
	r = server == "coopd" ? ratio(cell, "bare") : ""
	printf "  %-32s %11.0f %8.0f %8.0f %8.2f %6.2f %6s %6s\n", name, median(cell, server, "ops_s"),
	       median(cell, server, "p50_us"), median(cell, server, "p99_us"), median(cell, server, "cpu_us"),
	       median(cell, server, "cpu_share"), r == "" ? "" : sprintf("%.2f", r), median(cell, server, "lost")
}

function print_table(cell, title) {
	if (median(cell, "coopd", "ops_s") == "" && median(cell, "none", "ops_s") == "")
		return
	printf "\n%s\n  %-32s %11s %8s %8s %8s %6s %6s %6s\n", title, "", "per s", "p50 us", "p99 us", "CPU us", "share", "ratio", "lost"
	print_row(cell, "bare", "a bare echo")
	print_row(cell, "batch", "a bare echo, many in one call")
	print_row(cell, "coopd", "coopd")
	print_row(cell, "none", "without a server")
}

function print_target(text, is, bound, is_most) {
	printf "  %-72s %8s  %s\n", text, (is == "" ? "" : sprintf("%.2f", is)),
	       (is == "" ? "not measured" : (is_most ? is <= bound : is >= bound) ? "met" : "NOT MET")
}

END {
	if (rounds == 0) {
		print "Nothing was measured."
		exit 1
	}
	printf "\nThe rooms. Each figure is the median of %d, each measured over %s s.\n", rounds, seconds
	print "  CPU us   processor time of the server per request, delivered message, datagram or megabyte"
	print "  share    of one processor"
	print "  ratio    what a second of processor time is good for, divided by what it is for the bare echo"
	print_table("requests200", "Requests, 200 players, one under way each")
	print_table("requests1000", "Requests, 1000 players")
	print_table("messages200", "Messages of 64 bytes in rooms of four, 200 players, one under way per room")
	print_table("messages1000", "The same, 1000 players")
	print_table("paced200", "3000 such messages per second, 200 players")
	print_table("deaf200", "The same, and one of them does not read")
	print_table("flood200", "The same, and 200,000 probes per second with a wrong token from one address")
	print_table("probes200", "Probes, 200 players, four under way each")
	print_table("probes1000", "Probes, 1000 players")
	print_table("relay200", "Relayed datagrams of 64 bytes, 200 players, four under way per pair")
	print_table("relay1000", "Relayed datagrams of 64 bytes, 1000 players")
	print_table("scores", "20,000 better scores and 20,000 rankings of ten rows per second, board of 100,000; p50 and p99 of a room beside")
	print_table("streams1", "A stream, in megabytes")
	print_table("direct1", "The same without a server")
	print_table("streams16", "16 streams, in megabytes")
	print_table("direct16", "The same without a server")

	print "\nAgainst the targets (for information)"
	print_target("probes per processor second / bare echo, 200 players, >= 0.80", ratio("probes200", "bare"), 0.8)
	print_target("  and of 1000", ratio("probes1000", "bare"), 0.8)
	print_target("  200, beside an echo of many in one call (no target)", ratio("probes200", "batch"), 0)
	print_target("relayed datagrams per processor second / bare echo, 200, >= 0.80", ratio("relay200", "bare"), 0.8)
	print_target("  and of 1000", ratio("relay1000", "bare"), 0.8)
	print_target("requests per processor second / bare echo, 200 players, >= 0.70", ratio("requests200", "bare"), 0.7)
	print_target("  and of 1000", ratio("requests1000", "bare"), 0.7)
	print_target("p99 of messages beside scores and rankings, ms, < 5", median("scores", "coopd", "p99_us") == "" ? "" : median("scores", "coopd", "p99_us") / 1000, 5, 1)
	print_target("scores and rankings that were done, of 40,000 per second, >= 39,900", median("scores", "coopd", "ops_s"), 39900)
	print_target("p99 of messages, one does not read / all read, <= 1.5", change("deaf200", "paced200", "p99_us"), 1.5, 1)
	print_target("p99 of messages in a flood of probes / without, <= 2", change("flood200", "paced200", "p99_us"), 2, 1)
}
