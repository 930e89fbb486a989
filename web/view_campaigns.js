// Campaigns that are kept: searched by all that an operator may know of one.

import { get } from "./api.js";
import { h, pill } from "./dom.js";
import { bytes, number, time } from "./format.js";
import { actionButton } from "./table.js";
import { campaignLink, forOperator, listView, playerLink } from "./view_common.js";
import { revoke, unrevoke } from "./campaign_actions.js";

export function list(route) {
	return listView(route, {
		title: "Campaigns",
		columns: [
			{ title: "Name", value: (c) => c.name, show: (c) => campaignLink(c.id, c.name || c.id, c.trashed_at ? c.number : null) },
			{ title: "Id", value: (c) => c.id, show: (c) => h("code", null, c.id), kind: "id" },
			{ title: "Owner", value: (c) => c.owner, show: (c) => playerLink(c.owner), kind: "id" },
			{ title: "Level", value: (c) => c.level },
			{ title: "Host name", value: (c) => c.hostname },
			{ title: "Members", value: (c) => c.members, kind: "number" },
			{ title: "Checkpoints", value: (c) => c.checkpoints, kind: "number" },
			{ title: "Size", value: (c) => c.bytes, show: (c) => bytes(c.bytes), kind: "number" },
			{ title: "Stored", value: (c) => c.stored_at, show: (c) => time(c.stored_at) },
			{ title: "Used", value: (c) => c.used_at, show: (c) => time(c.used_at) },
			{ title: "Trash", value: (c) => c.trashed_at, show: (c) => c.trashed_at ? [pill("revoked", "warn"), " ", time(c.trashed_at)] : "–" },
		],
		filters: [
			{ name: "q", label: "Part of the name, or beginning of the id" },
			{ name: "trash", label: "Revoked ones", options: [["", "not shown"], ["only", "only these"], ["also", "shown too"]] },
			{ name: "owner", label: "Owner (player id)" },
			{ name: "member", label: "Member (player id)" },
			{ name: "level", label: "Level" },
			{ name: "min_bytes", label: "At least so many bytes", type: "number" },
			{ name: "max_bytes", label: "At most so many bytes", type: "number" },
			{ name: "older_than_days", label: "Not stored for so many days", type: "number" },
			{ name: "newer_than_days", label: "Stored within so many days", type: "number" },
		],
		load: (parameters) => get("campaigns", parameters),
		key: (c) => `${c.id}-${number(c.number)}`,
		actions: forOperator(() => (c, again) => c.trashed_at
			? actionButton("Take back", () => unrevoke(c, again), `campaign ${c.name || c.id}`)
			: actionButton("Revoke", () => revoke(c, again), `campaign ${c.name || c.id}`)),
		empty: "No campaign fits, or none is stored yet.",
		refreshOn: ["campaign.", "checkpoint.stored", "admin."],
	});
}
