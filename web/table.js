// Tables: filtered, sorted, exported, filled page by page, and kept up to date while they are looked at.
//
// A row that did not change keeps its element, so that focus and selection survive a refresh.

import { csv } from "./format.js";
import { saveBlob } from "./api.js";
import { add, field, fill, h, notice, select } from "./dom.js";
import { listen, live } from "./live.js";
import { say } from "./say.js";

const PAGE = 200;
const EXPORT_MAX = 20000;
const SETTLE_MS = 400;

function compare(a, b) {
	if (a === b)
		return 0;
	if (a === null || a === undefined || a === "")
		return 1;
	if (b === null || b === undefined || b === "")
		return -1;
	if (typeof a === "number" && typeof b === "number")
		return a - b;
	return String(a).localeCompare(String(b), undefined, { numeric: true, sensitivity: "base" });
}

/*
 * options:
 *	name		for the file of an export and for labels
 *	columns		[{ title, value(row), show(row), kind }]: value is sorted, filtered and exported, show is what is seen
 *			(value when it is missing); kind: "number" or "id"
 *	load		(parameters) -> { items, next }; without it, put() says what is there
 *	filters		[{ name, label, type, options, hint }]: parameters of the server
 *	initial		{ name: value } of those
 *	onFilters	(values): they were changed by hand
 *	key		(row) -> what tells rows apart
 *	actions		(row, again) -> buttons; again() asks the server anew
 *	empty		what to say when there is nothing
 *	refreshOn	beginnings of kinds of events after which the list is another one
 *	everyMs		how old it may become
 */
export class Table {
	constructor(options) {
		this.o = { filters: [], initial: {}, everyMs: 15000, refreshOn: [], ...options };
		this.items = [];
		this.next = null;
		this.rows = new Map();
		this.sort = { at: -1, down: false };
		this.loading = false;
		this.asked = 0;
		this.text = "";
		this.build();
		if (!this.o.load)
			return;
		this.off = listen((what, event) => this.onLive(what, event));
		this.clock = setInterval(() => document.visibilityState === "visible" && this.refresh(), this.o.everyMs);
		this.refresh();
	}

	destroy() {
		this.off?.();
		clearInterval(this.clock);
		clearTimeout(this.settle);
		this.gone = true;
	}

	onLive(what, event) {
		const mine = what === "event" && this.o.refreshOn.some((kind) => event.kind.startsWith(kind));
		const back = what === "state" && live.state === "live";
		if (!mine && !back)
			return;
		clearTimeout(this.settle);
		this.settle = setTimeout(() => this.refresh(), SETTLE_MS);
	}

	// --- What it is made of ---

	build() {
		const o = this.o;
		this.filter = h("input", {
			type: "search", class: "filter", autocomplete: "off", spellcheck: "false",
			oninput: () => {
				this.text = this.filter.value.trim().toLowerCase();
				this.draw();
			},
		});
		this.sorter = select([["", "as the server has it"], ...o.columns.flatMap((c, i) =>
			[[`${i} up`, `${c.title}, upwards`], [`${i} down`, `${c.title}, downwards`]])], "",
			{ onchange: () => this.sortBy(...this.sorter.value.split(" ")) });
		this.count = h("p", { class: "count", role: "status" });
		this.more = h("button", { type: "button", hidden: true, onclick: () => this.loadMore() }, "Load more");
		this.problem = h("div", { class: "table-problem" });
		this.head = h("tr", null, o.columns.map((c, i) => this.headCell(c, i)),
			o.actions ? h("th", { scope: "col", class: "actions" }, "Actions") : null);
		this.body = h("tbody");
		this.table = h("table", { class: "list" }, h("caption", { class: "hidden" }, o.name), h("thead", null, this.head), this.body);
		this.box = h("div", { class: "table-box", role: "region", tabindex: "0", "aria-label": `Table: ${o.name}` }, this.table);
		this.node = h("div", { class: "table" }, this.toolbar(), this.problem, this.box,
			h("div", { class: "table-foot" }, this.count, this.more));
		this.drawHead();
	}

	toolbar() {
		const filters = this.o.filters.map((f) => this.serverFilter(f));
		const few = filters.slice(0, 3);
		const rest = filters.slice(3);
		const open = this.o.filters.slice(3).some((f) => this.o.initial[f.name]);
		return h("div", { class: "toolbar", role: "search", "aria-label": `Filters of ${this.o.name}` },
			h("div", { class: "toolbar-row" },
				few, field("Filter what is shown", this.filter),
				add(h("div", { class: "only-narrow" }), [field("Sorted by", this.sorter)]),
				h("div", { class: "toolbar-buttons" },
					this.o.load ? h("button", { type: "button", class: "refresh", onclick: () => this.refresh(true) }, "Refresh") : null,
					h("button", { type: "button", onclick: () => this.export() }, "Export CSV"))),
			rest.length > 0 ? h("details", { open }, h("summary", null, "More filters"), h("div", { class: "toolbar-row" }, rest)) : null);
	}

	serverFilter(f) {
		const value = this.o.initial[f.name] ?? "";
		const attributes = { "data-filter": f.name, autocomplete: "off", spellcheck: "false" };
		const input = f.options ? select(f.options, value, attributes)
			: h("input", { type: f.type || "search", min: f.type === "number" ? 0 : null, value, ...attributes });
		let timer;
		input.addEventListener(f.options ? "change" : "input", () => {
			clearTimeout(timer);
			timer = setTimeout(() => this.onFilter(f.name, input.value.trim()), f.options ? 0 : 300);
		});
		return field(f.label, input, f.hint);
	}

	onFilter(name, value) {
		this.o.initial = { ...this.o.initial, [name]: value };
		this.o.onFilters?.(this.o.initial);
		this.items = [];
		this.refresh(true);
	}

	headCell(column, at) {
		return h("th", { scope: "col", class: column.kind },
			h("button", { type: "button", class: "sort", onclick: () => this.sortBy(at, this.sort.at === at && !this.sort.down ? "down" : "up") },
				column.title, h("span", { class: "arrow", "aria-hidden": "true" })));
	}

	sortBy(at, way) {
		this.sort = at === "" ? { at: -1, down: false } : { at: Number(at), down: way === "down" };
		this.sorter.value = this.sort.at < 0 ? "" : `${this.sort.at} ${this.sort.down ? "down" : "up"}`;
		this.drawHead();
		this.draw();
	}

	drawHead() {
		this.o.columns.forEach((_, i) => {
			const mine = this.sort.at === i;
			const cell = this.head.children[i];
			if (mine)
				cell.setAttribute("aria-sort", this.sort.down ? "descending" : "ascending");
			else
				cell.removeAttribute("aria-sort");
			cell.querySelector(".arrow").textContent = mine ? (this.sort.down ? " ▼" : " ▲") : "";
		});
	}

	// --- Loading ---

	parameters(cursor) {
		return { limit: PAGE, cursor, ...this.o.initial };
	}

	put(items) {
		this.take(items, null);
	}

	// As much as is shown, anew.
	async refresh(now) {
		if (this.loading && !now) {
			this.again = true; // what happened since the question is not in the answer that is on its way
			return;
		}
		const round = ++this.asked; // a newer one makes an older one's answer meaningless
		this.loading = true;
		this.again = false;
		const wanted = Math.max(PAGE, this.items.length);
		const items = [];
		let next = null;
		this.box.setAttribute("aria-busy", "true");
		try {
			do {
				const page = await this.o.load(this.parameters(next));
				items.push(...page.items);
				next = page.next ?? null;
			} while (next && items.length < wanted);
			if (!this.gone && round === this.asked)
				this.take(items, next);
		} catch (problem) {
			if (!this.gone && round === this.asked)
				this.showProblem(problem);
		} finally {
			if (round === this.asked) {
				this.loading = false;
				this.box.removeAttribute("aria-busy");
				if (this.again && !this.gone)
					this.refresh();
			}
		}
	}

	take(items, next) {
		this.items = items;
		this.next = next;
		this.loaded = true;
		fill(this.problem);
		this.draw();
	}

	showProblem(problem) {
		if (problem.status === 401)
			return;
		const text = problem.code === "part_off" ? "This part of the server is switched off in its settings."
			: problem.status === 0 ? "The server cannot be reached; this is what was there before."
				: `This could not be loaded: ${problem.message}.`;
		fill(this.problem, notice(problem.code === "part_off" ? "what" : "bad", h("p", null, text)));
	}

	// Whether it worked.
	async loadMore() {
		this.more.disabled = true;
		try {
			const page = await this.o.load(this.parameters(this.next));
			this.take([...this.items, ...page.items], page.next ?? null);
			return true;
		} catch (problem) {
			this.showProblem(problem);
			return false;
		} finally {
			this.more.disabled = false;
		}
	}

	// --- Showing ---

	shown() {
		const { at, down } = this.sort;
		const has = (row) => this.o.columns.some((c) => String(c.value(row) ?? "").toLowerCase().includes(this.text));
		const rows = this.text ? this.items.filter(has) : [...this.items];
		if (at >= 0) {
			const value = this.o.columns[at].value;
			rows.sort((a, b) => (down ? -1 : 1) * compare(value(a), value(b)));
		}
		return rows;
	}

	draw() {
		const shown = this.shown();
		const kept = new Map();
		const elements = shown.map((row) => {
			const key = this.o.key(row);
			const json = JSON.stringify(row);
			const old = this.rows.get(key);
			const one = old?.json === json ? old : { json, node: this.row(row) };
			if (old && old !== one)
				this.moveFocus(old.node, one.node);
			kept.set(key, one);
			return one.node;
		});
		this.rows = kept;
		if (elements.length === 0)
			elements.push(this.emptyRow());
		this.place(elements);
		this.more.hidden = !this.next;
		this.say(shown.length);
	}

	// Only what stands elsewhere is moved: moving an element takes the focus from it.
	place(elements) {
		const wanted = new Set(elements);
		for (const node of [...this.body.children]) {
			if (!wanted.has(node))
				node.remove();
		}
		elements.forEach((node, i) => {
			if (this.body.children[i] !== node)
				this.body.insertBefore(node, this.body.children[i] || null);
		});
		if (this.focusLater) {
			this.focusLater.focus();
			this.focusLater = null;
		}
	}

	moveFocus(from, to) {
		const all = (node) => [...node.querySelectorAll("a, button, input")];
		const at = all(from).indexOf(document.activeElement);
		if (at >= 0)
			this.focusLater = all(to)[at] || null;
	}

	row(row) {
		const cells = this.o.columns.map((c, i) => h(i === 0 ? "th" : "td",
			{ scope: i === 0 ? "row" : null, class: c.kind, "data-label": c.title },
			h("span", { class: "cell" }, c.show ? c.show(row) : c.value(row) ?? "–")));
		if (this.o.actions)
			cells.push(h("td", { class: "actions", "data-label": "Actions" }, h("span", { class: "cell" }, this.o.actions(row, () => this.refresh(true)))));
		return h("tr", null, cells);
	}

	emptyRow() {
		const text = !this.loaded ? "Loading…" : this.items.length > 0 ? "Nothing here fits the filter." : this.o.empty;
		return h("tr", { class: "empty" }, h("td", { colspan: this.head.children.length }, text));
	}

	say(shown) {
		const all = this.items.length;
		const more = this.next ? ", and there are more on the server" : "";
		const text = !this.loaded ? "" : shown === all ? `${all} ${all === 1 ? "row" : "rows"}${more}` : `${shown} of ${all} rows${more}`;
		if (this.count.textContent !== text)
			this.count.textContent = text;
	}

	// --- Export ---

	async export() {
		while (this.next && this.items.length < EXPORT_MAX) {
			if (!await this.loadMore())
				return;
		}
		const rows = this.shown();
		const text = csv([this.o.columns.map((c) => c.title), ...rows.map((row) => this.o.columns.map((c) => c.value(row)))]);
		const name = `coopd-${this.o.name.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.csv`;
		saveBlob(new Blob([text], { type: "text/csv;charset=utf-8" }), name);
		say("good", `Exported ${rows.length} ${rows.length === 1 ? "row" : "rows"} to ${name}`,
			this.next ? `; the server has more than ${EXPORT_MAX}.` : ".");
	}
}

// what: to whom or what it is done; read behind the text, where sighted people see the row.
export function actionButton(text, run, what) {
	return h("button", { type: "button", class: "small", "aria-label": `${text} ${what}`, onclick: run }, text);
}
