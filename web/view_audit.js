// The audit trail: who did what, from where, when, and how it ended.

import { get } from "./api.js";
import { h, pill } from "./dom.js";
import { time } from "./format.js";
import { listView } from "./view_common.js";

const RESULTS = { ok: "good", begun: "warn" };

// The server takes moments in UTC; people type what their own clock says.
function toUtc(text) {
	const d = text ? new Date(text) : null;
	return d && !Number.isNaN(d.getTime()) ? d.toISOString().replace(/\.\d+Z$/, "Z") : "";
}

export function list(route) {
	return listView(route, {
		title: "Audit trail",
		intro: "Every action of every operator, newest first. It cannot be changed from here, nor from anywhere else.",
		columns: [
			{ title: "When", value: (a) => a.at, show: (a) => time(a.at) },
			{ title: "Who", value: (a) => a.who, kind: "id" },
			{ title: "From", value: (a) => `${a.via} ${a.address ?? ""}`.trim() },
			{ title: "Action", value: (a) => a.action, show: (a) => h("code", null, a.action) },
			{ title: "Target", value: (a) => a.target },
			{ title: "Result", value: (a) => a.result, show: (a) => pill(a.result, RESULTS[a.result] || "bad") },
			{ title: "Detail", value: (a) => a.detail, show: (a) => a.detail ? h("code", { class: "wrap" }, a.detail) : "–" },
			{ title: "Ended", value: (a) => a.ended_at, show: (a) => time(a.ended_at) },
			{ title: "Row", value: (a) => a.id, kind: "number" },
		],
		filters: [
			{ name: "who", label: "Who" },
			{ name: "action", label: "Action" },
			{ name: "target", label: "Target" },
			{ name: "since", label: "From", type: "datetime-local" },
			{ name: "until", label: "Until", type: "datetime-local" },
		],
		load: (p) => get("audit", { ...p, since: toUtc(p.since), until: toUtc(p.until) }),
		key: (a) => String(a.id),
		empty: "Nobody has done anything, or nothing fits.",
		refreshOn: ["admin."],
	});
}
