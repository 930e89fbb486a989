// Leaderboards: rows from the best, as CSV out and in.

import { ask, download, get, part } from "./api.js";
import { act } from "./dialog.js";
import { h, link } from "./dom.js";
import { count, number, time } from "./format.js";
import { say } from "./say.js";
import { Table, actionButton } from "./table.js";
import { forOperator, listView, pathOf } from "./view_common.js";

const pathTo = (title, board, more = "") => `boards/${part(title)}/${part(board)}${more}`;

export function list(route) {
	return listView(route, {
		title: "Boards",
		columns: [
			{ title: "Board", value: (b) => b.board, show: (b) => link(pathOf("boards", b.title_key, b.board), h("code", null, b.board)), kind: "id" },
			{ title: "Title", value: (b) => b.title },
			{ title: "Better is", value: (b) => b.order },
			{ title: "Rows", value: (b) => b.rows, show: (b) => number(b.rows), kind: "number" },
			{ title: "Leader", value: (b) => b.leader },
			{ title: "Best", value: (b) => b.best, show: (b) => number(b.best), kind: "number" },
		],
		filters: [{ name: "title", label: "Title" }],
		load: (parameters) => get("boards", parameters),
		key: (b) => `${b.title_key}/${b.board}`,
		empty: "There is no board yet.",
		refreshOn: ["score.", "admin."],
	});
}

function removeScore(title, board, row, after) {
	act({
		title: `Remove the score of ${row.name}?`,
		request: () => ({ method: "DELETE", path: pathTo(title, board, `/scores/${part(row.name_key)}`) }),
		explain: () => [`Rank ${row.rank}, ${row.name} with ${number(row.score)}, leaves the board. He may play for another one.`],
		confirm: "Remove it",
		danger: true,
		said: () => `The score of ${row.name} is removed.`,
		after,
	});
}

function reset(title, board, after) {
	act({
		title: "Reset this board?",
		text: "Export it first if anybody may want it back.",
		request: () => ({ method: "DELETE", path: pathTo(title, board) }),
		explain: (dry) => [`${count(dry.rows ?? 0, "row")} of board ${board} go for good.`],
		confirm: "Reset the board",
		danger: true,
		said: (answer) => `Board ${board} is empty: ${count(answer.rows ?? 0, "row")} went.`,
		after,
	});
}

function importCsv(title, board, after) {
	act({
		title: "Import rows from CSV",
		text: "With a head line name,score,comment,recorded_at. Rows replace those of the same name; if one line is wrong, nothing is imported.",
		fields: [{ name: "file", label: "CSV file, at most 4 MiB", type: "file", accept: ".csv,text/csv", required: true }],
		request: ({ file }) => ({ method: "POST", path: pathTo(title, board, "/csv"), text: file ?? "" }),
		explain: (dry) => [`${count(dry.imported ?? 0, "row")} will be imported, ${number(dry.skipped ?? 0)} skipped.`],
		confirm: "Import",
		said: (answer) => `${count(answer.imported ?? 0, "row")} imported, ${number(answer.skipped ?? 0)} skipped.`,
		after,
	});
}

async function exportCsv(title, board) {
	const name = `coopd-board-${title.replace(/[^A-Za-z0-9._-]/g, "_")}-${board}.csv`;
	try {
		await download(pathTo(title, board, "/csv"), {}, name);
		say("good", `Exported the board to ${name}.`);
	} catch (problem) {
		say("bad", `The board could not be exported: ${problem.message}.`);
	}
}

export function one(route) {
	const [title, board] = route.parts;
	const table = new Table({
		name: `Board ${board}`,
		columns: [
			{ title: "Rank", value: (r) => r.rank },
			{ title: "Name", value: (r) => r.name },
			{ title: "Score", value: (r) => r.score, show: (r) => number(r.score), kind: "number" },
			{ title: "Comment", value: (r) => r.comment },
			{ title: "Recorded", value: (r) => r.recorded_at, show: (r) => time(r.recorded_at) },
		],
		load: (parameters) => ask("GET", pathTo(title, board), { query: parameters }),
		key: (r) => r.name_key,
		actions: forOperator(() => (r) => actionButton("Remove", () => removeScore(title, board, r, again), `the score of ${r.name}`)),
		empty: "The board is empty.",
		refreshOn: ["score.", "admin."],
	});
	const again = () => table.refresh(true);
	return {
		title: `Board ${board}`,
		buttons: [
			h("button", { type: "button", onclick: () => exportCsv(title, board) }, "Export whole board"),
			forOperator(() => [
				h("button", { type: "button", onclick: () => importCsv(title, board, again) }, "Import CSV"),
				h("button", { type: "button", class: "danger", onclick: () => reset(title, board, again) }, "Reset the board"),
			]),
		],
		node: table.node,
		destroy: () => table.destroy(),
	};
}
