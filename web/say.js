// Says what happened: on the screen for a while, and to screen readers.

import { add, h } from "./dom.js";

const SHOWN_MS = 12000;
const SHOWN_MAX = 4;

// kind: "good" or "bad".
export function say(kind, ...what) {
	const box = document.getElementById("said");
	const note = add(h("div", { class: `toast ${kind}` }), [
		h("p", null, what),
		h("button", { type: "button", class: "quiet", "aria-label": "Dismiss this message", onclick: () => note.remove() }, "×"),
	]);
	box.append(note);
	while (box.children.length > SHOWN_MAX)
		box.firstElementChild.remove();
	setTimeout(() => note.remove(), SHOWN_MS);
}
