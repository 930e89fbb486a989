// Lobbies in the master's list, hidden ones too.

import { get, part } from "./api.js";
import { act } from "./dialog.js";
import { h, pill } from "./dom.js";
import { time } from "./format.js";
import { actionButton } from "./table.js";
import { forOperator, listView, yesNo } from "./view_common.js";

function remove(l, after) {
	act({
		title: `Remove lobby “${l.name}”?`,
		text: "It disappears from the list, and nobody can join it any more. Who plays already is not disturbed. The host may announce it anew, unless he is banned.",
		request: () => ({ method: "DELETE", path: `lobbies/${part(l.id)}` }),
		explain: () => [`Lobby “${l.name}” (${l.players} of ${l.players_max} players) leaves the list.`],
		confirm: "Remove it",
		danger: true,
		said: () => `Lobby “${l.name}” is removed.`,
		after,
	});
}

export function list(route) {
	return listView(route, {
		title: "Lobbies",
		columns: [
			{ title: "Name", value: (l) => l.name },
			{ title: "World", value: (l) => l.world },
			{ title: "Game", value: (l) => l.game },
			{ title: "Version", value: (l) => l.version },
			{ title: "Players", value: (l) => l.players, show: (l) => `${l.players} / ${l.players_max}`, kind: "number" },
			{ title: "Listed", value: (l) => yesNo(l.listed), show: (l) => l.listed ? pill("listed", "good") : pill("hidden") },
			{ title: "Locked", value: (l) => yesNo(l.locked) },
			{ title: "Kind", value: (l) => l.kind },
			{ title: "Proved", value: (l) => yesNo(l.proved) },
			{ title: "Address", value: (l) => l.address, kind: "id" },
			{ title: "Heard of", value: (l) => l.beat_at, show: (l) => time(l.beat_at) },
			{ title: "Made", value: (l) => l.made_at, show: (l) => time(l.made_at) },
			{ title: "Id", value: (l) => l.id, show: (l) => h("code", null, l.id), kind: "id" },
		],
		filters: [
			{ name: "q", label: "Part of the name" },
			{ name: "game", label: "Game" },
		],
		load: (parameters) => get("lobbies", parameters),
		key: (l) => l.id,
		actions: forOperator(() => (l, again) => actionButton("Remove", () => remove(l, again), `lobby ${l.name}`)),
		empty: "There is no lobby.",
		refreshOn: ["lobby."],
		everyMs: 5000,
	});
}
