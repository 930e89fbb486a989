// Rooms of console games, and the players connected to that part.

import { ask, get, part } from "./api.js";
import { act } from "./dialog.js";
import { facts, fill, h, link, panel, pill } from "./dom.js";
import { time } from "./format.js";
import { Table, actionButton } from "./table.js";
import { addBan } from "./view_bans.js";
import { forOperator, oneView, pathOf, tablesView, yesNo } from "./view_common.js";

function closeRoom(room, after) {
	act({
		title: `Close room ${room.id}?`,
		text: "Its members are told that they have left it; they stay connected.",
		request: () => ({ method: "DELETE", path: `rooms/${part(room.id)}` }),
		explain: () => [`Room ${room.id} (${room.title}) ends for its ${room.members} members.`],
		confirm: "Close the room",
		danger: true,
		said: () => `Room ${room.id} is closed.`,
		after,
	});
}

function kick(room, member, after) {
	act({
		title: `Take ${member.name} out of room ${room}?`,
		request: () => ({ method: "DELETE", path: `rooms/${part(room)}/members/${part(member.member)}` }),
		explain: () => [`${member.name} leaves room ${room}; he may come again.`],
		confirm: "Take him out",
		danger: true,
		said: () => `${member.name} is out of room ${room}.`,
		after,
	});
}

function disconnect(player, after) {
	act({
		title: `Close the connection of ${player.name}?`,
		request: () => ({ method: "DELETE", path: `rooms/players/${part(player.user)}` }),
		explain: () => [`${player.name} (${player.title}) leaves ${player.rooms} rooms; he may connect again.`],
		confirm: "Close it",
		danger: true,
		said: () => `The connection of ${player.name} is closed.`,
		after,
	});
}

function roomsTable(title) {
	const table = new Table({
		name: "Rooms",
		initial: { title },
		columns: [
			{ title: "Room", value: (r) => r.id, show: (r) => link(pathOf("rooms", r.id), h("code", null, r.id)), kind: "id" },
			{ title: "Title", value: (r) => r.title },
			{ title: "Owner", value: (r) => r.owner },
			{ title: "Members", value: (r) => r.members, show: (r) => `${r.members} / ${r.max}`, kind: "number" },
			{ title: "Open", value: (r) => yesNo(r.open), show: (r) => r.open ? pill("open", "good") : pill("closed") },
			{ title: "Made", value: (r) => r.made_at, show: (r) => time(r.made_at) },
		],
		filters: [{ name: "title", label: "Title" }],
		load: (parameters) => get("rooms", parameters),
		key: (r) => String(r.id),
		actions: forOperator(() => (r) => actionButton("Close", () => closeRoom(r, () => table.refresh(true)), `room ${r.id}`)),
		empty: "There is no room.",
		refreshOn: ["room."],
		everyMs: 5000,
	});
	return table;
}

function playersTable(title) {
	const table = new Table({
		name: "Players of rooms",
		initial: { title },
		columns: [
			{ title: "Name", value: (p) => p.name },
			{ title: "Title", value: (p) => p.title },
			{ title: "Address", value: (p) => p.address, kind: "id" },
			{ title: "Rooms", value: (p) => p.rooms, kind: "number" },
			{ title: "Since", value: (p) => p.since_at, show: (p) => time(p.since_at) },
			{ title: "User", value: (p) => p.user, show: (p) => h("code", null, p.user), kind: "id" },
		],
		filters: [{ name: "title", label: "Title" }, { name: "q", label: "Part of the name" }],
		load: (parameters) => get("rooms/players", parameters),
		key: (p) => String(p.user),
		actions: forOperator(() => (p) => [
			actionButton("Disconnect", () => disconnect(p, () => table.refresh(true)), p.name),
			actionButton("Ban", () => addBan({ kind: "name", value: `${p.title}/${p.name}` }), p.name),
		]),
		empty: "Nobody is connected.",
		refreshOn: ["room."],
		everyMs: 5000,
	});
	return table;
}

export function list(route) {
	return tablesView("Rooms", [
		{ heading: "Rooms", table: roomsTable(route.params.title) },
		{ heading: "Players", table: playersTable(route.params.title) },
	]);
}

export function one(route) {
	const id = route.parts[0];
	let room = { id };

	return oneView({
		title: `Room ${id}`,
		load: () => ask("GET", `rooms/${part(id)}`),
		gone: "There is no such room (any more).",
		refreshOn: (event) => event.kind.startsWith("room."),
		build(again) {
			const about = h("div");
			const members = new Table({
				name: `Members of room ${id}`,
				columns: [
					{ title: "Member", value: (m) => m.member },
					{ title: "Name", value: (m) => m.name },
					{ title: "Address", value: (m) => m.address, kind: "id" },
					{ title: "User", value: (m) => m.user, show: (m) => h("code", null, m.user), kind: "id" },
				],
				key: (m) => String(m.member),
				actions: forOperator(() => (m) => actionButton("Take out", () => kick(id, m, again), m.name)),
				empty: "Nobody is in it.",
			});
			return {
				node: h("div", { class: "stack" },
					forOperator(() => h("div", { class: "buttons" },
						h("button", { type: "button", class: "danger", onclick: () => closeRoom(room, again) }, "Close the room"))),
					panel("About", about), panel("Members", members.node)),
				update(r) {
					room = r;
					fill(about, facts([
						["Title", r.title], ["Owner", r.owner], ["Members", `${r.members} of ${r.max}`],
						["Open to others", yesNo(r.open)], ["Made", time(r.made_at)],
					]));
					members.put(r.member_list || []);
				},
			};
		},
	});
}
