// Data of every kind, with texts that try to be markup, formulas and very long.

export const NOW = Date.now();

export const at = (seconds) => new Date(NOW - seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z");
const id = (n) => n.toString(16).padStart(16, "0").replace(/^0/, "c");
const sha = (n) => n.toString(16).padStart(8, "0").repeat(8);
const EVIL = "<img src=x onerror=alert(1)>";
const FORMULA = "=HYPERLINK(\"http://x\",\"y\")";

const names = ["Ice caves together", EVIL, FORMULA, "日本語のキャンペーン", "Ünïcödé über alles", "+49 friends", "A very long name that somebody typed to see what happens when it does not fit at all into one line", "Nanosuit night"];
const name = (n) => names[n % names.length];
const traffic = (n) => ({ datagrams: 18250 * n, bytes: 9125000 * n, dropped: n % 3 === 0 ? 12 * n : 0 });

export const games = Array.from({ length: 14 }, (_, i) => ({
	code: 482190 + i * 7919 % 400000, version: i % 4 === 3 ? 1 : 2, host: i % 4 === 3 ? null : id(i + 1), connected: i % 5 !== 4,
	state: ["playing", "open", "lost"][i % 3], friends: i % 4, made_at: at(600 * i + 30), up: traffic(i + 1), down: traffic(2 * i + 1),
	rate_up: 21000 * (i % 5), rate_down: 48000 * (i % 4),
}));

export const game = (g) => ({
	...g, address: g.connected ? "203.0.113.24:50123" : null,
	friends: Array.from({ length: g.friends }, (_, i) => ({
		number: i + 1, player: i === 2 ? null : id(40 + i), address: `198.51.100.${i + 9}:4100${i}`, connected: i !== 1, joined_at: at(300 + i), up: traffic(1), down: traffic(3),
	})),
	drops: { away: 3, size: 0, slow: 41 },
});

export const players = Array.from({ length: 260 }, (_, i) => ({
	id: id(i + 1), code: i % 3 === 2 ? null : 100000 + i * 37, made_at: at(86400 * (300 - i)), seen_at: at(3600 * i), campaigns: i % 6, bytes: 3100000 * (i % 6),
	hosting: i < 8, banned: i % 40 === 11,
}));

export const campaigns = Array.from({ length: 45 }, (_, i) => ({
	id: id(500 + i), number: i + 1, name: name(i), level: ["Ice", "Village", "Harbor", "Ascension"][i % 4], checkpoint: `cp_${i}`, hostname: i % 3 ? "Elke's PC" : EVIL,
	owner: id(i % 20 + 1), members: i % 5 + 1, version: i % 9 + 1, checkpoints: Math.min(5, i % 9 + 1), bytes: 1843200 * (i + 1), made_at: at(86400 * (i + 20)), stored_at: at(7200 * i + 60),
	used_at: at(3600 * i + 60), trashed_at: i % 11 === 10 ? at(4000) : null,
}));

const quota = (withCampaigns) => ({
	...(withCampaigns ? { campaigns: { used: 4, max: 16, override: null } } : {}),
	bytes: { used: 31000000, max: 268435456, override: 268435456 }, checkpoint: { used: 0, max: 16777216, override: null },
});

export const player = (p) => ({
	...p, campaign_list: campaigns.slice(0, 4).map((c, i) => ({ id: c.id, name: c.name, role: i ? "member" : "owner", bytes: c.bytes, stored_at: c.stored_at })), quota: quota(true),
});

export const campaign = (c) => ({
	...c,
	member_list: ["member", "member", "left", "removed"].map((state, i) => ({ player: i ? id(30 + i) : c.owner, state, used: at(9000 * (i + 1)) })),
	checkpoint_list: Array.from({ length: c.checkpoints }, (_, i) => ({
		version: c.version - i, bytes: 1843200 + i, sha256: sha(i + 77), stored_at: at(7200 * (i + 1)), by: id(i + 1), stamp: 1700000000 - i, name: c.name, level: c.level, checkpoint: c.checkpoint,
		hostname: c.hostname, small: i === 1, conflict: i === 2, container: true,
	})),
	uploads: 1, downloads: 0, quota: { bytes: { used: 5529600, max: null, override: null }, checkpoint: quota(false).checkpoint },
});

export const lobbies = Array.from({ length: 12 }, (_, i) => ({
	id: id(900 + i), name: name(i + 1), world: ["Forest", "Station", EVIL][i % 3], game: "multivoid", version: "1.4.2", players: i % 5, players_max: 8, locked: i % 4 === 1, listed: i % 3 !== 2,
	kind: i % 2 ? "brokered" : "direct", proved: i % 2 === 1, address: i % 5 === 3 ? null : `203.0.113.${i}:7777`, made_at: at(900 * i), beat_at: at(9),
}));

export const signal = Array.from({ length: 9 }, (_, i) => ({
	identity: sha(i + 300), address: `198.51.100.${i}:52${100 + i}`, kind: ["tcp", "tls", "ws"][i % 3], since_at: at(777 * i), queued_bytes: i * 512,
}));

export const rooms = Array.from({ length: 8 }, (_, i) => ({
	id: 1001 + i, title: i % 2 ? "Blast Racers" : EVIL, title_key: i % 2 ? "~426c617374" : "~3c69", members: i % 4 + 1, max: 8, owner: name(i), open: i % 3 !== 0, made_at: at(600 * i),
}));

export const room = (r) => ({
	...r, member_list: Array.from({ length: r.members }, (_, i) => ({ member: i + 1, user: 70 + i, name: name(i), address: `192.0.2.${i + 1}:36100` })),
});

export const roomPlayers = Array.from({ length: 21 }, (_, i) => ({
	user: 70 + i, title: "Blast Racers", title_key: "~426c617374", name: name(i), address: `192.0.2.${i + 1}:36100`, rooms: i % 2, since_at: at(400 * i),
}));

export const boards = Array.from({ length: 5 }, (_, i) => ({
	title: "Blast Racers", title_key: "~426c617374", board: i + 1, order: i % 2 ? "lower" : "higher", rows: 40 - i, leader: name(i), best: 98765 - i * 1111,
}));

export const scores = Array.from({ length: 40 }, (_, i) => ({
	rank: i + 1, name: `${name(i)} ${i}`, name_key: `~${(i + 16).toString(16)}`, score: 98765 - i * 1234, comment: i % 4 ? "" : FORMULA, recorded_at: at(5000 * i),
}));

export const sessions = Array.from({ length: 7 }, (_, i) => ({
	player: id(i + 60), address: `203.0.113.${i}:61${100 + i}`, room: i < 5 ? "K7QX2MNP" : null, seat: i < 5 ? i : null, nat: ["open", "port_restricted", "symmetric", null][i % 4], mapped: i % 4 === 3 ? null : `203.0.113.${i}:5500`,
	latency_ms: i % 4 === 3 ? null : 18 * i + 4, since_at: at(500 * i),
}));

export const p2pRooms = [{ room: "K7QX2MNP", room_key: "K7QX2MNP", members: 5, max: 8, game: null, epoch: 2, groups: 2 }, { room: "game:482190", room_key: "~67616d653a343832313930", members: 2, max: 8, game: 482190, epoch: 1, groups: 1 }];

export const p2pRoom = (r) => ({ ...r, member_list: sessions.slice(0, r.members).map((s, i) => ({ player: s.player, seat: i, nat: s.nat, group: i % 2 })) });

export const bans = [
	{ id: 1, kind: "address", value: "192.0.2.0/24", reason: `Floods ${EVIL}`, made_at: at(90000), by: "root", until_at: null, hits: 1204 },
	{ id: 2, kind: "player", value: id(12), reason: "=cheats", made_at: at(9000), by: "token 3 (elke)", until_at: at(-86400), hits: 3 },
	{ id: 3, kind: "identity", value: sha(301), reason: "", made_at: at(4000), by: "token 3 (elke)", until_at: at(-3600), hits: 0 },
	{ id: 4, kind: "name", value: "Blast Racers/Bad Guy", reason: "Insults", made_at: at(400), by: "root", until_at: null, hits: 9 },
];

export const tokens = [
	{ id: 3, name: "elke", role: "operator", made_at: at(864000), made_by: "root", expires_at: at(-7000000), used_at: at(2), revoked_at: null },
	{ id: 4, name: "grafana", role: "viewer", made_at: at(864000), made_by: "root", expires_at: null, used_at: at(14), revoked_at: null },
	{ id: 5, name: "web", role: "operator", made_at: at(100000), made_by: "root", expires_at: at(50000), used_at: at(60000), revoked_at: null },
	{ id: 6, name: EVIL, role: "viewer", made_at: at(900000), made_by: "token 3 (elke)", expires_at: null, used_at: null, revoked_at: at(890000) },
];

export const audit = Array.from({ length: 240 }, (_, i) => ({
	id: 900 - i, at: at(331 * i + 5), who: i % 3 ? "token 3 (elke)" : "root", via: i % 3 ? "tcp" : "unix", address: i % 3 ? "127.0.0.1:51234" : "", action: ["ban.add", "campaign.revoke", "game.close", "token.add"][i % 4],
	target: ["bans", `campaigns/${id(500)}`, "games/482190", "tokens"][i % 4], detail: i % 4 === 0 ? `{"kind":"address","value":"192.0.2.${i % 250}","reason":"${EVIL.replaceAll('"', "'")}"}` : "",
	result: ["ok", "ok", "not_found", "begun"][i % 4], ended_at: i % 4 === 3 ? null : at(331 * i + 4),
}));

export const settings = [
	["server.production", "yes", false, false, "file:3", false, "runs for people", ""], ["tls.cert", "", false, true, "default", true, "certificate chain, PEM", ""],
	["turn.secret", null, true, false, "environment COOP_TURN_SECRET", true, "shared with coturn", ""], ["limits.tunnel_friends", "8", false, true, "default", false, "per hosted game", "friends"],
	["limits.cloud_total", "10737418240", false, false, "--set", true, "checkpoints in all", "bytes"], ["admin.hosts", "", false, true, "default", true, "names besides localhost under which a browser may use the page", ""],
	...Array.from({ length: 120 }, (_, i) => [`limits.example_${i}`, String(i * 100), false, i % 7 !== 0, i % 7 ? "default" : `file:${i}`, i % 2 === 0, "a limit of something that peers can make grow", "ms"]),
].map(([key, value, secret, isDefault, source, reload, help, unit]) => ({ key, value, secret, default: isDefault, source, reload, help, unit }));

export const quotas = {
	defaults: { player_campaigns: 16, player_bytes: 134217728, campaign_bytes: 67108864, checkpoint: 16777216, total_bytes: 10737418240 },
	used: { campaigns: campaigns.length, bytes: 8912345678, spare: 1073741824, trash: 31457280 }, overrides: 3,
};
export const quotaPlayers = [{ id: id(3), campaigns: 64, bytes: 1073741824, checkpoint: null }, { id: id(9), campaigns: null, bytes: null, checkpoint: 33554432 }];
export const quotaCampaigns = [{ id: id(501), bytes: 536870912, checkpoint: null }];

export const blobs = { blobs: 311, bytes: 8912345678, garbage: 4, trash: 2, trash_bytes: 99000, damaged: 1, known: 2, missing: 0 };
export const backup = { running: false, dest: "coopd-nightly", began_at: at(40000), ended_at: at(39000), result: "ok", blobs: 311, blobs_done: 311, damaged: 0, last_good_at: at(39000), every_s: 0 };
