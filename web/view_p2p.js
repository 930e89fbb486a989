// Peer to peer: sessions, and the rooms they are in.

import { ask, get, part } from "./api.js";
import { act } from "./dialog.js";
import { facts, fill, h, link, panel, pill } from "./dom.js";
import { number, time } from "./format.js";
import { Table, actionButton } from "./table.js";
import { forOperator, oneView, pathOf, playerLink, tablesView } from "./view_common.js";

const NATS = { open: "good", address_restricted: "good", port_restricted: "info", symmetric: "warn", unknown: "warn" };

const natPill = (nat) => nat ? pill(nat.replaceAll("_", " "), NATS[nat]) : "–";
// In a path a name stands as itself or as ~ and its bytes in hex, as lists of rooms have it ready.
const keyOf = (room) => /^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/.test(room) ? room
	: `~${Array.from(new TextEncoder().encode(room), (b) => b.toString(16).padStart(2, "0")).join("")}`;
const roomLink = (room) => room ? link(pathOf("p2p", room), h("code", null, room)) : "–";

function disconnect(player, after) {
	act({
		title: `Close the session of player ${player}?`,
		request: () => ({ method: "DELETE", path: `p2p/sessions/${part(player)}` }),
		explain: () => ["His session ends, and he leaves its room; he may come again."],
		confirm: "Close it",
		danger: true,
		said: () => `The session of player ${player} is closed.`,
		after,
	});
}

function closeRoom(room, after) {
	act({
		title: `Close room ${room}?`,
		request: () => ({ method: "DELETE", path: `p2p/rooms/${part(keyOf(room))}` }),
		explain: (dry) => [`Room ${room} ends for ${dry.members === undefined ? "its members" : `its ${number(dry.members)} members`}; their sessions stay.`],
		confirm: "Close the room",
		danger: true,
		said: () => `Room ${room} is closed.`,
		after,
	});
}

function sessionsTable() {
	const table = new Table({
		name: "Sessions",
		columns: [
			{ title: "Player", value: (s) => s.player, show: (s) => playerLink(s.player), kind: "id" },
			{ title: "Address", value: (s) => s.address, kind: "id" },
			{ title: "Room", value: (s) => s.room, show: (s) => roomLink(s.room), kind: "id" },
			{ title: "Seat", value: (s) => s.seat, kind: "number" },
			{ title: "NAT", value: (s) => s.nat, show: (s) => natPill(s.nat) },
			{ title: "Mapped to", value: (s) => s.mapped, kind: "id" },
			{ title: "Latency", value: (s) => s.latency_ms, show: (s) => s.latency_ms === null ? "–" : `${number(s.latency_ms)} ms`, kind: "number" },
			{ title: "Since", value: (s) => s.since_at, show: (s) => time(s.since_at) },
		],
		load: (parameters) => get("p2p/sessions", parameters),
		key: (s) => s.player,
		actions: forOperator(() => (s) => actionButton("Disconnect", () => disconnect(s.player, () => table.refresh(true)), `player ${s.player}`)),
		empty: "There is no session.",
		refreshOn: ["p2p."],
		everyMs: 5000,
	});
	return table;
}

function roomsTable() {
	const table = new Table({
		name: "Peer-to-peer rooms",
		columns: [
			{ title: "Room", value: (r) => r.room, show: (r) => roomLink(r.room), kind: "id" },
			{ title: "Members", value: (r) => r.members, show: (r) => `${r.members} / ${r.max}`, kind: "number" },
			{ title: "Game", value: (r) => r.game },
			{ title: "Starts", value: (r) => r.epoch, kind: "number" },
			{ title: "Link groups", value: (r) => r.groups, kind: "number" },
		],
		load: (parameters) => get("p2p/rooms", parameters),
		key: (r) => r.room,
		actions: forOperator(() => (r) => actionButton("Close", () => closeRoom(r.room, () => table.refresh(true)), `room ${r.room}`)),
		empty: "There is no room.",
		refreshOn: ["p2p."],
		everyMs: 5000,
	});
	return table;
}

export function list() {
	return tablesView("Peer to peer", [
		{ heading: "Sessions", table: sessionsTable() },
		{ heading: "Rooms", table: roomsTable() },
	]);
}

export function one(route) {
	const room = route.parts[0];

	return oneView({
		title: `Peer-to-peer room ${room}`,
		load: () => ask("GET", `p2p/rooms/${part(keyOf(room))}`),
		gone: "There is no such room (any more).",
		refreshOn: (event) => event.kind.startsWith("p2p."),
		build(again) {
			const about = h("div");
			const members = new Table({
				name: `Members of room ${room}`,
				columns: [
					{ title: "Player", value: (m) => m.player, show: (m) => playerLink(m.player), kind: "id" },
					{ title: "Seat", value: (m) => m.seat, kind: "number" },
					{ title: "NAT", value: (m) => m.nat, show: (m) => natPill(m.nat) },
					{ title: "Link group", value: (m) => m.group, kind: "number" },
				],
				key: (m) => m.player,
				actions: forOperator(() => (m) => actionButton("Disconnect", () => disconnect(m.player, again), `player ${m.player}`)),
				empty: "Nobody is in it.",
			});
			return {
				node: h("div", { class: "stack" },
					forOperator(() => h("div", { class: "buttons" },
						h("button", { type: "button", class: "danger", onclick: () => closeRoom(room, again) }, "Close the room"))),
					panel("About", about), panel("Members", members.node)),
				update(r) {
					fill(about, facts([
						["Members", `${r.members} of ${r.max}`], ["Game", r.game || "–"], ["Starts", number(r.epoch)], ["Link groups", number(r.groups)],
					]));
					members.put(r.member_list || []);
				},
			};
		},
	});
}
