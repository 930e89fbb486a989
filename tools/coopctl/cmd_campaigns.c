/* coopctl campaigns: what is stored of players' games. The file with actions is campaigns_act.c. */
#include "coopctl/campaigns.h"

#include "coopctl/list.h"
#include "coopctl/name.h"

#include "base/auto.h"

static const struct print_column columns[] = {
	{ "ID", "id", PRINT_TEXT },
	{ "NAME", "name", PRINT_TEXT },
	{ "LEVEL", "level", PRINT_TEXT },
	{ "OWNER", "owner", PRINT_TEXT },
	{ "MEMBERS", "members", PRINT_NUMBER },
	{ "VERSION", "version", PRINT_NUMBER },
	{ "SIZE", "bytes", PRINT_BYTES },
	{ "STORED", "stored_at", PRINT_AGO },
	{ 0 },
};

static const struct print_column trash_columns[] = {
	{ "ID", "id", PRINT_TEXT },           { "NUMBER", "number", PRINT_NUMBER },   { "NAME", "name", PRINT_TEXT },
	{ "LEVEL", "level", PRINT_TEXT },     { "OWNER", "owner", PRINT_TEXT },       { "SIZE", "bytes", PRINT_BYTES },
	{ "STORED", "stored_at", PRINT_AGO }, { "TRASHED", "trashed_at", PRINT_AGO }, { 0 },
};

static enum ctl_exit run_list(struct ctl *c)
{
	return list_run(c, "/campaigns", ctl_given(c, "trash") ? trash_columns : columns, "There is no such campaign.");
}

static const struct print_column fields[] = {
	{ "Id", "id", PRINT_TEXT },
	{ "Name", "name", PRINT_TEXT },
	{ "Level", "level", PRINT_TEXT },
	{ "Checkpoint", "checkpoint", PRINT_TEXT },
	{ "Host's name", "hostname", PRINT_TEXT },
	{ "Owner", "owner", PRINT_TEXT },
	{ "Newest version", "version", PRINT_TEXT },
	{ "Size", "bytes", PRINT_BYTES },
	{ "  at most", "quota.bytes.max", PRINT_BYTES },
	{ "A checkpoint at most", "quota.checkpoint.max", PRINT_BYTES },
	{ "Made", "made_at", PRINT_TIME },
	{ "Stored", "stored_at", PRINT_TIME },
	{ "Used", "used_at", PRINT_TIME },
	{ "In the trash since", "trashed_at", PRINT_TIME },
	{ "Its number there", "number", PRINT_TEXT },
	{ "Uploads now", "uploads", PRINT_TEXT },
	{ "Downloads now", "downloads", PRINT_TEXT },
	{ 0 },
};

static const struct print_column members[] = {
	{ "PLAYER", "player", PRINT_TEXT },
	{ "STATE", "state", PRINT_STATE },
	{ "USED IT", "used", PRINT_YES },
	{ 0 },
};

static const struct print_column checkpoints[] = {
	{ "VERSION", "version", PRINT_NUMBER },
	{ "SIZE", "bytes", PRINT_BYTES },
	{ "STORED", "stored_at", PRINT_AGO },
	{ "BY", "by", PRINT_TEXT },
	{ "NAME", "name", PRINT_TEXT },
	{ "LEVEL", "level", PRINT_TEXT },
	{ "CHECKPOINT", "checkpoint", PRINT_TEXT },
	{ "SMALL", "small", PRINT_YES },
	{ "CONFLICT", "conflict", PRINT_YES },
	{ 0 },
};

static enum ctl_exit run_show(struct ctl *c)
{
	static const struct list_inside lists[] = { { "Members", "member_list", members },
		                                    { "Checkpoints", "checkpoint_list", checkpoints },
		                                    { 0 } };
	struct ctl_name                 campaign;
	enum ctl_exit                   e = ctl_name_campaign(&campaign, c, ctl_arg(c, 0), "also");

	if (e != CTL_OK)
		return e;

	AUTO(auto_free)
	char *path = client_query(client_path("/campaigns/%s", campaign.id), "number", ctl_value(c, "number"));

	return list_show(c, path, fields, lists);
}

static const struct ctl_option list_options[] = {
	{ .name = "find", .value = "TEXT", .help = "with this in the name, or an id that begins so", .query = "q" },
	{ .name = "owner", .value = "PLAYER", .help = "owned by the player of this id", .query = "owner" },
	{ .name = "member", .value = "PLAYER", .help = "with this player as a member", .query = "member" },
	{ .name = "level", .value = "LEVEL", .help = "with this in the level", .query = "level" },
	{ .name  = "min-bytes",
	  .value = "SIZE",
	  .kind  = CTL_BYTES,
	  .help  = "at least so large, 10M",
	  .query = "min_bytes" },
	{ .name = "max-bytes", .value = "SIZE", .kind = CTL_BYTES, .help = "at most so large", .query = "max_bytes" },
	{ .name  = "older-than",
	  .value = "DAYS",
	  .kind  = CTL_DAYS,
	  .help  = "stored longer ago, 30d",
	  .query = "older_than_days" },
	{ .name  = "newer-than",
	  .value = "DAYS",
	  .kind  = CTL_DAYS,
	  .help  = "stored since then, 7d",
	  .query = "newer_than_days" },
	{ .name  = "trash",
	  .value = "WHICH",
	  .help  = "those in the trash: no, only these, or also",
	  .words = "no only also",
	  .query = "trash" },
	LIST_LIMIT,
	{ 0 },
};

#define NUMBER                                                                                        \
	{                                                                                             \
		.name = "number", .value = "N", .kind = CTL_NUMBER,                                   \
		.help = "which, when the trash has several of one id (list --trash); else the newest" \
	}

static const struct ctl_option show_options[] = { NUMBER, { 0 } };

static const struct ctl_option download_options[] = {
	{ .name = "output", .letter = 'o', .value = "FILE", .help = "where to; - is standard output" },
	{ .name = "of-version", .value = "N", .kind = CTL_NUMBER, .help = "an older checkpoint, as show lists them" },
	NUMBER,
	{ 0 },
};

static const struct ctl_option unrevoke_options[] = { NUMBER, { 0 } };

static const struct ctl_option transfer_options[] = {
	{ .name = "force", .help = "also when the new owner has no room for it" },
	{ 0 },
};

#define WHICH                                                                                                    \
	"CAMPAIGN is an id, the beginning of one, or a part of the name. When several fit they are listed, and " \
	"nothing is done; one that is called exactly so goes before others."

static const struct ctl_command commands[] = {
	{ "list", "", "list campaigns, newest first", NULL, list_options,
	  "coopctl campaigns\ncoopctl campaigns --find island\ncoopctl campaigns --owner 00112233445566aa --min-bytes "
	  "10M\n"
	  "coopctl campaigns --trash only --json",
	  run_list },
	{ "show", "CAMPAIGN", "show one with its members and checkpoints", WHICH, show_options,
	  "coopctl campaigns show island\ncoopctl campaigns show 0123456789abcdef", run_show },
	{ "download", "CAMPAIGN", "fetch a checkpoint", WHICH "\n\nA file that is there already is asked about.",
	  download_options,
	  "coopctl campaigns download island -o island.bin\ncoopctl campaigns download island --of-version 3 -o - | "
	  "sha256sum",
	  campaigns_download },
	{ "revoke", "CAMPAIGN", "move a campaign to the trash",
	  WHICH "\n\nUploads and downloads of it end with an error. unrevoke brings it back.", NULL,
	  "coopctl campaigns revoke \"bad words\"\ncoopctl campaigns revoke 0123456789abcdef --yes", campaigns_revoke },
	{ "unrevoke", "CAMPAIGN", "take a campaign out of the trash", WHICH, unrevoke_options,
	  "coopctl campaigns unrevoke island", campaigns_unrevoke },
	{ "purge", "CAMPAIGN", "remove for good what the trash has of a campaign", WHICH, NULL,
	  "coopctl campaigns purge island", campaigns_purge },
	{ "transfer", "CAMPAIGN PLAYER", "give a campaign to another owner",
	  WHICH "\n\nPLAYER is an id or a code. The old owner becomes a member.", transfer_options,
	  "coopctl campaigns transfer island 00112233445566aa", campaigns_transfer },
	{ "add-member", "CAMPAIGN PLAYER", "make a player a member", WHICH, NULL,
	  "coopctl campaigns add-member island 123456", campaigns_add_member },
	{ "remove-member", "CAMPAIGN PLAYER", "take a member out, for good", WHICH, NULL,
	  "coopctl campaigns remove-member island 00112233445566aa", campaigns_remove_member },
	{ "restore", "CAMPAIGN VERSION", "make an older checkpoint the newest",
	  WHICH "\n\nVERSION stands in show. Nothing is lost: those after it stay, as older ones.", NULL,
	  "coopctl campaigns show island  # which there are\ncoopctl campaigns restore island 3", campaigns_restore },
	{ 0 },
};
const struct ctl_group ctl_campaigns = { "campaigns",
	                                 "stored campaigns: search, show, download, revoke, members, restore",
	                                 commands };
