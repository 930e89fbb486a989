// Building the page. Every text becomes a text node: nothing that a peer wrote is ever read as markup.

// h("button", { class: "x", onclick: f, disabled: true }, "text", node, [more])
// An attribute that is null or false is left out; true is an empty one. on... are listeners.
export function h(tag, attributes, ...children) {
	const node = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (value === null || value === undefined || value === false)
			continue;
		if (name.startsWith("on"))
			node.addEventListener(name.slice(2), value);
		else
			node.setAttribute(name, value === true ? "" : String(value));
	}
	add(node, children);
	return node;
}

export function add(node, children) {
	for (const child of children.flat(Infinity)) {
		if (child === null || child === undefined || child === false)
			continue;
		node.append(child instanceof Node ? child : document.createTextNode(String(child)));
	}
	return node;
}

export function fill(node, ...children) {
	node.replaceChildren();
	return add(node, children);
}

let ids = 0;

// An id that nothing else has, for labels and descriptions.
export function freshId(prefix) {
	ids += 1;
	return `${prefix}-${ids}`;
}

// A labelled field. `input` is an element; the hint is read with it.
export function field(label, input, hint) {
	input.id = input.id || freshId("field");
	const parts = [h("label", { for: input.id }, label), input];
	if (hint) {
		const id = freshId("hint");
		input.setAttribute("aria-describedby", id);
		parts.push(h("p", { class: "hint", id }, hint));
	}
	return h("div", { class: "field" }, parts);
}

export function select(options, value, attributes) {
	const node = h("select", attributes, options.map(([key, text]) =>
		h("option", { value: key, selected: String(key) === String(value ?? "") }, text)));
	return node;
}

// One word with a colour that says how it stands; the colour is never the only sign.
export function pill(text, kind) {
	return h("span", { class: `pill ${kind || "plain"}` }, text);
}

export function link(href, text, attributes) {
	return h("a", { href, ...attributes }, text);
}

// Pairs of a name and a value, as a list of definitions.
export function facts(rows) {
	return h("dl", { class: "facts" }, rows.filter(Boolean).map(([name, ...value]) =>
		h("div", null, h("dt", null, name), h("dd", null, value))));
}

// A box with a heading.
export function panel(title, ...children) {
	const id = freshId("panel");
	return h("section", { class: "panel", "aria-labelledby": id }, h("h2", { id }, title), children);
}

export function notice(kind, ...children) {
	return h("div", { class: `notice ${kind}` }, children);
}
