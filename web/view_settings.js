// Settings in force, and where each comes from.

import { get } from "./api.js";
import { h, pill } from "./dom.js";
import { listView, yesNo } from "./view_common.js";

function valueOf(s) {
	if (s.secret)
		return s.default ? "(not set)" : "(secret)";
	return s.value === "" || s.value === null || s.value === undefined ? "(empty)" : s.unit ? `${s.value} ${s.unit}` : s.value;
}

export function list(route) {
	return listView(route, {
		title: "Settings",
		intro: "What the server goes by right now. Later wins: defaults, the file, the environment, the command line. Secrets are not shown.",
		columns: [
			{ title: "Setting", value: (s) => s.key, show: (s) => h("code", null, s.key) },
			{ title: "Value", value: valueOf, show: (s) => h("span", { class: s.default ? "muted" : "strong" }, valueOf(s)) },
			{ title: "From", value: (s) => s.source, show: (s) => s.default ? s.source : pill(s.source, "info") },
			{ title: "Changed by a reload", value: (s) => yesNo(s.reload) },
			{ title: "What it is", value: (s) => s.help, show: (s) => h("span", { class: "prose" }, s.help) },
		],
		load: (parameters) => get("settings", { ...parameters, limit: 1000 }),
		key: (s) => s.key,
		empty: "Nothing fits.",
		refreshOn: ["server."],
		everyMs: 60000,
	});
}
