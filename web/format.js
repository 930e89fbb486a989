// Numbers, sizes, times and CSV as people and spreadsheets want them.

import { h } from "./dom.js";

const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

export const NONE = "–";

export function number(n) {
	return n === null || n === undefined ? NONE : (Math.abs(n) < 10 ? tenth : whole).format(n);
}

// "one game", "3 games"; plural: when it is not the word and an s.
export function count(n, word, plural) {
	return n === 1 ? `1 ${word}` : `${whole.format(n)} ${plural || word + "s"}`;
}

export function bytes(n) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let at = 0;
	if (n === null || n === undefined)
		return NONE;
	while (Math.abs(n) >= 1024 && at < units.length - 1) {
		n /= 1024;
		at += 1;
	}
	return `${(at === 0 || Math.abs(n) >= 100 ? whole : tenth).format(n)} ${units[at]}`;
}

export function rate(n) {
	return n === null || n === undefined ? NONE : `${bytes(n)}/s`;
}

export function percent(part, all) {
	return all > 0 ? `${tenth.format(100 * part / all)} %` : NONE;
}

export function seconds(s) {
	const steps = [[86400, "day"], [3600, "hour"], [60, "minute"]];
	for (let i = 0; i < steps.length; i++) {
		const [unit, word] = steps[i];
		if (s < unit)
			continue;
		const rest = Math.floor(s % unit / (steps[i + 1]?.[0] ?? 1));
		const text = count(Math.floor(s / unit), word);
		return rest > 0 ? `${text} ${count(rest, steps[i + 1]?.[1] ?? "second")}` : text;
	}
	return count(Math.max(0, Math.floor(s)), "second");
}

// The server's clock may be another one than ours: what it says about now is remembered.
let ahead = 0;

export function noteServerTime(text) {
	const at = Date.parse(text);
	if (Number.isFinite(at))
		ahead = at - Date.now();
}

export function serverNow() {
	return Date.now() + ahead;
}

function two(n) {
	return String(n).padStart(2, "0");
}

export function localTime(text) {
	const d = new Date(text);
	return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ` +
		`${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

function ago(ms) {
	const s = Math.abs(ms) / 1000;
	const [n, unit] = s < 60 ? [s, "s"] : s < 3600 ? [s / 60, "min"] : s < 86400 ? [s / 3600, "h"] : [s / 86400, "d"];
	return ms < 0 ? `in ${Math.floor(n)} ${unit}` : `${Math.floor(n)} ${unit} ago`;
}

// Local time, with UTC for whoever points at it, and how long ago. None: what to say when there is no time.
export function time(text, none = NONE) {
	if (!text)
		return document.createTextNode(none);
	return h("time", { datetime: text, title: `${text} (UTC)` }, localTime(text),
		h("span", { class: "ago" }, ` ${ago(serverNow() - Date.parse(text))}`));
}

// What was 5 seconds ago is not for long.
setInterval(() => {
	for (const node of document.querySelectorAll("time > .ago"))
		node.textContent = ` ${ago(serverNow() - Date.parse(node.parentNode.dateTime))}`;
}, 10000);

// A cell of CSV. Text that a spreadsheet would take for a formula gets an apostrophe; numbers of our own stay numbers.
export function csvCell(value) {
	if (value === null || value === undefined)
		return "";
	if (typeof value === "number" || typeof value === "boolean")
		return String(value);
	let text = String(value);
	if (/^[=+\-@\t\r]/.test(text))
		text = `'${text}`;
	return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(rows) {
	return rows.map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}
