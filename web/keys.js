// Single keys, for hands that stay on the keyboard. They can be switched off, for people whose software types by itself.

import { closeButton, openDialog } from "./dialog.js";
import { field, h } from "./dom.js";

const KEY = "coopd.keys";
const GO = {
	o: "overview", e: "events", g: "games", l: "lobbies", s: "signal", r: "rooms", b: "boards", n: "p2p",
	p: "players", c: "campaigns", q: "quotas", x: "bans", t: "tokens", a: "audit", h: "health", m: "maintenance", i: "settings",
};

let goNext = false;

function enabled() {
	try {
		return localStorage.getItem(KEY) !== "off";
	} catch {
		return true;
	}
}

function remember(on) {
	try {
		localStorage.setItem(KEY, on ? "on" : "off");
	} catch {
		// Only for this page, then.
	}
}

export function showKeys() {
	const rows = [
		["/", "to the filter"], ["?", "this list"], ["r", "refresh the table"], ["Escape", "close a dialog"],
		...Object.entries(GO).map(([key, name]) => [`g ${key}`, `go to ${name === "p2p" ? "peer to peer" : name}`]),
	];
	const box = h("input", { type: "checkbox", checked: enabled(), onchange: () => remember(box.checked) });
	const use = field("Use single keys", box);
	use.classList.add("check");
	openDialog("Keys", (dialog) => [
		h("dl", { class: "keys" }, rows.map(([key, text]) =>
			h("div", null, h("dt", null, key.split(" ").map((k) => h("kbd", null, k))), h("dd", null, text)))),
		use,
		h("div", { class: "buttons" }, closeButton(dialog)),
	]);
}

const isTyping = (node) => node.closest?.("input, textarea, select, [contenteditable]") !== null;

function press(key) {
	if (goNext) {
		goNext = false;
		if (GO[key]) {
			location.hash = `#/${GO[key]}`;
			return true;
		}
		return false;
	}
	if (key === "g") {
		goNext = true;
		setTimeout(() => { goNext = false; }, 1500);
	} else if (key === "/") {
		document.querySelector("main input.filter")?.focus();
	} else if (key === "r") {
		document.querySelector("main button.refresh")?.click();
	} else if (key === "?") {
		showKeys();
	} else {
		return false;
	}
	return true;
}

// isIn(): whether somebody is signed in.
export function installKeys(isIn) {
	document.addEventListener("keydown", (event) => {
		if (!isIn() || !enabled() || event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target) ||
		    document.querySelector("dialog[open]"))
			return;
		if (press(event.key))
			event.preventDefault();
	});
}
