# What the reports share: medians over the rounds of value[cell, server, round, key]; `rounds` is how many there are.

# Of list[1..n], which it sorts; by insertion, for n is a number of rounds or cells.
function median_of_list(n,	i, j, x) {
	for (i = 2; i <= n; i++) {
		x = list[i]
		for (j = i - 1; j > 0 && list[j] > x; j--)
			list[j + 1] = list[j]
		list[j + 1] = x
	}
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}

# Over the rounds of a cell; "" when it has none.
function median(cell, server, key,	round, n) {
	n = 0
	for (round = 1; round <= rounds; round++)
		if ((cell, server, round, key) in value)
			list[++n] = value[cell, server, round, key] + 0
	return n ? median_of_list(n) : ""
}
