// What is well and what is not, as far as the server knows it itself. Each finding says what to do.

import { bytes, count, localTime, percent, seconds, serverNow } from "./format.js";

const MIB = 1048576;
const DAY_MS = 86400000;

const rank = { bad: 0, warn: 1, info: 2, good: 3 };

function ofState(s) {
	const rows = {
		ready: ["good", "The server is ready."],
		starting: ["warn", "The server is starting.", "Wait a moment."],
		draining: ["warn", "The server is draining: nothing new begins.", "Take it back under Maintenance if that is not meant."],
		failing: ["bad", "The server is failing.", "Read its log; most likely the disk does not take what it writes."],
	};
	return rows[s.state] || ["warn", `The server is ${s.state}.`];
}

function ofStore(s) {
	const rows = {
		ok: ["good", "The store answers."],
		slow: ["warn", "The store is slow.", "Look at what else uses the disk."],
		failing: ["bad", "The store has failed: nothing durable is answered until a restart.", "Read the log, look after the disk, then restart coopd."],
	};
	return rows[s.store] || ["warn", `The store is ${s.store}.`];
}

function ofDisk({ disk }) {
	if (!disk || disk.free_bytes === null || disk.free_bytes === undefined)
		return null;
	const what = `${bytes(disk.free_bytes)} are free where the data folder is.`;
	if (disk.free_bytes < 256 * MIB)
		return ["bad", what, "Make room now: when the disk is full, nothing can be stored."];
	if (disk.free_bytes < 1024 * MIB)
		return ["warn", what, "Make room soon, or move the data folder to a larger disk."];
	return ["good", what];
}

function ofWal({ disk }) {
	if (!disk || !(disk.wal_bytes > 64 * MIB))
		return null;
	return ["warn", `The write-ahead log has ${bytes(disk.wal_bytes)}.`,
		"A program that reads the database (sqlite3, a backup) keeps it from shrinking: end it."];
}

function ofQuota({ quota }) {
	if (!quota || !quota.max_bytes)
		return null;
	const what = `${percent(quota.used_bytes, quota.max_bytes)} of the room for checkpoints are used.`;
	const full = quota.used_bytes / quota.max_bytes;
	return full > 0.95 ? ["bad", what, "Raise the total quota, or remove campaigns that nobody plays."]
		: full > 0.8 ? ["warn", what, "Plan for more room."] : ["good", what];
}

function ofProduction(s) {
	return s.production ? ["good", "It runs in production mode."]
		: ["info", "It does not run in production mode: it listens on loopback only.", "Set server.production when people are to play here."];
}

function ofParts(s) {
	const off = Object.entries(s.parts || {}).filter(([, on]) => !on).map(([name]) => name);
	return off.length > 0 ? ["info", `Switched off: ${off.join(", ")}.`] : ["good", "All parts are on."];
}

const isPublic = (address) => !/^(127\.|\[::1\]|localhost|unix:|\/)/.test(address);

function ofAdmin(s) {
	const open = (s.listeners || []).filter((l) => l.part.startsWith("admin") && isPublic(l.address));
	return open.length > 0 ? ["warn", `The operator's surface listens on ${open.map((l) => l.address).join(", ")}, without TLS.`,
		"Keep it on loopback, and come through an SSH tunnel or a proxy with TLS."] : null;
}

function ofCertificate(s) {
	const at = s.certificate?.expires_at ?? s.certificate?.not_after;
	if (!at)
		return null;
	const left = Date.parse(at) - serverNow();
	const what = left <= 0 ? `The certificate has expired on ${localTime(at)}.` : `The certificate is good for ${seconds(left / 1000)}.`;
	return left <= 0 ? ["bad", what, "Renew it, then reload the settings under Maintenance."]
		: left < 14 * DAY_MS ? ["warn", what, "Renew it soon, then reload the settings under Maintenance."] : ["good", what];
}

function ofTls(settings) {
	const set = (key) => settings.find((s) => s.key === key);
	const cert = set("tls.cert");
	return cert && !cert.value ? ["info", "There is no certificate of its own (tls.cert).", "Fine behind a proxy that has one; see the README."] : null;
}

function ofBlobs(b) {
	const rows = [];
	if (b.damaged > 0)
		rows.push(["bad", `${count(b.damaged, "blob")} found damaged.`, "Restore them from a backup; the log names them."]);
	if (b.missing > 0)
		rows.push(["bad", `${count(b.missing, "blob")} missing.`, "Restore them from a backup; the log names them."]);
	if (b.garbage > 0)
		rows.push(["info", `${count(b.garbage, "file")} that no checkpoint needs.`, "Sweep them under Maintenance when you need the room."]);
	return rows.length > 0 ? rows : [["good", `${count(b.blobs ?? 0, "blob")}, none known to be damaged.`]];
}

function ofBackup(b) {
	if (b.running)
		return ["info", "A backup is being made."];
	if (!b.ended_at)
		return ["warn", "No backup was made since the server started.", "Make one under Maintenance, or set backup.every."];
	if (b.result !== "ok")
		return ["bad", `The last backup failed: ${b.result}.`, "Read the log, then make one under Maintenance."];
	const age = serverNow() - Date.parse(b.ended_at);
	return age > 7 * DAY_MS ? ["warn", `The last backup is ${seconds(age / 1000)} old.`, "Make one under Maintenance."]
		: ["good", `The last backup was made on ${localTime(b.ended_at)}.`];
}

function ofClock(serverAt, askedAt) {
	const off = Math.abs(Date.parse(serverAt) - askedAt) / 1000;
	return off > 60 ? ["warn", `The server's clock and this computer's are ${seconds(off)} apart.`, "See to the time service of both."] : null;
}

// Of what was asked for; what is missing (not allowed, or failed) is left out. The worst first.
export function findings({ status, settings, blobs, backup, askedAt }) {
	const rows = [];
	if (status) {
		rows.push(ofState(status), ofStore(status), ofDisk(status), ofWal(status), ofQuota(status), ofProduction(status), ofParts(status),
			ofAdmin(status), ofCertificate(status), askedAt ? ofClock(status.now_at, askedAt) : null);
	}
	if (settings && !status?.certificate)
		rows.push(ofTls(settings));
	if (blobs)
		rows.push(...ofBlobs(blobs));
	if (backup)
		rows.push(ofBackup(backup));
	return rows.filter(Boolean).map(([level, what, todo]) => ({ level, what, todo: todo || "" }))
		.sort((a, b) => rank[a.level] - rank[b.level]);
}
