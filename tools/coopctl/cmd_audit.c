/* coopctl audit: what operators did. */
#include "coopctl/list.h"

static enum ctl_exit run_audit(struct ctl *c)
{
	static const struct print_column columns[] = {
		{ "ID", "id", PRINT_NUMBER },         { "AT", "at", PRINT_AGO },
		{ "WHO", "who", PRINT_TEXT },         { "VIA", "via", PRINT_TEXT },
		{ "ADDRESS", "address", PRINT_TEXT }, { "ACTION", "action", PRINT_TEXT },
		{ "TARGET", "target", PRINT_TEXT },   { "RESULT", "result", PRINT_STATE },
		{ "DETAIL", "detail", PRINT_TEXT },   { 0 },
	};

	return list_run(c, "/audit", columns, "The audit trail has nothing like that.");
}

static const struct ctl_option options[] = {
	{ .name  = "who",
	  .value = "WHO",
	  .help  = "done by whose name has this in it: root, or a token's name",
	  .query = "who" },
	{ .name  = "action",
	  .value = "ACTION",
	  .help  = "of this name, campaign.revoke, or of this kind, campaign",
	  .query = "action" },
	{ .name = "target", .value = "TARGET", .help = "done to what has this in its name", .query = "target" },
	{ .name  = "since",
	  .value = "WHEN",
	  .kind  = CTL_MOMENT,
	  .help  = "from then on: 2h (ago), 2026-12-01, 2026-12-01T09:30:00Z",
	  .query = "since" },
	{ .name = "until", .value = "WHEN", .kind = CTL_MOMENT, .help = "up to then", .query = "until" },
	LIST_LIMIT,
	{ 0 },
};

static const struct ctl_command commands[] = {
	{ "", "", "show what operators did, newest first",
	  "Each action stands there from before it begins: a RESULT of begun is one that is going on, or that the "
	  "server did not live to end. Nobody can change the trail by coopctl.",
	  options,
	  "coopctl audit --limit 20\ncoopctl audit --since 2h --action campaign.revoke\ncoopctl audit --who root "
	  "--json",
	  run_audit },
	{ 0 },
};
const struct ctl_group ctl_audit = { "audit", "what operators did, when, from where", commands };
