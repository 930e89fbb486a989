// Everything at a glance: counts, live charts, what happened, what is not well.

import { Chart, haveCharts } from "./charts.js";
import { facts, fill, h, link, notice, panel, pill } from "./dom.js";
import { bytes, count, number, percent, seconds, time } from "./format.js";
import { findings } from "./health.js";
import { listen, live, refreshStatus } from "./live.js";
import { detail, kindPill } from "./view_events.js";
import { meter } from "./view_quotas.js";

const POLL_MS = 10000;
const EVENTS_SHOWN = 8;

// Name in the status's counts, title, view, and name in the figures when it is another one.
const TILES = [
	["games", "Games", "games"], ["friends", "Friends", "games"], ["lobbies", "Lobbies", "lobbies"], ["signal", "Signaling peers", "signal", "signal_peers"],
	["rooms", "Rooms", "rooms"], ["room_players", "Players in rooms", "rooms"], ["p2p_sessions", "P2P sessions", "p2p"],
	["players", "Player codes", "players"], ["campaigns", "Campaigns", "campaigns"], ["bans", "Bans", "bans"],
];

const perSecond = (n) => `${number(n)}/s`;
const ms = (n) => `${number(n)} ms`;
const drops = (f, ...parts) => parts.reduce((sum, part) => sum + (f[`drops_${part}_s`] ?? 0), 0);

function charts() {
	return [
		new Chart({ title: "Games and friends", show: number, series: [
			{ label: "Games", of: (f) => f.games }, { label: "Friends", of: (f) => f.friends, dash: true }] }),
		new Chart({ title: "Datagrams", show: perSecond, series: [
			{ label: "From friends", of: (f) => f.datagrams_up_s }, { label: "To friends", of: (f) => f.datagrams_down_s, dash: true }] }),
		new Chart({ title: "Drops", show: perSecond, series: [
			{ label: "Of games", of: (f) => drops(f, "tunnel", "ws") }, { label: "Of other parts", of: (f) => drops(f, "signal", "rooms", "p2p", "udp"), dash: true }] }),
		new Chart({ title: "Latency", show: ms, series: [
			{ label: "Commits, 99 of 100", of: (f) => f.commit_p99_ms }, { label: "Loop, at most", of: (f) => f.loop_lag_ms, dash: true }] }),
		new Chart({ title: "Disk", show: bytes, floor: 1024, series: [
			{ label: "Blobs", of: (f) => f.blob_bytes }, { label: "Database", of: (f) => f.database_bytes, dash: true }] }),
		new Chart({ title: "Quota", show: bytes, floor: 1024, series: [
			{ label: "Used by checkpoints", of: (f) => f.quota_used_bytes }, { label: "At most", of: (f) => f.quota_max_bytes, dash: true }] }),
	];
}

function makeTiles() {
	const values = new Map();
	const node = h("ul", { class: "tiles", "aria-label": "How many there are" }, TILES.map(([name, title, view, figure]) => {
		const value = h("strong", null, "–");
		values.set(value, [name, figure ?? name]);
		return h("li", null, h("a", { href: `#/${view}` }, value, h("span", null, title)));
	}));
	return {
		node,
		put: (counts, figures) => values.forEach(([name, figure], value) => {
			const n = figures?.[figure] ?? counts?.[name];
			if (n !== undefined && n !== null)
				value.textContent = number(n);
		}),
	};
}

function chartsMissing() {
	return notice("warn", h("p", null, "The charts on this page are missing: this server was built without npm. ",
		"Install npm, run ", h("code", null, "make run"), " or ", h("code", null, "npm ci --omit=dev"), " in web/ and build again. The figures stand here as numbers."));
}

function drawServer(box, s) {
	const worst = findings({ status: s }).filter((f) => f.level === "bad" || f.level === "warn");
	fill(box,
		worst.length > 0 ? h("ul", { class: "worst" }, worst.map((f) => h("li", null, pill(f.level === "bad" ? "bad" : "look at it", f.level), " ", f.what, " ", f.todo)))
			: h("p", null, pill("good", "good"), " Nothing to worry about. ", link("#/health", "All findings")),
		facts([
			["Version", s.version], ["Up for", seconds(s.uptime_s)], ["Mode", s.production ? "production" : "trying out"],
			["Free on disk", bytes(s.disk?.free_bytes)], ["Database", bytes(s.disk?.database_bytes)], ["Blobs", bytes(s.disk?.blob_bytes)],
		]),
		s.quota ? meter(s.quota.used_bytes, s.quota.max_bytes,
			`${bytes(s.quota.used_bytes)} of ${bytes(s.quota.max_bytes)} for checkpoints (${percent(s.quota.used_bytes, s.quota.max_bytes)})`) : null);
}

function drawEvents(box) {
	const newest = live.events.slice(0, EVENTS_SHOWN);
	fill(box, newest.length === 0 ? h("p", { class: "muted" }, "Nothing has happened since this page was opened.")
		: h("ol", { class: "happened" }, newest.map((e) => h("li", null, time(e.at), kindPill(e), detail(e)))),
		link("#/events", "All events"));
}

function drawDrain(box, s) {
	const d = s?.drain;
	const on = s?.state === "draining";
	box.hidden = !on;
	fill(box, on ? notice("warn", h("p", null, "The server is draining: nothing new begins. ",
		d?.deadline_at ? ["It stops ", time(d.deadline_at), ". "] : null,
		d?.left ? `Still there: ${count(d.left.games ?? 0, "game")}, ${count(d.left.friends ?? 0, "friend")}. ` : null, link("#/maintenance", "Maintenance"))) : null);
}

export function list() {
	const tiles = makeTiles();
	const box = { server: h("div"), events: h("div"), drain: h("div", { hidden: true }) };
	const all = charts();
	const draw = () => {
		tiles.put(live.status?.counts, live.state === "live" ? live.figures.at(-1) : null);
		all.forEach((chart) => chart.update(live.figures));
	};
	const drawStatus = () => {
		drawDrain(box.drain, live.status);
		if (live.status)
			drawServer(box.server, live.status);
	};
	let frame = 0; // many events that come at once are drawn once
	const off = listen((what) => {
		if (what === "figures" || what === "status")
			draw();
		if (what === "status")
			drawStatus();
		if (what === "event" || what === "state")
			frame ||= requestAnimationFrame(() => {
				frame = 0;
				drawEvents(box.events);
			});
	});
	// What the figures do not have, and all of it where no events come.
	const timer = setInterval(() => document.visibilityState === "visible" && refreshStatus().catch(() => {}), POLL_MS);

	draw();
	drawStatus();
	drawEvents(box.events);
	return {
		title: "Overview",
		node: h("div", { class: "stack" }, box.drain, tiles.node, haveCharts ? null : chartsMissing(),
			h("div", { class: "charts" }, all.map((chart) => chart.node)),
			h("div", { class: "grid" }, panel("Server", box.server), panel("Newest events", box.events))),
		destroy() {
			clearInterval(timer);
			off();
			cancelAnimationFrame(frame);
			all.forEach((chart) => chart.destroy());
		},
	};
}
