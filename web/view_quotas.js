// Quotas: the defaults, what is used, and who has others.

import { ask, get, part } from "./api.js";
import { act } from "./dialog.js";
import { facts, fill, h, panel } from "./dom.js";
import { NONE, bytes, count, number, percent } from "./format.js";
import { Table, actionButton } from "./table.js";
import { campaignLink, forOperator, playerLink } from "./view_common.js";

const MIB = 1048576;
const mib = (n) => n === null || n === undefined ? "" : String(Math.round(n / MIB * 1000) / 1000);
const bytesOf = (text) => text === "" ? null : Math.round(Number(text.replace(",", ".")) * MIB);

const SIZE = "[0-9]+([.,][0-9]+)?";

// whose: "players" or "campaigns".
function setQuota(whose, id, now, after) {
	const word = whose === "players" ? "player" : "campaign";
	const fields = [
		{ name: "bytes", label: "Stored in all, MiB", value: mib(now.bytes), pattern: SIZE, hint: "Empty: the default." },
		{ name: "checkpoint", label: "One checkpoint, MiB", value: mib(now.checkpoint), pattern: SIZE, hint: "Empty: the default." },
	];
	if (whose === "players")
		fields.unshift({ name: "campaigns", label: "Campaigns", type: "number", min: 0, value: now.campaigns ?? "", hint: "Empty: the default." });
	const bodyOf = (v) => ({
		...(whose === "players" ? { campaigns: v.campaigns } : {}), bytes: bytesOf(v.bytes), checkpoint: bytesOf(v.checkpoint),
	});
	const say = (n, size) => n === null ? "the default" : size(n);
	act({
		title: `Quota of ${word} ${id}`,
		text: "What is stored already stays, also when it is more than the new quota.",
		fields,
		request: (values) => ({ method: "PUT", path: `quotas/${whose}/${part(id)}`, body: bodyOf(values) }),
		explain(_, values) {
			const b = bodyOf(values);
			return [whose === "players" ? `Campaigns: ${say(b.campaigns, number)}.` : null,
				`Stored in all: ${say(b.bytes, bytes)}.`, `One checkpoint: ${say(b.checkpoint, bytes)}.`];
		},
		confirm: "Set the quota",
		said: () => `The quota of ${word} ${id} is set.`,
		after,
	});
}

async function readAndSet(whose, id, after) {
	let now = {};
	try {
		now = await ask("GET", `quotas/${whose}/${part(id)}`);
	} catch {
		// None yet: the form begins empty.
	}
	setQuota(whose, id, now, after);
}

export function quotaButton(whose, id, after) {
	return h("button", { type: "button", onclick: () => readAndSet(whose, id, after) }, "Set quota");
}

function overridesTable(whose, title) {
	const table = new Table({
		name: title,
		columns: [
			{ title: whose === "players" ? "Player" : "Campaign", value: (q) => q.id, kind: "id",
				show: (q) => whose === "players" ? playerLink(q.id) : campaignLink(q.id) },
			...(whose === "players" ? [{ title: "Campaigns", value: (q) => q.campaigns, show: (q) => number(q.campaigns), kind: "number" }] : []),
			{ title: "Stored in all", value: (q) => q.bytes, show: (q) => bytes(q.bytes), kind: "number" },
			{ title: "One checkpoint", value: (q) => q.checkpoint, show: (q) => bytes(q.checkpoint), kind: "number" },
		],
		load: (parameters) => get(`quotas/${whose}`, parameters),
		key: (q) => q.id,
		actions: forOperator(() => (q) => actionButton("Change", () => setQuota(whose, q.id, q, () => table.refresh(true)), `the quota of ${q.id}`)),
		empty: "All have the defaults.",
		refreshOn: ["admin."],
	});
	return table;
}

function meter(used, max, text) {
	return h("div", { class: "meter-line" },
		h("meter", { min: 0, max: max || 1, value: used || 0, high: (max || 1) * 0.8, "aria-label": text }), h("span", null, text));
}

export { meter };

export function list() {
	const defaults = h("div");
	const use = h("div");
	const players = overridesTable("players", "Players with a quota of their own");
	const campaigns = overridesTable("campaigns", "Campaigns with a quota of their own");
	let gone = false;

	const load = async () => {
		const { defaults: d, used: u, overrides } = await get("quotas");
		if (gone)
			return;
		fill(defaults, facts([
			["Campaigns of a player", number(d.player_campaigns)], ["Stored by a player", bytes(d.player_bytes)],
			["Stored in a campaign", bytes(d.campaign_bytes)], ["One checkpoint", bytes(d.checkpoint)],
			["Stored in all", bytes(d.total_bytes)], ["Exceptions", count(overrides ?? 0, "override")],
		]));
		fill(use, meter(u.bytes, d.total_bytes, `${bytes(u.bytes)} of ${bytes(d.total_bytes)} are used (${percent(u.bytes, d.total_bytes)})`),
			facts([["Campaigns", number(u.campaigns)], ["Kept free", u.spare === undefined ? NONE : bytes(u.spare)], ["In the trash", bytes(u.trash)]]));
	};
	load().catch(() => fill(use, h("p", null, "This could not be loaded.")));
	return {
		title: "Quotas",
		node: h("div", { class: "stack" },
			h("div", { class: "grid" }, panel("In use", use), panel("Defaults", defaults, h("p", { class: "hint" }, "They are settings, limits.…: see Settings."))),
			panel("Players with a quota of their own", players.node), panel("Campaigns with a quota of their own", campaigns.node)),
		destroy() {
			gone = true;
			players.destroy();
			campaigns.destroy();
		},
	};
}
