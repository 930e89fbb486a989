// Players that the server knows, and one of them.

import { ask, get, part } from "./api.js";
import { act, closeButton, openDialog } from "./dialog.js";
import { facts, fill, h, link, notice, panel, pill } from "./dom.js";
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

// Copies from before, and until when.
function showCopies(answer) {
	const copies = answer.copies.map((c) => h("li", null, h("code", null, c.file),
		c.until_at ? [", goes by itself: ", time(c.until_at)] : ", until somebody removes it"));

	return openDialog("The player is forgotten", (dialog) => [
		answer.banned ? h("p", null, "The ban of him stays.") : null,
		h("p", null, copies.length > 0 ? "Copies from before name him still:" : "No copy from before names him."),
		h("ul", null, copies),
		answer.copies_complete ? null : notice("warn", "Not every copy could be read; the server's log names those."),
		h("div", { class: "buttons" }, closeButton(dialog))]);
}

function forget(id, after) {
	act({
		title: "Forget this player?",
		text: "His code, campaigns, memberships and quota go for good, his connections and his game end. When his game connects again he is a new player.",
		fields: [
			{ name: "heir", label: "Who gets his campaigns that have other members", pattern: "[0-9a-f]{16}", max: 16, hint: "A player's id, 16 hex digits. Empty: nobody." },
			{ name: "drop", label: "Delete these campaigns, too", type: "checkbox", value: false },
			{ name: "names", label: "His names on boards", hint: "With commas between, as boards have them in their links. Their scores go." },
		],
		request: ({ heir, drop, names }) => ({
			method: "POST", path: `players/${part(id)}/forget`,
			body: { ...heir && { transfer_to: heir }, ...drop && { delete: true }, names: names.split(",").map((n) => n.trim()).filter((n) => n) },
		}),
		explain: (dry) => [
			`Player ${id} is forgotten: ${count(dry.deleted, "campaign")} deleted, ${dry.transferred} given away, ${dry.trash} in the trash, ${count(dry.memberships, "membership")}, ${count(dry.scores, "score")}.`,
			dry.undecided > 0 ? `A decision is needed: say who gets his campaigns that have other members (${dry.undecided_list.map((c) => c.id).join(", ")}), or delete them.` : null,
			dry.connections > 0 ? `${count(dry.connections, "connection")} will end.` : null,
			dry.banned ? "The ban of him stays." : null],
		confirm: "Forget him",
		danger: true,
		show: showCopies,
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
						h("button", { type: "button", class: "danger", onclick: () => forget(id, again) }, "Forget him"),
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
