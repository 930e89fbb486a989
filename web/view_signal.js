// Peers registered at the signaling relay.

import { get, part } from "./api.js";
import { act } from "./dialog.js";
import { h, pill } from "./dom.js";
import { bytes, time } from "./format.js";
import { actionButton } from "./table.js";
import { addBan } from "./view_bans.js";
import { forOperator, listView } from "./view_common.js";

const shortOf = (identity) => `${identity.slice(0, 16)}…`;

function close(peer, after) {
	act({
		title: "Close this peer's connection?",
		text: "He may connect again, unless he is banned.",
		request: () => ({ method: "DELETE", path: `signal/${part(peer.identity)}` }),
		explain: () => [`The connection of ${peer.identity} from ${peer.address} ends.`],
		confirm: "Close it",
		danger: true,
		said: () => `The connection of ${shortOf(peer.identity)} is closed.`,
		after,
	});
}

export function list(route) {
	return listView(route, {
		title: "Signaling",
		columns: [
			{ title: "Identity", value: (p) => p.identity, show: (p) => h("code", { class: "long", title: p.identity }, p.identity), kind: "id" },
			{ title: "Address", value: (p) => p.address, kind: "id" },
			{ title: "Kind", value: (p) => p.kind, show: (p) => pill(p.kind) },
			{ title: "Since", value: (p) => p.since_at, show: (p) => time(p.since_at) },
			{ title: "Waiting for him", value: (p) => p.queued_bytes, show: (p) => bytes(p.queued_bytes), kind: "number" },
		],
		load: (parameters) => get("signal", parameters),
		key: (p) => p.identity,
		actions: forOperator(() => (p, again) => [
			actionButton("Close", () => close(p, again), `the connection of ${shortOf(p.identity)}`),
			actionButton("Ban", () => addBan({ kind: "identity", value: p.identity }, again), shortOf(p.identity)),
		]),
		empty: "No peer is registered.",
		refreshOn: ["signal."],
		everyMs: 5000,
	});
}
