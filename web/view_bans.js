// Bans: who may not come, until when, and why.

import { get, part } from "./api.js";
import { act } from "./dialog.js";
import { h, pill } from "./dom.js";
import { count, number, seconds, time } from "./format.js";
import { actionButton } from "./table.js";
import { forOperator, listView, playerLink } from "./view_common.js";

const KINDS = [["address", "Address or network"], ["player", "Player id"], ["identity", "Identity (signaling)"], ["name", "Online id (rooms)"]];

const LENGTHS = [["", "for ever"], ["3600", "an hour"], ["86400", "a day"], ["604800", "a week"], ["2592000", "30 days"], ["31536000", "a year"]];

const HINT = "An address or network as 192.0.2.7 or 192.0.2.0/24; a player id (16 hex digits); " +
	"an identity (64 hex digits); an online id, or title/online id.";

// preset: { kind, value }
export function addBan(preset, after) {
	act({
		title: "Ban somebody",
		text: "It holds at once on every part of the server: connections that are there end too.",
		fields: [
			{ name: "kind", label: "What", type: "select", options: KINDS, value: preset.kind || "address" },
			{ name: "value", label: "Who", value: preset.value || "", required: true, max: 200, hint: HINT },
			{ name: "reason", label: "Why", max: 200, hint: "For you and the other operators; it stands in the audit trail." },
			{ name: "length", label: "For how long", type: "select", options: LENGTHS, value: "" },
		],
		request: ({ kind, value, reason, length }) => ({
			method: "POST", path: "bans",
			body: { kind, value, ...(reason ? { reason } : {}), ...(length ? { expires_s: Number(length) } : {}) },
		}),
		explain: (dry, { length }) => [
			`${dry.value} (${dry.kind}) may not come any more${length ? `, for ${seconds(Number(length))}` : ", until the ban is removed"}.`,
			`${count(dry.ends ?? 0, "connection")} that ${dry.ends === 1 ? "is" : "are"} there now will end.`,
		],
		confirm: "Ban",
		danger: true,
		said: (answer) => `${answer.value} is banned; ${count(answer.ends ?? 0, "connection")} ended.`,
		after,
	});
}

export function banButton(preset, after, text = "Ban") {
	return h("button", { type: "button", class: "danger", onclick: () => addBan(preset, after) }, text);
}

function removeBan(ban, after) {
	act({
		title: "Remove this ban?",
		request: () => ({ method: "DELETE", path: `bans/${part(ban.id)}` }),
		explain: () => [`${ban.value} (${ban.kind}) may come again.`, ban.reason ? `The ban was made because: ${ban.reason}` : null],
		confirm: "Remove the ban",
		said: () => `${ban.value} may come again.`,
		after,
	});
}

export function list(route) {
	return listView(route, {
		title: "Bans",
		buttons: (table) => forOperator(() =>
			h("button", { type: "button", class: "primary", onclick: () => addBan({}, () => table.refresh(true)) }, "Add a ban")),
		columns: [
			{ title: "Who", value: (b) => b.value, show: (b) => b.kind === "player" ? playerLink(b.value) : h("code", { class: b.value.length > 40 ? "long" : null, title: b.value }, b.value), kind: "id" },
			{ title: "Kind", value: (b) => b.kind, show: (b) => pill(b.kind) },
			{ title: "Reason", value: (b) => b.reason },
			{ title: "Until", value: (b) => b.until_at, show: (b) => time(b.until_at, "for ever") },
			{ title: "Hits", value: (b) => b.hits, show: (b) => number(b.hits), kind: "number" },
			{ title: "Made", value: (b) => b.made_at, show: (b) => time(b.made_at) },
			{ title: "By", value: (b) => b.by },
		],
		filters: [
			{ name: "kind", label: "Kind", options: [["", "all"], ...KINDS] },
			{ name: "q", label: "Part of who or why" },
		],
		load: (parameters) => get("bans", parameters),
		key: (b) => String(b.id),
		actions: forOperator(() => (b, again) => actionButton("Remove", () => removeBan(b, again), `the ban of ${b.value}`)),
		empty: "Nobody is banned.",
		refreshOn: ["ban."],
	});
}
