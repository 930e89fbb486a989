// A server that answers as src/admin/PROTOCOL.md says, from data of every kind: what the page's layout is tried against.
//
//	node mock.mjs [PORT]		to look at it by hand: token a...a (operator) or b...b (viewer), 64 times
//
// In tests: const mock = await startMock(); ... mock.emit({ kind, ... }); mock.close();

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as data from "./mock_data.mjs";

const WEB = join(dirname(fileURLToPath(import.meta.url)), "../../web");
const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", svg: "image/svg+xml" };

export const OPERATOR = "a".repeat(64);
export const VIEWER = "b".repeat(64);
export const SECRET = "c".repeat(64);

const roles = { [OPERATOR]: "operator", [VIEWER]: "viewer" };

class Refused extends Error {
	constructor(status, code, message) {
		super(message);
		Object.assign(this, { status, code });
	}
}

const missing = () => new Refused(404, "not_found", "there is nothing here by that name");

// --- Files of the page ---

function fileOf(name, withCharts) {
	const paths = [join(WEB, name), ...(withCharts ? [join(WEB, "node_modules/uplot/dist", name)] : [])];
	const path = /^[A-Za-z0-9_.]+$/.test(name) ? paths.find((p) => existsSync(p)) : null;
	if (path)
		return readFileSync(path);
	return { "uPlot.esm.js": "export default null;\n", "uPlot.min.css": "" }[name] ?? null;
}

function serveFile(response, name, { port, withCharts }) {
	const bytes = fileOf(name, withCharts);
	if (bytes === null)
		throw missing();
	response.writeHead(200, {
		"Content-Type": TYPES[name.split(".").pop()],
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
			`connect-src 'self' ws://127.0.0.1:${port}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	});
	response.end(bytes);
}

// --- Answers ---

let rowsMax = Infinity;

// Of every list only so many: axe takes its time with long ones.
export function showFew(n) {
	rowsMax = n;
}

function page(items, query, keep = () => true) {
	const limit = Number(query.get("limit") || 100);
	const from = Number(query.get("cursor") || 0);
	const fitting = items.filter(keep).slice(0, rowsMax);
	return { items: fitting.slice(from, from + limit), next: from + limit < fitting.length ? String(from + limit) : null };
}

const has = (text, part) => String(text).toLowerCase().includes((part || "").toLowerCase());
const one = (items, name, value) => items.find((x) => String(x[name]) === value) || (() => { throw missing(); })();

function status(mock) {
	return {
		version: "1.7.0", started_at: mock.startedAt, now_at: new Date().toISOString(), uptime_s: 93784, state: mock.drain ? "draining" : "ready", store: "ok", production: true,
		counts: { games: mock.games.length, hosts: 12, friends: 31, players: 260, campaigns: data.campaigns.length, lobbies: 12, signal: 9, rooms: 8, room_players: 21, boards: 5, p2p_sessions: 7, p2p_rooms: 2, bans: mock.bans.length },
		disk: { free_bytes: 812345678, database_bytes: 41234567, wal_bytes: 4123456, blob_bytes: 8912345678 }, quota: { used_bytes: 8912345678, max_bytes: 10737418240 },
		parts: { tunnel: true, cloud: true, lobby: true, signal: true, rooms: true, p2p: true, update: false },
		listeners: [{ part: "tunnel", address: "127.0.0.1:64190" }, { part: "http", address: "0.0.0.0:10001" }, { part: "admin", address: `127.0.0.1:${mock.port}` }, { part: "admin-events", address: `127.0.0.1:${mock.port}` }],
		drain: mock.drain,
	};
}

const reads = {
	whoami: (m, q, role) => ({ who: role === "operator" ? "token 3 (elke)" : "token 4 (grafana)", role, expires_at: new Date(Date.now() + 40000000).toISOString() }),
	status: (m) => status(m),
	settings: (m, q) => page(data.settings, q),
	drain: (m) => m.drain || { draining: false, since_at: null, deadline_at: null, left: { games: 14, friends: 31, lobbies: 12, rooms: 8, room_players: 21, p2p_sessions: 7, uploads: 1 } },
	backup: () => data.backup, blobs: () => data.blobs,
	games: (m, q) => page(m.games, q, (g) => (!q.get("host") || g.host === q.get("host"))),
	players: (m, q) => page(data.players, q, (p) => p.id.startsWith(q.get("q") || "") && (!q.get("code") || String(p.code) === q.get("code"))),
	campaigns: (m, q) => page(m.campaigns, q, (c) => has(c.name, q.get("q")) && has(c.level, q.get("level")) && has(c.owner, q.get("owner")) &&
		(q.get("trash") === "also" || (q.get("trash") === "only") === (c.trashed_at !== null))),
	quotas: () => data.quotas, "quotas/players": (m, q) => page(data.quotaPlayers, q), "quotas/campaigns": (m, q) => page(data.quotaCampaigns, q),
	lobbies: (m, q) => page(data.lobbies, q, (l) => has(l.name, q.get("q"))), signal: (m, q) => page(data.signal, q),
	rooms: (m, q) => page(data.rooms, q), "rooms/players": (m, q) => page(data.roomPlayers, q), boards: (m, q) => page(data.boards, q),
	"p2p/sessions": (m, q) => page(data.sessions, q), "p2p/rooms": (m, q) => page(data.p2pRooms, q),
	bans: (m, q) => page(m.bans, q, (b) => (!q.get("kind") || b.kind === q.get("kind")) && (has(b.value, q.get("q")) || has(b.reason, q.get("q")))),
	tokens: (m, q) => page(data.tokens, q), audit: (m, q) => page(data.audit, q, (a) => has(a.action, q.get("action")) && has(a.who, q.get("who"))),
};

const readOnes = [
	[/^games\/(.+)$/, (m, [code]) => data.game(one(m.games, "code", code))],
	[/^players\/(.+)$/, (m, [id]) => data.player(one(data.players, "id", id))],
	[/^campaigns\/([^/]+)$/, (m, [id]) => data.campaign(one(m.campaigns, "id", id))],
	[/^campaigns\/[^/]+\/checkpoint$/, () => "the bytes of a checkpoint"],
	[/^quotas\/players\/(.+)$/, (m, [id]) => one(data.quotaPlayers, "id", id)],
	[/^quotas\/campaigns\/(.+)$/, (m, [id]) => one(data.quotaCampaigns, "id", id)],
	[/^rooms\/(\d+)$/, (m, [id]) => data.room(one(data.rooms, "id", id))],
	[/^boards\/[^/]+\/\d+$/, (m, _, q) => page(data.scores, q)],
	[/^boards\/[^/]+\/\d+\/csv$/, () => "name,score,comment,recorded_at\r\nElke,98765,,\r\n"],
	[/^p2p\/rooms\/(.+)$/, (m, [room]) => data.p2pRoom(one(data.p2pRooms, "room_key", room))],
];

function addBan(m, body, dry) {
	if (body.kind === "address" && /^127\./.test(body.value) && !body.force)
		throw new Refused(409, "force", "this ban covers the address that you come from");
	const ban = { id: m.bans.length + 10, kind: body.kind, value: body.value, reason: body.reason || "", made_at: data.at(0), by: "token 3 (elke)", hits: 0,
		until_at: body.expires_s ? data.at(-body.expires_s) : null };
	if (!dry) {
		m.bans.unshift(ban);
		m.emit({ kind: "ban.added", ban: ban.id, value: ban.value });
	}
	return { ...ban, ends: 2 };
}

function closeGame(m, code, dry) {
	const game = one(m.games, "code", code);
	if (!dry) {
		m.games = m.games.filter((g) => g !== game);
		m.emit({ kind: "game.closed", code: game.code, reason: "operator" });
	}
	return { ok: true, friends: game.friends };
}

function revoke(m, id, dry) {
	const c = one(m.campaigns, "id", id);
	if (!dry) {
		m.campaigns = m.campaigns.map((x) => x === c ? { ...c, trashed_at: data.at(0) } : x);
		m.emit({ kind: "campaign.revoked", campaign: c.id, name: c.name });
	}
	return { ok: true, name: c.name, uploads: 1, downloads: 0 };
}

function setDrain(m, body, dry) {
	const drain = { draining: true, since_at: data.at(0), deadline_at: body.deadline_s ? data.at(-body.deadline_s) : null, left: reads.drain({}).left };
	if (!dry)
		m.drain = drain;
	return { ok: true, ...drain };
}

const acts = [
	["DELETE", /^games\/(\d+)$/, (m, [code], body, dry) => closeGame(m, code, dry)],
	["DELETE", /^campaigns\/([^/]+)$/, (m, [id], body, dry) => revoke(m, id, dry)],
	["POST", /^bans$/, (m, _, body, dry) => addBan(m, body, dry)],
	["DELETE", /^bans\/(\d+)$/, (m, [id], body, dry) => {
		if (!dry)
			m.bans = m.bans.filter((b) => String(b.id) !== id);
		return { ok: true };
	}],
	["POST", /^tokens$/, (m, _, body) => ({ id: 9, name: body.name, role: body.role, token: "d".repeat(64), expires_at: null })],
	["POST", /^drain$/, (m, _, body, dry) => setDrain(m, body, dry)],
	["DELETE", /^drain$/, (m, _, body, dry) => {
		m.drain = dry ? m.drain : null;
		return { ok: true };
	}],
	["POST", /^reload$/, () => ({ ok: true, changed: ["limits.tunnel_friends: 8 -> 12"], restart: ["http.listen"], problems: [] })],
	["POST", /^boards\/.+\/csv$/, (m, _, body) => ({ ok: true, imported: String(body).trim().split("\n").length - 1, skipped: 0 })],
	["POST", /^blobs\/sweep$/, () => ({ ok: true, moved: 4, bytes: 812345 })],
	["POST", /^campaigns\/[^/]+\/restore$/, () => ({ ok: true, version: 10 })],
	["POST", /^players\/[^/]+\/code$/, (m, _, body) => ({ ok: true, code: body.code ?? 654321, old_code: 123456 })],
	[null, /./, () => ({ ok: true })],
];

// --- Requests ---

function textOf(request) {
	return new Promise((resolve) => {
		const parts = [];
		request.on("data", (bytes) => parts.push(bytes));
		request.on("end", () => resolve(Buffer.concat(parts).toString()));
	});
}

async function api(mock, request, path, query) {
	const role = mock.roles[(request.headers.authorization || "").replace(/^Bearer /, "")];
	const text = await textOf(request);

	if (path === "login/use") {
		if (JSON.parse(text).secret !== SECRET || mock.linkUsed)
			throw new Refused(401, "token", "this link was used already, or is over");
		mock.linkUsed = true;
		return { token: OPERATOR, role: "operator", expires_at: data.at(-43200) };
	}
	if (!role)
		throw new Refused(401, "token", "send a token of this server");
	if (request.method === "GET") {
		if (path === "tokens" && role !== "operator")
			throw new Refused(403, "role", "this token may only look");
		if (reads[path])
			return reads[path](mock, query, role);
		for (const [pattern, answer] of readOnes) {
			const found = pattern.exec(path);
			if (found)
				return answer(mock, found.slice(1).map(decodeURIComponent), query);
		}
		throw missing();
	}
	if (path !== "logout" && role !== "operator")
		throw new Refused(403, "role", "this token may only look");
	const dry = query.get("dry_run") === "true";
	const body = (request.headers["content-type"] || "").includes("json") && text ? JSON.parse(text) : text || {};
	const [, pattern, run] = acts.find(([method, p]) => (method === null || method === request.method) && p.test(path));
	const answer = run(mock, (pattern.exec(path) || []).slice(1).map(decodeURIComponent), body, dry);
	return dry ? { ...answer, dry_run: true } : answer;
}

async function serve(mock, request, response) {
	const url = new URL(request.url, "http://x");
	try {
		if (url.pathname === "/")
			return serveFile(response, "index.html", mock);
		if (url.pathname.startsWith("/web/"))
			return serveFile(response, url.pathname.slice(5), mock);
		const answer = await api(mock, request, url.pathname.replace("/admin/v1/", ""), url.searchParams);
		response.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-store" });
		response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
	} catch (error) {
		const [code, status] = error instanceof Refused ? [error.code, error.status] : ["internal", 500];
		response.writeHead(status, { "Content-Type": "application/json" });
		response.end(JSON.stringify({ error: { code, message: error.message } }));
	}
	return undefined;
}

// --- Events: just enough WebSocket ---

function frame(text) {
	const bytes = Buffer.from(text);
	const head = bytes.length < 126 ? Buffer.from([0x81, bytes.length]) : Buffer.from([0x81, 126, bytes.length >> 8, bytes.length & 255]);
	return Buffer.concat([head, bytes]);
}

// One whole masked frame of up to 64 KiB; null: not all of it is there.
function unframe(buffer) {
	if (buffer.length < 6)
		return null;
	const short = buffer[1] & 127;
	const at = short === 126 ? 4 : 2;
	const length = short === 126 ? buffer.readUInt16BE(2) : short;
	if (buffer.length < at + 4 + length)
		return null;
	const bytes = Buffer.from(buffer.subarray(at + 4, at + 4 + length));
	for (let i = 0; i < length; i++)
		bytes[i] ^= buffer[at + (i & 3)];
	return { opcode: buffer[0] & 15, text: bytes.toString(), rest: buffer.subarray(at + 4 + length) };
}

function close(socket, code) {
	socket.end(Buffer.from([0x88, 2, code >> 8, code & 255]));
}

function onOp(mock, socket, op) {
	if (op.op === "auth") {
		if (!mock.roles[op.token])
			return close(socket, 4401);
		socket.write(frame(JSON.stringify({ op: "hello", role: mock.roles[op.token], version: "1.7.0", seq: mock.seq, started_at: mock.startedAt })));
		mock.viewers.add(socket);
	} else if (op.op === "since") {
		mock.since.push(op.seq);
		for (const event of mock.kept.filter((e) => e.seq > op.seq))
			socket.write(frame(JSON.stringify(event)));
	}
	return undefined;
}

function upgrade(mock, request, socket) {
	const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
	let buffer = Buffer.alloc(0);
	socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
	mock.sockets.add(socket);
	socket.on("error", () => {});
	socket.on("close", () => {
		mock.viewers.delete(socket);
		mock.sockets.delete(socket);
	});
	socket.on("data", (bytes) => {
		buffer = Buffer.concat([buffer, bytes]);
		for (let got = unframe(buffer); got; got = unframe(buffer)) {
			buffer = got.rest;
			if (got.opcode === 1)
				onOp(mock, socket, JSON.parse(got.text));
			else if (got.opcode === 8)
				socket.end();
		}
	});
}

// The second-th set of figures: waves, so that charts have something to draw.
export function figures(second, base) {
	const wave = (period, height) => Math.round(height * (1 + Math.sin(second / period)));
	return {
		op: "figures", at: new Date(base + second * 1000).toISOString(), games: 14 + wave(30, 2), friends: 31 + wave(20, 5), datagrams_up_s: 900 + wave(9, 200), datagrams_down_s: 2100 + wave(9, 400),
		drops_tunnel_s: wave(14, 3), drops_ws_s: wave(14, 3), drops_rooms_s: wave(40, 1), loop_lag_ms: 0.2 + wave(7, 1) / 10, commit_p50_ms: 1.5, commit_p99_ms: 3 + wave(11, 3),
		blob_bytes: 8912345678, database_bytes: 41234567, quota_used_bytes: 8912345678, quota_max_bytes: 10737418240, lobbies: 12, signal_peers: 9, rooms: 8, room_players: 21,
		p2p_sessions: 7, p2p_rooms: 2, players: 187,
	};
}

// --- The whole ---

export async function startMock(port = 0) {
	const mock = {
		port, roles: { ...roles }, viewers: new Set(), sockets: new Set(), kept: [], since: [], seq: 0, games: [...data.games], campaigns: [...data.campaigns], bans: [...data.bans], drain: null,
		startedAt: data.at(93784), linkUsed: false, withCharts: true,
		send: (message) => mock.viewers.forEach((socket) => socket.write(frame(JSON.stringify(message)))),
		emit(event) {
			const message = { op: "event", seq: ++mock.seq, at: new Date().toISOString(), ...event };
			mock.kept.push(message);
			mock.send(message);
		},
	};
	const server = createServer((request, response) => serve(mock, request, response));
	const base = Date.now();
	const timer = setInterval(() => mock.send(figures(Math.round((Date.now() - base) / 1000), base)), 1000);

	server.on("upgrade", (request, socket) => upgrade(mock, request, socket));
	await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
	mock.port = server.address().port;
	mock.url = `http://127.0.0.1:${mock.port}/`;
	mock.close = () => {
		clearInterval(timer);
		mock.sockets.forEach((socket) => socket.destroy());
		server.closeAllConnections();
		return new Promise((resolve) => server.close(resolve));
	};
	return mock;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const mock = await startMock(Number(process.argv[2] || 10002));
	console.log(`${mock.url} ${OPERATOR}`);
}
