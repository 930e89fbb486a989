// Players that the server knows, and one of them.

import { ask, get, part } from "./api.js";
import { act } from "./dialog.js";
import { facts, fill, h, link, panel, pill } from "./dom.js";
import { bytes, count, number, percent, time } from "./format.js";
import { Table } from "./table.js";
import { banButton } from "./view_bans.js";
import { campaignLink, forOperator, gameLink, listView, oneView, pathOf, playerLink } from "./view_common.js";
import { quotaButton } from "./view_quotas.js";

const KINDS = ["game.", "ban.added", "ban.removed", "admin."];

export function list(route) {
	return listView(route, {
		title: "Players",
		columns: [
			{ title: "Player", value: (p) => p.id, show: (p) => playerLink(p.id), kind: "id" },
			{ title: "Code", value: (p) => p.code, show: (p) => p.hosting ? gameLink(p.code) : p.code ?? "–", kind: "id" },
			{ title: "Hosting", value: (p) => p.hosting ? "yes" : "no", show: (p) => p.hosting ? pill("hosting", "good") : "–" },
			{ title: "Banned", value: (p) => p.banned ? "yes" : "no", show: (p) => p.banned ? pill("banned", "bad") : "–" },
			{ title: "Campaigns", value: (p) => p.campaigns, kind: "number" },
			{ title: "Stored", value: (p) => p.bytes, show: (p) => bytes(p.bytes), kind: "number" },
			{ title: "Last seen", value: (p) => p.seen_at, show: (p) => time(p.seen_at) },
			{ title: "Known since", value: (p) => p.made_at, show: (p) => time(p.made_at) },
		],
		filters: [
			{ name: "q", label: "Beginning of the id" },
			{ name: "code", label: "Code", type: "number" },
		],
		load: (parameters) => get("players", parameters),
		key: (p) => p.id,
		empty: "No player fits, or none has come yet.",
		refreshOn: KINDS,
	});
}

function freeCode(id, player, after) {
	act({
		title: "Free this player's code?",
		text: "The code is anybody's again, and he gets another one when he hosts next. A game under it ends.",
		request: () => ({ method: "DELETE", path: `players/${part(id)}/code` }),
		explain: () => [`Code ${player().code} of player ${id} is free.`,
			player().hosting ? "The game that he hosts right now ends." : null],
		confirm: "Free the code",
		danger: true,
		said: () => `The code of player ${id} is free.`,
		after,
	});
}

function setCode(id, after) {
	act({
		title: "Give this player another code?",
		fields: [{
			name: "code", label: "Code", type: "number", min: 0, max: 999999,
			hint: "Six digits (protocol 1: 64101 to 64164). Empty: a new one by chance.",
		}],
		request: ({ code }) => ({ method: "POST", path: `players/${part(id)}/code`, body: code === null ? {} : { code } }),
		explain: (dry) => [`The code of player ${id} becomes ${dry.code ?? "a new one by chance"}${dry.old_code ? ` instead of ${dry.old_code}` : ""}.`,
			dry.old_code ? "A game under the old one ends." : null],
		confirm: "Give him the code",
		said: (answer) => `Player ${id} has code ${answer.code} now${answer.old_code ? `, before ${answer.old_code}` : ""}.`,
		after,
	});
}

function campaignsTable() {
	return new Table({
		name: "Campaigns of this player",
		columns: [
			{ title: "Name", value: (c) => c.name, show: (c) => campaignLink(c.id, c.name || c.id) },
			{ title: "Role", value: (c) => c.role },
			{ title: "Id", value: (c) => c.id, show: (c) => h("code", null, c.id), kind: "id" },
			{ title: "Stored", value: (c) => c.bytes, show: (c) => bytes(c.bytes), kind: "number" },
			{ title: "Newest checkpoint", value: (c) => c.stored_at, show: (c) => time(c.stored_at) },
		],
		key: (c) => c.id,
		empty: "He has no campaign here.",
	});
}

export function quotaFacts(quota) {
	const words = { campaigns: "Campaigns", bytes: "Stored", checkpoint: "One checkpoint" };
	return facts(Object.entries(quota || {}).map(([name, q]) => {
		const size = name === "campaigns" ? number : bytes;
		const of = q.max === null ? `${size(q.used)}, no limit of its own`
			: name === "checkpoint" ? `at most ${size(q.max)}, the largest has ${size(q.used)}` : `${size(q.used)} of ${size(q.max)} (${percent(q.used, q.max)})`;
		return [words[name] || name, of, " ", q.override !== null && q.override !== undefined && q.override !== false ? pill("override", "info") : null];
	}));
}

export function one(route) {
	const id = route.parts[0];
	let player = {};

	return oneView({
		title: `Player ${id}`,
		load: () => ask("GET", `players/${part(id)}`),
		gone: "No player has this id.",
		refreshOn: (event) => event.player === id || event.host === id || event.kind.startsWith("ban."),
		build(again) {
			const about = h("div");
			const quota = h("div");
			const campaigns = campaignsTable();
			const free = h("button", { type: "button", class: "danger", onclick: () => freeCode(id, () => player, again) }, "Free his code");
			return {
				node: h("div", { class: "stack" },
					forOperator(() => h("div", { class: "buttons" },
						h("button", { type: "button", onclick: () => setCode(id, again) }, "Give another code"), free,
						quotaButton("players", id, again),
						banButton({ kind: "player", value: id }, again))),
					panel("About", about), panel("Quota", quota), panel("Campaigns", campaigns.node)),
				update(p) {
					player = p;
					free.disabled = p.code === null;
					fill(about, facts([
						["Player", h("code", null, p.id)],
						["Code", p.hosting ? gameLink(p.code) : p.code ?? "none"],
						["Hosts a game", p.hosting ? pill("yes", "good") : "no"],
						["Banned", p.banned ? link(`${pathOf("bans")}?q=${encodeURIComponent(p.id)}`, pill("banned", "bad")) : "no"],
						["Last seen", time(p.seen_at)],
						["Known since", time(p.made_at)],
						["Campaigns", count(p.campaigns ?? 0, "campaign"), ", ", bytes(p.bytes)],
					]));
					fill(quota, quotaFacts(p.quota));
					campaigns.put(p.campaign_list || []);
				},
			};
		},
	});
}
