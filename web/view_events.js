// What happens, as it happens.

import { h, link, pill } from "./dom.js";
import { time } from "./format.js";
import { listen, live } from "./live.js";
import { Table } from "./table.js";
import { campaignLink, gameLink, pathOf, playerLink } from "./view_common.js";

const KNOWN = new Set(["op", "seq", "at", "kind"]);

// By the last word of a kind; the others are plain.
const KINDS = {
	opened: "good", joined: "good", stored: "good", made: "good", ready: "good", host_back: "good", added: "info", action: "info", draining: "warn",
	refused: "warn", revoked: "warn", host_lost: "warn", hit: "warn", stalled: "warn", space: "warn", health: "warn",
};

const show = {
	code: gameLink, host: playerLink, player: playerLink, campaign: (id) => campaignLink(id),
	room: (id, e) => link(pathOf(e.kind.startsWith("p2p.") ? "p2p" : "rooms", id), h("code", null, id)),
};

const text = (value) => value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value);
const members = (e) => Object.entries(e).filter(([name]) => !KNOWN.has(name));
const plain = (e) => members(e).map(([name, value]) => `${name}=${text(value)}`).join(" ");

export const kindPill = (e) => pill(e.kind, KINDS[e.kind.split(".").pop()]);

export function detail(e) {
	return h("span", { class: "members" }, members(e).map(([name, value]) =>
		h("span", { class: "member" }, h("span", { class: "muted" }, `${name} `), value !== null && show[name] ? show[name](value, e) : text(value))));
}

export function list() {
	let held = null; // the events that are shown while it is paused
	const lost = h("p", { class: "hint", role: "status" });
	const table = new Table({
		name: "Events",
		columns: [
			{ title: "When", value: (e) => e.at, show: (e) => time(e.at) },
			{ title: "What", value: (e) => e.kind, show: kindPill },
			{ title: "About", value: plain, show: detail },
			{ title: "Number", value: (e) => e.seq, kind: "number" },
		],
		key: (e) => `${e.seq} ${e.at}`,
		empty: "Nothing has happened yet.",
	});
	let frame = 0;
	const draw = () => {
		frame = 0;
		table.put(held || [...live.events]);
		lost.textContent = live.lost > 0 ? `${live.lost} events did not reach this page: it was too slow for them.` : "";
	};
	const pause = h("button", {
		type: "button", "aria-pressed": "false", onclick() {
			held = held ? null : [...live.events];
			pause.setAttribute("aria-pressed", String(held !== null));
			pause.textContent = held ? "Go on" : "Pause";
			draw();
		},
	}, "Pause");
	// Many that come at once are drawn once.
	const off = listen((what) => {
		if (what === "event" || what === "state")
			frame ||= requestAnimationFrame(draw);
	});
	draw();
	return {
		title: "Events",
		buttons: pause,
		node: h("div", { class: "stack" }, h("p", { class: "intro" }, "The newest first; this page keeps the last 500."), lost, table.node),
		destroy() {
			off();
			cancelAnimationFrame(frame);
			table.destroy();
		},
	};
}
