// Health: findings, parts and listeners.

import { get } from "./api.js";
import { facts, fill, h, panel, pill } from "./dom.js";
import { bytes, number, seconds, time } from "./format.js";
import { findings } from "./health.js";
import { refreshStatus } from "./live.js";
import { Table } from "./table.js";
import { oneView, yesNo } from "./view_common.js";

const WORDS = { bad: ["bad", "bad"], warn: ["look at it", "warn"], info: ["to know", "info"], good: ["good", "good"] };

// One that fails leaves its findings out; the others are there all the same.
async function orNull(promise) {
	try {
		return await promise;
	} catch {
		return null;
	}
}

async function load() {
	const askedAt = Date.now();
	const status = await refreshStatus();
	const [settings, blobs, backup] = await Promise.all([
		orNull(get("settings", { limit: 1000 })), orNull(get("blobs")), orNull(get("backup"))]);
	return { status, settings: settings?.items, blobs, backup, askedAt };
}

function findingsTable() {
	return new Table({
		name: "Findings",
		columns: [
			{ title: "Finding", value: (f) => f.what },
			{ title: "How it is", value: (f) => WORDS[f.level][0], show: (f) => pill(...WORDS[f.level]) },
			{ title: "What to do", value: (f) => f.todo },
		],
		key: (f) => f.what,
		empty: "Nothing was found.",
	});
}

function listenersTable() {
	return new Table({
		name: "Listeners",
		columns: [{ title: "Part", value: (l) => l.part }, { title: "Address", value: (l) => l.address, show: (l) => h("code", null, l.address) }],
		key: (l) => `${l.part} ${l.address}`,
		empty: "It listens nowhere.",
	});
}

function partsTable() {
	return new Table({
		name: "Parts",
		columns: [
			{ title: "Part", value: (p) => p.name },
			{ title: "On", value: (p) => yesNo(p.on), show: (p) => p.on ? pill("on", "good") : pill("off") },
		],
		key: (p) => p.name,
		empty: "There are no parts.",
	});
}

export function list() {
	return oneView({
		title: "Health",
		load,
		gone: "This server does not say how it is.",
		everyMs: 10000,
		refreshOn: (event) => /^(server|store|admin)\./.test(event.kind),
		build() {
			const about = h("div");
			const found = findingsTable();
			const listeners = listenersTable();
			const parts = partsTable();
			return {
				node: h("div", { class: "stack" },
					panel("Findings", h("p", { class: "hint" }, "What the server knows of itself. ", h("code", null, "coopctl doctor"),
						" also tries it from outside: ports, proxy, UDP, STUN, known holes."), found.node),
					panel("About", about),
					h("div", { class: "grid" }, panel("Listeners", listeners.node), panel("Parts", parts.node))),
				update(d) {
					const s = d.status;
					found.put(findings(d));
					listeners.put(s.listeners || []);
					parts.put(Object.entries(s.parts || {}).map(([name, on]) => ({ name, on })));
					fill(about, facts([
						["Version", s.version], ["Started", time(s.started_at)], ["Up for", seconds(s.uptime_s)],
						["Database", bytes(s.disk?.database_bytes)], ["Write-ahead log", bytes(s.disk?.wal_bytes)],
						["Blobs", bytes(s.disk?.blob_bytes), d.blobs ? `, ${number(d.blobs.blobs)} files` : ""], ["Free on disk", bytes(s.disk?.free_bytes)],
					]));
				},
				destroy: () => [found, listeners, parts].forEach((t) => t.destroy()),
			};
		},
	});
}
