// Tokens: who may use the operator's surface, in which role, until when.

import { get, part } from "./api.js";
import { act, closeButton, openDialog } from "./dialog.js";
import { h, notice, pill } from "./dom.js";
import { serverNow, seconds, time } from "./format.js";
import { say } from "./say.js";
import { actionButton } from "./table.js";
import { listView } from "./view_common.js";

const LENGTHS = [["7776000", "90 days"], ["3600", "an hour"], ["86400", "a day"], ["604800", "a week"], ["31536000", "a year"], ["0", "for ever"]];

async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
		say("good", "The token is in the clipboard.");
	} catch {
		say("bad", "It could not be copied; select it by hand.");
	}
}

// It is nowhere else, so nothing closes this by accident but the person.
function showToken(answer) {
	const input = h("input", { type: "text", readonly: true, value: answer.token, "aria-label": "The new token", class: "secret", onfocus: (e) => e.target.select() });
	openDialog(`Token ${answer.name} is made`, (dialog) => [
		notice("warn", h("p", null, "It is shown this once; the server keeps only a digest of it.")),
		input,
		h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => copy(answer.token) }, "Copy"), closeButton(dialog, "I have it")),
	]);
}

function addToken(after) {
	act({
		title: "Make a token",
		fields: [
			{ name: "name", label: "Name", required: true, max: 60, hint: "Whose it is, or what for. It stands in the audit trail." },
			{ name: "role", label: "Role", type: "select", options: [["viewer", "viewer: may look"], ["operator", "operator: may do everything"]], value: "viewer" },
			{ name: "length", label: "Good for", type: "select", options: LENGTHS, value: "7776000" },
		],
		request: ({ name, role, length }) => ({ method: "POST", path: "tokens", body: { name, role, expires_s: Number(length) } }),
		explain: (_, { name, role, length }) => [
			`Whoever has the token “${name}” may ${role === "operator" ? "do everything that you may" : "look at everything, and change nothing"}` +
			`${length === "0" ? ", until it is revoked" : `, for ${seconds(Number(length))}`}.`],
		confirm: "Make it",
		show: showToken,
		after,
	});
}

function revokeToken(token, after) {
	act({
		title: `Revoke token “${token.name}”?`,
		text: "At once, also on pages and events that it opened. If it is the one that you use now, you are signed out.",
		request: () => ({ method: "DELETE", path: `tokens/${part(token.id)}` }),
		explain: () => [`Token ${token.id} (${token.name}, ${token.role}) is no longer taken.`],
		confirm: "Revoke it",
		danger: true,
		said: () => `Token “${token.name}” is revoked.`,
		after,
	});
}

function stateOf(t) {
	if (t.revoked_at)
		return "revoked";
	return t.expires_at && Date.parse(t.expires_at) <= serverNow() ? "expired" : "good";
}

const STATES = { good: "good", expired: "plain", revoked: "warn" };

export function list(route) {
	return listView(route, {
		title: "Tokens",
		buttons: (table) => h("button", { type: "button", class: "primary", onclick: () => addToken(() => table.refresh(true)) }, "Make a token"),
		columns: [
			{ title: "Name", value: (t) => t.name },
			{ title: "Id", value: (t) => t.id, kind: "number" },
			{ title: "Role", value: (t) => t.role, show: (t) => pill(t.role, t.role === "operator" ? "info" : "plain") },
			{ title: "State", value: stateOf, show: (t) => pill(stateOf(t), STATES[stateOf(t)]) },
			{ title: "Ends", value: (t) => t.expires_at, show: (t) => time(t.expires_at, "never") },
			{ title: "Last used", value: (t) => t.used_at, show: (t) => time(t.used_at, "not yet") },
			{ title: "Made", value: (t) => t.made_at, show: (t) => time(t.made_at) },
			{ title: "By", value: (t) => t.made_by },
			{ title: "Revoked", value: (t) => t.revoked_at, show: (t) => time(t.revoked_at) },
		],
		load: (parameters) => get("tokens", parameters),
		key: (t) => String(t.id),
		actions: (t, again) => stateOf(t) === "good" ? actionButton("Revoke", () => revokeToken(t, again), `token ${t.name}`) : null,
		empty: "There is no token.",
		refreshOn: ["token.", "admin."],
	});
}
