// Dialogs, and the one way in which every action is done:
//
//	[fields] --check--> dry run: what would happen --confirm--> done: says what happened
//	                      \-- 409 force: why, and a box to tick --/
//
// The server is always asked first what the action would do, and nothing happens before the person has seen its answer.

import { ask } from "./api.js";
import { field, fill, freshId, h, notice, select } from "./dom.js";
import { say } from "./say.js";

// build(dialog) returns the content below the heading. Resolves when it is closed.
export function openDialog(title, build) {
	const id = freshId("dialog");
	const dialog = h("dialog", { "aria-labelledby": id });
	const back = document.activeElement;

	dialog.append(h("h2", { id }, title), h("div", { class: "dialog-body" }, build(dialog)));
	document.body.append(dialog);
	dialog.showModal();
	return new Promise((resolve) => {
		dialog.addEventListener("close", () => {
			dialog.remove();
			// What opened it may be gone by now: then the view's heading is next.
			(back?.isConnected ? back : document.querySelector("main h1"))?.focus();
			resolve(dialog.returnValue);
		});
	});
}

export function closeButton(dialog, text = "Close") {
	return h("button", { type: "button", onclick: () => dialog.close() }, text);
}

// --- Fields of a form ---

const inputs = {
	select: (f) => select(f.options, f.value),
	checkbox: (f) => h("input", { type: "checkbox", checked: f.value }),
	area: (f) => h("textarea", { rows: 4, required: f.required, maxlength: f.max }),
	file: (f) => h("input", { type: "file", accept: f.accept, required: f.required }),
	number: (f) => h("input", { type: "number", value: f.value, min: f.min, max: f.max, required: f.required, step: 1 }),
	text: (f) => h("input", {
		type: "text", value: f.value, required: f.required, pattern: f.pattern, maxlength: f.max,
		autocomplete: "off", spellcheck: "false", title: f.pattern ? f.hint : null,
	}),
};

function makeFields(fields) {
	return fields.map((f) => {
		const input = inputs[f.type || "text"](f);
		const node = field(f.label, input, f.hint);
		if (f.type === "checkbox")
			node.classList.add("check");
		return { f, input, node };
	});
}

function valueOf({ f, input }) {
	if (f.type === "checkbox")
		return input.checked;
	if (f.type === "file")
		return input.files[0];
	if (f.type === "number")
		return input.value === "" ? null : Number(input.value);
	return input.value.trim();
}

async function valuesOf(made) {
	const values = {};
	for (const one of made) {
		const value = valueOf(one);
		values[one.f.name] = value instanceof File ? await value.text() : value;
	}
	return values;
}

// --- Actions ---

/*
 * a: title, text (what it means), fields, request(values) -> { method, path, query, body, text }, explain(answer of the dry
 * run, values) -> lines, confirm (the button), danger, said(answer, values) -> sentence, show(answer, values) -> a dialog
 * instead of a sentence, after().
 */
export function act(a) {
	return openDialog(a.title, (dialog) => new Action(dialog, a).node);
}

class Action {
	constructor(dialog, a) {
		this.dialog = dialog;
		this.a = a;
		this.made = makeFields(a.fields || []);
		this.force = h("input", { type: "checkbox" });
		this.said = h("div", { class: "dialog-said", "aria-live": "polite" });
		this.buttons = h("div", { class: "buttons" });
		this.fieldset = h("fieldset", { class: "plain" }, this.made.map((one) => one.node));
		this.node = h("form", { method: "dialog", onsubmit: (event) => this.onSubmit(event) },
			a.text ? h("p", null, a.text) : null, this.fieldset, this.said, this.buttons);
		this.step = "fill";
		this.needsForce = false;
		if (this.made.length > 0)
			this.showFill();
		else
			this.check();
	}

	showButtons(text, danger, disabled) {
		fill(this.buttons,
			h("button", { type: "button", onclick: () => this.dialog.close() }, "Cancel"),
			this.step === "confirm" && this.made.length > 0
				? h("button", { type: "button", onclick: () => this.showFill() }, "Change") : null,
			h("button", { type: "submit", class: danger ? "danger" : "primary", disabled }, text));
	}

	focusButton() {
		this.buttons.querySelector("button[type=submit]")?.focus();
	}

	showFill() {
		this.step = "fill";
		this.needsForce = false;
		this.force.checked = false;
		this.fieldset.disabled = false;
		fill(this.said);
		this.showButtons("Check", false);
		this.made[0]?.input.focus();
	}

	onSubmit(event) {
		event.preventDefault();
		if (this.step === "fill" || (this.step === "force" && this.force.checked))
			this.check();
		else if (this.step === "confirm")
			this.run();
		else if (this.step === "force")
			this.force.focus();
	}

	async prepare(dry) {
		this.values = await valuesOf(this.made);
		const r = this.a.request(this.values);
		const options = { query: { ...r.query, ...(dry ? { dry_run: "true" } : {}) }, body: r.body, text: r.text };
		if (this.needsForce && this.force.checked)
			options.body = { ...options.body, force: true };
		return ask(r.method, r.path, options);
	}

	async check() {
		this.fieldset.disabled = true;
		fill(this.said, h("p", { class: "busy" }, "Asking the server what this would do…"));
		this.showButtons(this.a.confirm, this.a.danger, true);
		try {
			const answer = await this.prepare(true);
			this.step = "confirm";
			const lines = (this.a.explain?.(answer, this.values) || []).filter(Boolean);
			fill(this.said, notice("what", h("p", { class: "lead" }, "What will happen"),
				h("ul", null, (lines.length > 0 ? lines : ["Nothing speaks against it."]).map((line) => h("li", null, line)))));
			this.showButtons(this.a.confirm, this.a.danger);
			this.focusButton();
		} catch (problem) {
			this.showProblem(problem);
		}
	}

	async run() {
		this.showButtons(this.a.confirm, this.a.danger, true);
		try {
			const answer = await this.prepare(false);
			this.dialog.close("done");
			if (this.a.show)
				this.a.show(answer, this.values);
			else
				say("good", this.a.said(answer, this.values));
			this.a.after?.(answer);
		} catch (problem) {
			this.showProblem(problem);
		}
	}

	showProblem(problem) {
		if (problem.code === "force") {
			this.showForce(problem);
			return;
		}
		this.step = this.made.length > 0 ? "fill" : "failed";
		this.fieldset.disabled = false;
		fill(this.said, notice("bad", h("p", { role: "alert" }, `It was not done: ${problem.message}.`)));
		if (this.step === "fill") {
			this.showButtons("Check again", false);
			this.made[0].input.focus();
		} else {
			fill(this.buttons, closeButton(this.dialog));
			this.buttons.firstElementChild.focus();
		}
	}

	showForce(problem) {
		this.step = "force";
		this.needsForce = true;
		const box = field("Yes, do it all the same", this.force);
		box.classList.add("check");
		fill(this.said, notice("warn", h("p", { role: "alert" }, `${problem.message}.`), box));
		this.showButtons("Check again", true);
		this.force.focus();
	}
}
