// All views, as the navigation has them.

import * as audit from "./view_audit.js";
import * as bans from "./view_bans.js";
import * as boards from "./view_boards.js";
import * as campaigns from "./view_campaigns.js";
import * as campaign from "./view_campaign.js";
import * as events from "./view_events.js";
import * as games from "./view_games.js";
import * as health from "./view_health.js";
import * as lobbies from "./view_lobbies.js";
import * as maintenance from "./view_maintenance.js";
import * as overview from "./view_overview.js";
import * as p2p from "./view_p2p.js";
import * as players from "./view_players.js";
import * as quotas from "./view_quotas.js";
import * as rooms from "./view_rooms.js";
import * as settings from "./view_settings.js";
import * as signal from "./view_signal.js";
import * as tokens from "./view_tokens.js";
import { h } from "./dom.js";

// one: the view of one thing, "#/games/123456". operator: viewers do not see it.
export const groups = [
	{ title: "Now", views: [
		{ name: "overview", title: "Overview", list: overview.list },
		{ name: "events", title: "Events", list: events.list },
		{ name: "health", title: "Health", list: health.list },
	] },
	{ title: "Play", views: [
		{ name: "games", title: "Games", list: games.list, one: games.one },
		{ name: "lobbies", title: "Lobbies", list: lobbies.list },
		{ name: "signal", title: "Signaling", list: signal.list },
		{ name: "rooms", title: "Rooms", list: rooms.list, one: rooms.one },
		{ name: "boards", title: "Boards", list: boards.list, one: boards.one },
		{ name: "p2p", title: "Peer to peer", list: p2p.list, one: p2p.one },
	] },
	{ title: "Kept", views: [
		{ name: "players", title: "Players", list: players.list, one: players.one },
		{ name: "campaigns", title: "Campaigns", list: campaigns.list, one: campaign.one },
		{ name: "quotas", title: "Quotas", list: quotas.list },
	] },
	{ title: "Access", views: [
		{ name: "bans", title: "Bans", list: bans.list },
		{ name: "tokens", title: "Tokens", list: tokens.list, operator: true },
		{ name: "audit", title: "Audit trail", list: audit.list },
	] },
	{ title: "Server", views: [
		{ name: "maintenance", title: "Maintenance", list: maintenance.list },
		{ name: "settings", title: "Settings", list: settings.list },
	] },
];

const unknown = {
	show: () => ({ title: "Not here", node: h("p", null, "There is no such view. ", h("a", { href: "#/overview" }, "To the overview")) }),
};

export function find(route) {
	const view = groups.flatMap((group) => group.views).find((v) => v.name === route.name);
	if (!view)
		return unknown;
	if (route.parts.length === 0)
		return { show: view.list };
	return view.one ? { show: view.one } : unknown;
}
