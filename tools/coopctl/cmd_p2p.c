/* coopctl p2p: peer to peer, sessions and rooms. */
#include "coopctl/act.h"
#include "coopctl/list.h"

#include "base/auto.h"

static enum ctl_exit run_sessions(struct ctl *c)
{
	static const struct print_column columns[] = {
		{ "PLAYER", "player", PRINT_TEXT },
		{ "ROOM", "room", PRINT_TEXT },
		{ "SEAT", "seat", PRINT_NUMBER },
		{ "ADDRESS", "address", PRINT_TEXT },
		{ "NAT", "nat", PRINT_TEXT },
		{ "MAPPED", "mapped", PRINT_TEXT },
		{ "LATENCY", "latency_ms", PRINT_MS },
		{ "SINCE", "since_at", PRINT_AGO },
		{ 0 },
	};

	return list_run(c, "/p2p/sessions", columns, "Nobody is connected.");
}

static enum ctl_exit run_rooms(struct ctl *c)
{
	static const struct print_column columns[] = {
		{ "ROOM", "room", PRINT_TEXT },
		{ "MEMBERS", "members", PRINT_NUMBER },
		{ "MAX", "max", PRINT_NUMBER },
		{ "GAME", "game", PRINT_TEXT },
		{ "EPOCH", "epoch", PRINT_NUMBER },
		{ "GROUPS", "groups", PRINT_TEXT },
		{ 0 },
	};

	return list_run(c, "/p2p/rooms", columns, "There is no room.");
}

static enum ctl_exit run_show(struct ctl *c)
{
	static const struct print_column fields[] = {
		{ "Room", "room", PRINT_TEXT },
		{ "Members", "members", PRINT_TEXT },
		{ "  at most", "max", PRINT_TEXT },
		{ "Game", "game", PRINT_TEXT },
		{ "Epoch", "epoch", PRINT_TEXT },
		{ "Groups", "groups", PRINT_TEXT },
		{ 0 },
	};
	static const struct print_column members[] = {
		{ "SEAT", "seat", PRINT_NUMBER },
		{ "PLAYER", "player", PRINT_TEXT },
		{ "NAT", "nat", PRINT_TEXT },
		{ "GROUP", "group", PRINT_TEXT },
		{ 0 },
	};
	static const struct list_inside lists[] = { { "In it", "member_list", members }, { 0 } };
	AUTO(auto_free) char           *path    = client_path("/p2p/rooms/%s", ctl_arg(c, 0));

	return list_show(c, path, fields, lists);
}

static enum ctl_exit run_disconnect(struct ctl *c)
{
	static const struct action disconnect = {
		.method   = "DELETE",
		.path     = "/p2p/sessions/{0}",
		.destroys = true,
		.what     = "end the session of player {0}; he may come again",
		.done     = "Player {0} is disconnected.",
	};

	return act_on_args(c, &disconnect);
}

static enum ctl_exit run_close(struct ctl *c)
{
	static const struct action close = {
		.method   = "DELETE",
		.path     = "/p2p/rooms/{0}",
		.destroys = true,
		.what     = "close room {0} for all who are in it",
		.done     = "Room {0} is closed.",
	};

	return act_on_args(c, &close);
}

static const struct ctl_option list_options[] = { LIST_LIMIT, { 0 } };

static const struct ctl_command commands[] = {
	{ "sessions", "", "list who is connected, with his kind of NAT and his latency", NULL, list_options,
	  "coopctl p2p", run_sessions },
	{ "rooms", "", "list the rooms", NULL, list_options, "coopctl p2p rooms", run_rooms },
	{ "show", "ROOM", "show one room and who is in it", NULL, NULL, "coopctl p2p show ABCD", run_show },
	{ "disconnect", "PLAYER", "end a session", NULL, NULL, "coopctl p2p disconnect 00112233445566aa",
	  run_disconnect },
	{ "close", "ROOM", "close a room", NULL, NULL, "coopctl p2p close ABCD", run_close },
	{ 0 },
};
const struct ctl_group ctl_p2p = { "p2p", "peer to peer: sessions, rooms, show, disconnect, close", commands };
