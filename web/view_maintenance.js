// Maintenance: drain, reload, backup, blobs.

import { get } from "./api.js";
import { act } from "./dialog.js";
import { facts, fill, h, panel, pill } from "./dom.js";
import { bytes, count, number, seconds, time } from "./format.js";
import { refreshStatus } from "./live.js";
import { forOperator, oneView } from "./view_common.js";

function drain(after) {
	act({
		title: "Drain the server?",
		text: "No new games, lobbies, rooms or sessions. Who plays goes on, and friends still come. At the deadline the server stops.",
		fields: [{ name: "minutes", label: "Stops after so many minutes", type: "number", min: 0, max: 10080, value: 60, required: true, hint: "0: never by itself." }],
		request: ({ minutes }) => ({ method: "POST", path: "drain", body: { deadline_s: minutes * 60 } }),
		explain: (dry, { minutes }) => ["Nothing new begins from now on.",
			minutes > 0 ? `In ${seconds(minutes * 60)} the server stops.` : "The server does not stop by itself.",
			dry.left ? `Now under way: ${leftText(dry.left)}.` : null],
		confirm: "Drain",
		danger: true,
		said: () => "The server is draining.",
		after,
	});
}

function undrain(after) {
	act({
		title: "Take the drain back?",
		request: () => ({ method: "DELETE", path: "drain" }),
		explain: () => ["New games, lobbies, rooms and sessions begin again, and the server does not stop."],
		confirm: "Take it back",
		said: () => "The server takes new games again.",
		after,
	});
}

function reload(after) {
	const lines = (a) => [
		...(a.changed || []).map((text) => `Changes: ${text}`),
		...(a.restart || []).map((text) => `Needs a restart: ${text}`),
		...(a.problems || []).map((text) => `Problem: ${text}`),
	];
	act({
		title: "Read the settings again?",
		text: "From the configuration file, as it is now; the certificate too.",
		request: () => ({ method: "POST", path: "reload" }),
		explain: (dry) => lines(dry).length > 0 ? lines(dry) : ["Nothing would change."],
		confirm: "Reload",
		said: (a) => `The settings were read again: ${count((a.changed || []).length, "change")}.` +
			((a.restart || []).length > 0 ? ` ${count(a.restart.length, "setting")} need a restart.` : ""),
		after,
	});
}

function backup(after) {
	act({
		title: "Make a backup?",
		text: "Beside the running server. It may take a while; the page waits until it is verified.",
		fields: [{ name: "dest", label: "Name", required: true, pattern: "[A-Za-z0-9_-][A-Za-z0-9_.-]*", max: 100,
			value: `coopd-${new Date().toISOString().slice(0, 16).replace(/[:T]/g, "-")}`, hint: "A plain name; it is made below backup.dir." }],
		request: ({ dest }) => ({ method: "POST", path: "backup", body: { dest } }),
		explain: (dry, { dest }) => [`A backup is written to ${dry.dest ?? dest}.`,
			dry.blobs === undefined ? null : `It has ${count(dry.blobs, "blob")} to look at.`],
		confirm: "Make it",
		said: (a) => `The backup ${a.dest} is made and verified: ${bytes(a.bytes_copied)} copied in ${seconds((a.took_ms ?? 0) / 1000)}.`,
		after,
	});
}

function sweep(after) {
	act({
		title: "Sweep files that no checkpoint needs?",
		text: "They go into the trash of blobs, and from there after some days.",
		request: () => ({ method: "POST", path: "blobs/sweep", body: { confirm: true } }),
		explain: (dry) => [`${count(dry.moved ?? 0, "file")}, ${bytes(dry.bytes ?? 0)}, go into the trash.`],
		confirm: "Sweep",
		danger: true,
		said: (a) => `${count(a.moved ?? 0, "file")}, ${bytes(a.bytes ?? 0)}, are in the trash now.`,
		after,
	});
}

function leftText(left) {
	return Object.entries(left || {}).map(([name, n]) => `${number(n)} ${name.replaceAll("_", " ")}`).join(", ");
}

function drainFacts(d) {
	return d.draining ? facts([["State", pill("draining", "warn")], ["Since", time(d.since_at)], [d.hand_over ? "Hands over" : "Stops", time(d.deadline_at, "not by itself")], ["Left", leftText(d.left)]])
		: facts([["State", pill("not draining", "good")]]);
}

function backupFacts(b) {
	if (b.running)
		return facts([["Now", pill("being made", "info"), ` ${number(b.blobs_done)} of ${number(b.blobs)} blobs`], ["To", b.dest], ["Began", time(b.began_at)]]);
	return facts([
		["Last", b.ended_at ? time(b.ended_at) : "none since the start"],
		b.ended_at ? ["Result", pill(b.result, b.result === "ok" ? "good" : "bad")] : null,
		b.ended_at ? ["To", b.dest] : null,
	]);
}

function blobFacts(b) {
	return facts([
		["Blobs", number(b.blobs), ", ", bytes(b.bytes)], ["Not needed", number(b.garbage)], ["In the trash", number(b.trash), ", ", bytes(b.trash_bytes)],
		["Damaged", number(b.damaged)], ["Missing", b.missing === null || b.missing === undefined ? "not checked yet" : number(b.missing)],
	]);
}

export function list() {
	return oneView({
		title: "Maintenance",
		async load() {
			const [status, drainState, backupState, blobs] = await Promise.all([refreshStatus(), get("drain"), get("backup"), get("blobs")]);
			return { status, drain: drainState, backup: backupState, blobs };
		},
		gone: "This server has no maintenance.",
		refreshOn: (event) => /^(server|store|admin)\./.test(event.kind),
		build(again) {
			const box = { drain: h("div"), backup: h("div"), blobs: h("div") };
			const button = (text, run, kind) => h("button", { type: "button", class: kind, onclick: () => run(again) }, text);
			const buttons = (...all) => forOperator(() => h("div", { class: "buttons" }, all));
			const start = button("Drain", drain, "danger");
			const back = button("Take it back", undrain);
			return {
				node: h("div", { class: "grid" },
					panel("Drain", box.drain, buttons(start, back)),
					panel("Settings", h("p", null, "The configuration file can be read again while people play."), buttons(button("Reload the settings", reload))),
					panel("Backup", box.backup, buttons(button("Make a backup", backup))),
					panel("Blobs", box.blobs, buttons(button("Sweep", sweep)))),
				update(d) {
					fill(box.drain, drainFacts(d.drain));
					start.hidden = d.drain.draining;
					back.hidden = !d.drain.draining;
					fill(box.backup, backupFacts(d.backup));
					fill(box.blobs, blobFacts(d.blobs));
				},
			};
		},
	});
}
