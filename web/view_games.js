// Games that are played: hosts, friends, traffic.

import { ask, get, part } from "./api.js";
import { act } from "./dialog.js";
import { facts, fill, h, panel, pill } from "./dom.js";
import { bytes, count, number, rate, time } from "./format.js";
import { Table, actionButton } from "./table.js";
import { forOperator, gameLink, listView, oneView, playerLink } from "./view_common.js";

const STATES = { playing: "good", open: "info", lost: "warn" };
const KINDS = ["game.", "friend."];

const dropped = (g) => (g.up?.dropped ?? 0) + (g.down?.dropped ?? 0);

function closeGame(game, after) {
	act({
		title: `Close game ${game}?`,
		text: "Host and friends are told that the game is over, and their connections are closed. The host may open another one.",
		request: () => ({ method: "DELETE", path: `games/${part(game)}` }),
		explain: (dry) => [`Game ${game} ends for its host and ${count(dry.friends ?? 0, "friend")}.`],
		confirm: "Close the game",
		danger: true,
		said: (answer) => `Game ${game} is closed; ${count(answer.friends ?? 0, "friend")} had to leave.`,
		after,
	});
}

function kickFriend(game, friend, after) {
	act({
		title: `Take friend ${friend.number} out of game ${game}?`,
		text: "He loses his place. He may come again, unless he is banned.",
		request: () => ({ method: "DELETE", path: `games/${part(game)}/friends/${part(friend.number)}` }),
		explain: () => [`Friend ${friend.number}${friend.player ? ` (player ${friend.player})` : ""} leaves game ${game}; the others play on.`],
		confirm: "Take him out",
		danger: true,
		said: () => `Friend ${friend.number} is out of game ${game}.`,
		after,
	});
}

export function list(route) {
	return listView(route, {
		title: "Games",
		columns: [
			{ title: "Code", value: (g) => g.code, show: (g) => gameLink(g.code), kind: "id" },
			{ title: "State", value: (g) => g.state, show: (g) => pill(g.state, STATES[g.state]) },
			{ title: "Host", value: (g) => g.host, show: (g) => playerLink(g.host), kind: "id" },
			{ title: "Friends", value: (g) => g.friends, kind: "number" },
			{ title: "Up", value: (g) => g.rate_up, show: (g) => rate(g.rate_up), kind: "number" },
			{ title: "Down", value: (g) => g.rate_down, show: (g) => rate(g.rate_down), kind: "number" },
			{ title: "Dropped", value: dropped, show: (g) => number(dropped(g)), kind: "number" },
			{ title: "Opened", value: (g) => g.made_at, show: (g) => time(g.made_at) },
			{ title: "Protocol", value: (g) => g.version, kind: "number" },
		],
		filters: [
			{ name: "host", label: "Host (player id)" },
			{ name: "player", label: "Anybody in it (player id)" },
		],
		load: (parameters) => get("games", parameters),
		key: (g) => String(g.code),
		actions: forOperator(() => (g, again) => actionButton("Close", () => closeGame(g.code, again), `game ${g.code}`)),
		empty: "No game is being played.",
		refreshOn: KINDS,
		everyMs: 3000,
	});
}

const traffic = (t) => t ? `${number(t.datagrams)} datagrams, ${bytes(t.bytes)}, ${number(t.dropped)} dropped` : "–";

function friendsTable(game, again) {
	return new Table({
		name: `Friends in game ${game}`,
		columns: [
			{ title: "Number", value: (f) => f.number },
			{ title: "Player", value: (f) => f.player, show: (f) => playerLink(f.player), kind: "id" },
			{ title: "Address", value: (f) => f.address, kind: "id" },
			{ title: "Connected", value: (f) => f.connected ? "yes" : "no", show: (f) => f.connected ? pill("yes", "good") : pill("away", "warn") },
			{ title: "Joined", value: (f) => f.joined_at, show: (f) => time(f.joined_at) },
			{ title: "Up", value: (f) => f.up?.bytes, show: (f) => bytes(f.up?.bytes), kind: "number" },
			{ title: "Down", value: (f) => f.down?.bytes, show: (f) => bytes(f.down?.bytes), kind: "number" },
			{ title: "Dropped", value: dropped, show: (f) => number(dropped(f)), kind: "number" },
		],
		key: (f) => String(f.number),
		actions: forOperator(() => (f) => actionButton("Take out", () => kickFriend(game, f, again), `friend ${f.number}`)),
		empty: "Nobody has joined yet.",
	});
}

function dropsTable(game) {
	return new Table({
		name: `Drops in game ${game}`,
		columns: [
			{ title: "Reason", value: (d) => d.reason },
			{ title: "Datagrams", value: (d) => d.n, show: (d) => number(d.n), kind: "number" },
		],
		key: (d) => d.reason,
		empty: "Nothing was dropped.",
	});
}

export function one(route) {
	const game = route.parts[0];

	return oneView({
		title: `Game ${game}`,
		load: () => ask("GET", `games/${part(game)}`),
		gone: "No game has this code right now: it is over, or there never was one.",
		refreshOn: (event) => String(event.code) === game,
		everyMs: 2000,
		build(again) {
			const about = h("div");
			const friends = friendsTable(game, again);
			const drops = dropsTable(game);
			return {
				node: h("div", { class: "stack" },
					forOperator(() => h("div", { class: "buttons" },
						h("button", { type: "button", class: "danger", onclick: () => closeGame(game, again) }, "Close the game"))),
					panel("About", about), panel("Friends", friends.node), panel("Dropped datagrams", drops.node)),
				update(g) {
					fill(about, facts([
						["State", pill(g.state, STATES[g.state])],
						["Host", playerLink(g.host)],
						["Host is there", g.connected ? pill("yes", "good") : pill("away", "warn")],
						["Address", g.address || "–"],
						["Opened", time(g.made_at)],
						["Protocol", number(g.version)],
						["Up", traffic(g.up), " at ", rate(g.rate_up)],
						["Down", traffic(g.down), " at ", rate(g.rate_down)],
					]));
					friends.put(g.friends || []);
					drops.put(Object.entries(g.drops || {}).map(([reason, n]) => ({ reason, n })));
				},
			};
		},
	});
}
