// What views have in common: lists, views of one thing, and links between them.

import { query, session } from "./api.js";
import { fill, h, link, notice } from "./dom.js";
import { NONE } from "./format.js";
import { listen, live } from "./live.js";
import { Table } from "./table.js";

export const pathOf = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

// Shown where an id may be missing.
const or = (id, make) => id === null || id === undefined || id === "" ? NONE : make(id);

export const playerLink = (id) => or(id, () => link(pathOf("players", id), h("code", null, id)));
export const gameLink = (code) => or(code, () => link(pathOf("games", code), h("code", null, code)));
// number: of one in the trash, where several may have had the id.
export const campaignLink = (id, text, number = null) => or(id, () =>
	link(`${pathOf("campaigns", id)}${query({ number })}`, text || h("code", null, id)));

export const yesNo = (b) => b ? "yes" : "no";

// Buttons that only an operator has.
export function forOperator(make) {
	return session.isOperator() ? make() : null;
}

/*
 * A view that is one table. The filters that were typed stand in the address, so that a reload or a link keeps them.
 * options: title, intro, buttons, and those of Table.
 */
export function listView(route, options) {
	const table = new Table({
		name: options.title,
		initial: pick(route.params, (options.filters || []).map((f) => f.name)),
		onFilters: (values) => history.replaceState(null, "", `#/${route.name}${query(values)}`),
		...options,
	});
	const buttons = options.buttons?.(table);
	return {
		title: options.title,
		buttons,
		node: h("div", { class: "stack" }, options.intro ? h("p", { class: "intro" }, options.intro) : null, table.node),
		destroy: () => table.destroy(),
	};
}

function pick(from, names) {
	return Object.fromEntries(names.filter((name) => from[name]).map((name) => [name, from[name]]));
}

/*
 * A view of one thing: load() asks for it now, every few seconds, and after events that refreshOn(event) takes. build(again)
 * makes { node, update(data), destroy() } once; gone: what to say when there is no such thing (any more).
 */
export function oneView({ title, load, build, refreshOn = () => false, everyMs = 5000, gone }) {
	const said = h("div", { class: "view-problem" });
	let destroyed = false;
	let timer;

	const refresh = async () => {
		clearTimeout(timer);
		try {
			const data = await load();
			if (destroyed)
				return;
			fill(said);
			built.node.hidden = false;
			built.update(data);
		} catch (problem) {
			if (destroyed || problem.status === 401)
				return;
			const is404 = problem.status === 404;
			built.node.hidden = is404 || built.node.hidden;
			fill(said, notice(is404 ? "what" : "bad", h("p", { role: "status" },
				problem.code === "part_off" ? "This part of the server is switched off in its settings."
					: is404 ? gone : `This could not be loaded: ${problem.message}.`)));
		}
		timer = setTimeout(() => document.visibilityState === "visible" ? refresh() : again(), everyMs);
	};
	const again = () => {
		clearTimeout(timer);
		timer = setTimeout(refresh, 300);
	};
	const built = build(again);
	const off = listen((what, event) => {
		if ((what === "event" && refreshOn(event)) || (what === "state" && live.state === "live"))
			again();
	});

	built.node.hidden = true;
	refresh();
	return {
		title,
		node: h("div", { class: "stack" }, said, built.node),
		destroy() {
			destroyed = true;
			clearTimeout(timer);
			off();
			built.destroy?.();
		},
	};
}

// Several tables under each other, each with a heading.
export function tablesView(title, parts, intro) {
	return {
		title,
		node: h("div", { class: "stack" }, intro ? h("p", { class: "intro" }, intro) : null,
			parts.map(({ heading, table, buttons }) => h("section", { class: "stack", "aria-label": heading },
				h("div", { class: "heading" }, h("h2", null, heading), buttons ? h("div", { class: "buttons" }, buttons) : null),
				table.node))),
		destroy: () => parts.forEach(({ table }) => table.destroy()),
	};
}
