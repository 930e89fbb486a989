// One campaign: members, checkpoints, and all that can be done to it.

import { get, part } from "./api.js";
import { addMember, fetchCheckpoint, purge, removeMember, restore, revoke, transfer, unrevoke } from "./campaign_actions.js";
import { facts, fill, h, panel, pill } from "./dom.js";
import { bytes, count, number as digits, time } from "./format.js";
import { Table, actionButton } from "./table.js";
import { forOperator, oneView, playerLink, yesNo } from "./view_common.js";
import { quotaFacts } from "./view_players.js";
import { quotaButton } from "./view_quotas.js";

const MEMBER_STATES = { member: "good", left: "plain", removed: "warn" };

function membersTable(now, again) {
	return new Table({
		name: "Members of this campaign",
		columns: [
			{ title: "Player", value: (m) => m.player, show: (m) => playerLink(m.player), kind: "id" },
			{ title: "State", value: (m) => m.state, show: (m) => pill(m.state, MEMBER_STATES[m.state]) },
			{ title: "Used it last", value: (m) => m.used_at ?? m.used, show: (m) => time(m.used_at ?? m.used) },
		],
		key: (m) => m.player,
		actions: forOperator(() => (m) => m.state === "member" && m.player !== now().owner
			? actionButton("Take out", () => removeMember(now(), m.player, again), `player ${m.player}`) : null),
		empty: "Nobody but the owner.",
	});
}

const marks = (c) => [c.small ? pill("small", "warn") : null, c.conflict ? pill("conflict", "warn") : null];

function checkpointsTable(now, again) {
	return new Table({
		name: "Checkpoints of this campaign",
		columns: [
			{ title: "Version", value: (c) => c.version },
			{ title: "Stored", value: (c) => c.stored_at, show: (c) => time(c.stored_at) },
			{ title: "By", value: (c) => c.by, show: (c) => playerLink(c.by), kind: "id" },
			{ title: "Size", value: (c) => c.bytes, show: (c) => bytes(c.bytes), kind: "number" },
			{ title: "Name", value: (c) => c.name },
			{ title: "Level", value: (c) => c.level },
			{ title: "Checkpoint", value: (c) => c.checkpoint },
			{ title: "Host name", value: (c) => c.hostname },
			{ title: "Remarks", value: (c) => [c.small ? "small" : "", c.conflict ? "conflict" : ""].filter(Boolean).join(" "), show: marks },
			{ title: "SHA-256", value: (c) => c.sha256, show: (c) => h("code", { class: "long", title: c.sha256 }, String(c.sha256).slice(0, 16), "…"), kind: "id" },
		],
		key: (c) => String(c.version),
		actions: forOperator(() => (c) => [
			actionButton("Download", () => fetchCheckpoint(now(), c), `checkpoint ${c.version}`),
			c.version === now().version ? null : actionButton("Restore", () => restore(now(), c, again), `checkpoint ${c.version}`),
		]),
		empty: "It has no checkpoint.",
	});
}

function about(c) {
	return facts([
		["Name", c.name || "–"],
		["Id", h("code", null, c.id)],
		["Owner", playerLink(c.owner)],
		["Level", c.level || "–"],
		["Checkpoint", c.checkpoint || "–"],
		["Host name", c.hostname || "–"],
		["Version", digits(c.version), ", ", count(c.checkpoints ?? 0, "checkpoint"), ", ", bytes(c.bytes)],
		["Begun", time(c.made_at)],
		["Stored", time(c.stored_at)],
		["Used", time(c.used_at)],
		["Under way", count(lengthOf(c.uploads), "upload"), ", ", count(lengthOf(c.downloads), "download")],
		["Revoked", c.trashed_at ? [pill("revoked", "warn"), " ", time(c.trashed_at)] : yesNo(false)],
	]);
}

const lengthOf = (x) => Array.isArray(x) ? x.length : x ?? 0;

export function one(route) {
	const id = route.parts[0];
	const { number } = route.params;
	let campaign = { id };
	const now = () => campaign;

	return oneView({
		title: `Campaign ${id}`,
		load: () => get(`campaigns/${part(id)}`, { number }),
		gone: "No campaign has this id. If it was revoked, the list of campaigns shows it under “Revoked ones”.",
		refreshOn: (event) => event.campaign === id || event.kind === "admin.action",
		build(again) {
			const box = { about: h("div"), quota: h("div"), buttons: h("div", { class: "buttons" }) };
			const members = membersTable(now, again);
			const checkpoints = checkpointsTable(now, again);
			const button = (text, run, kind) => h("button", { type: "button", class: kind, onclick: () => run(campaign, again) }, text);
			const alive = () => [button("Transfer", transfer), button("Add a member", addMember), quotaButton("campaigns", id, again),
				button("Revoke", revoke, "danger")];
			const trashed = () => [button("Take back", unrevoke, "primary"), button("Remove for good", purge, "danger")];
			let was = null;
			return {
				node: h("div", { class: "stack" }, forOperator(() => box.buttons), panel("About", box.about),
					panel("Checkpoints", checkpoints.node), panel("Members", members.node), panel("Quota", box.quota)),
				update(c) {
					campaign = c;
					fill(box.about, about(c));
					fill(box.quota, quotaFacts(c.quota));
					if (was !== Boolean(c.trashed_at))
						fill(box.buttons, c.trashed_at ? trashed() : alive());
					was = Boolean(c.trashed_at);
					checkpoints.put(c.checkpoint_list || []);
					members.put(c.member_list || []);
				},
			};
		},
	});
}
