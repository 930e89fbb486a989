// Scenarios against the mock, which has data of every kind: how each view looks, and that axe is content with it.

import { readFileSync } from "node:fs";
import { axe, check, go, isLive, noSidewaysScroll, shoot, signIn, until } from "./browser.mjs";
import { OPERATOR, SECRET, VIEWER, figures, showFew, startMock } from "./mock.mjs";
import { boards, campaigns, games, p2pRooms, players, rooms } from "./mock_data.mjs";

const VIEWS = ["overview", "events", "health", "games", `games/${games[3].code}`, "lobbies", "signal", "rooms", `rooms/${rooms[2].id}`, "boards",
	`boards/${boards[0].title_key}/1`, "p2p", `p2p/${p2pRooms[0].room}`, "players", `players/${players[2].id}`, "campaigns", `campaigns/${campaigns[2].id}`,
	`campaigns/${campaigns[10].id}`, "quotas", "bans", "tokens", "audit", "maintenance", "settings"];

const nameOf = (view) => view.split("/").map((part, i) => i === 0 ? part : "one").slice(0, 2).join("-");

// So that the overview has something to draw and the events something to list.
function fillUp(mock) {
	for (let i = -280; i < 0; i++)
		mock.send(figures(i, Date.now()));
	mock.emit({ kind: "game.opened", code: games[0].code, version: 2, host: games[0].host, from: "203.0.113.0/24" });
	mock.emit({ kind: "lobby.announced", lobby: "c000000000000384", name: "<b>bold</b>", game: "multivoid", version: "1.4.2", from: null });
	mock.emit({ kind: "checkpoint.refused", campaign: campaigns[0].id, player: players[1].id, via: "rest", reason: "quota", skipped: 3 });
}

async function started(t, options, token = OPERATOR) {
	const mock = await startMock();
	const page = await t.open(options);
	await signIn(page, mock.url, token);
	await isLive(page);
	// The page first: without its server it would rightly complain.
	const end = async () => {
		await page.context().close();
		await mock.close();
	};
	return { mock, page, end };
}

// Every view, looked at by axe, and its width.
async function everyView(t, name, options) {
	const { mock, page, end } = await started(t, options);
	showFew(12);
	fillUp(mock);
	await page.waitForTimeout(2000); // for the charts to draw it
	for (const view of VIEWS) {
		await go(page, view);
		await noSidewaysScroll(page, `${view} (${name})`);
		await axe(page, `${view} (${name})`);
		await shoot(page, `${name}-${nameOf(view)}`);
	}
	await end();
}

async function dialogs(t) {
	for (const colorScheme of ["light", "dark"]) {
		const { mock, page, end } = await started(t, { colorScheme });
		page.allowed.push("status of 409"); // the browser's own line about what needs force
		await go(page, "bans");
		await page.getByRole("button", { name: "Add a ban" }).click();
		await axe(page, "the form of a ban");
		await page.getByLabel("Who", { exact: true }).fill("127.0.0.1");
		await page.getByRole("button", { name: "Check" }).click();
		await page.getByText("this ban covers the address that you come from").waitFor();
		await axe(page, "a ban that needs force");
		await shoot(page, `dialog-force-${colorScheme}`);
		await page.getByLabel("Yes, do it all the same").check();
		await page.getByRole("button", { name: "Check again" }).click();
		await page.getByText("2 connections that are there now will end").waitFor();
		check(mock.bans.every((b) => b.value !== "127.0.0.1"), "a dry run changes nothing");
		await axe(page, "what a ban would do");
		await shoot(page, `dialog-confirm-${colorScheme}`);
		await page.getByRole("button", { name: "Ban", exact: true }).last().click();
		await page.getByText("127.0.0.1 is banned; 2 connections ended.").waitFor();
		await axe(page, "what was done");
		await shoot(page, `done-${colorScheme}`);
		await page.keyboard.press("?");
		await page.getByRole("heading", { name: "Keys" }).waitFor();
		await axe(page, "the list of keys");
		await end();
	}
}

async function signInLooks(t) {
	for (const options of [{ colorScheme: "light" }, { colorScheme: "dark" }, { viewport: { width: 360, height: 740 } }]) {
		const mock = await startMock();
		const page = await t.open(options);
		await page.goto(mock.url);
		await page.getByRole("button", { name: "Sign in" }).waitFor();
		await noSidewaysScroll(page, "the sign-in");
		await axe(page, "the sign-in");
		await shoot(page, `sign-in-${options.colorScheme || "phone"}`);
		await mock.close();
	}
}

async function link(t) {
	const mock = await startMock();
	const page = await t.open();
	page.allowed.push("401"); // the browser's own line about the second try
	await page.goto(`${mock.url}#${SECRET}`);
	await page.getByRole("heading", { name: "Overview" }).waitFor();
	check(!page.url().includes(SECRET), "the secret is gone from the address");
	await page.reload();
	await page.getByRole("heading", { name: "Overview" }).waitFor();
	const again = await t.open();
	again.allowed.push("401");
	await again.goto(`${mock.url}#${SECRET}`);
	await again.getByText("This link is no longer good").waitFor();
	await mock.close();
}

const ACTIONS = ["Close", "Remove", "Revoke", "Ban", "Add", "Take", "Drain", "Make", "Set", "Sweep", "Reload", "Import", "Reset", "Disconnect", "Download", "Free", "Give"]
	.map((word) => new RegExp(`^${word}\\b`));

async function viewer(t) {
	const { page, end } = await started(t, {}, VIEWER);
	for (const view of VIEWS.filter((v) => v !== "tokens")) {
		await go(page, view);
		for (const name of ACTIONS)
			check(await page.getByRole("main").getByRole("button", { name }).count() === 0, `a viewer has no button ${name} on ${view}`);
	}
	check(await page.getByRole("link", { name: "Tokens" }).count() === 0, "a viewer has no tokens");
	await end();
}

// Everything without a mouse.
async function keyboard(t) {
	const { page, end } = await started(t);
	await page.keyboard.press("Tab");
	await page.keyboard.press("Shift+Tab");
	await page.keyboard.press("g");
	await page.keyboard.press("g");
	await page.getByRole("heading", { level: 1, name: "Games" }).waitFor();
	check(await page.evaluate(() => document.activeElement.tagName) === "H1", "the heading has the focus after going somewhere");
	const code = String(games[1].code);
	await page.getByRole("button", { name: `Close game ${code}` }).waitFor();
	await page.keyboard.press("/");
	await page.keyboard.type("zzz");
	await page.getByText("Nothing here fits the filter.").waitFor();
	await page.keyboard.press("Control+A");
	await page.keyboard.type(code);
	await page.getByText("1 of 14 rows").waitFor();
	for (let i = 0; i < 30 && !await page.evaluate(() => document.activeElement.getAttribute("aria-label")?.startsWith("Close game")); i++)
		await page.keyboard.press("Tab");
	await page.keyboard.press("Enter");
	await page.getByText("ends for its host and").waitFor();
	await page.keyboard.press("Escape");
	check(await page.evaluate(() => document.activeElement.getAttribute("aria-label")) === `Close game ${code}`, "the focus is back where the dialog was opened");
	await page.keyboard.press("Enter");
	await page.getByText("ends for its host and").waitFor();
	await page.keyboard.press("Enter");
	await page.getByText(`Game ${code} is closed`).waitFor();
	await until("the game is gone", async () => await page.getByRole("button", { name: `Close game ${code}` }).count() === 0);
	await end();
}

// Sorted, filtered, paged, exported; what a formula would be is text.
async function tables(t) {
	const { page, end } = await started(t);
	await go(page, "players");
	const rows = (text) => page.locator(".count").getByText(text, { exact: true }).waitFor();
	await page.getByText("200 rows, and there are more on the server").waitFor();
	await page.getByRole("button", { name: "Load more" }).click();
	await rows("260 rows");
	await page.getByRole("button", { name: "Stored" }).click();
	await page.getByRole("button", { name: "Stored" }).click();
	check(await page.locator("th[aria-sort=descending]").textContent() === "Stored ▼", "sorted downwards");
	check((await page.locator("tbody tr").first().textContent()).includes("14.8 MiB"), "the largest first");
	await go(page, "campaigns");
	await page.getByLabel("Filter what is shown").fill("hyperlink");
	await page.getByText("of 41 rows").waitFor();
	const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export CSV" }).click()]);
	const text = readFileSync(await download.path(), "utf8");
	check(download.suggestedFilename() === "coopd-campaigns.csv", "the file's name");
	check(text.startsWith("Name,Id,Owner,Level,"), "the head line");
	check(text.split("\r\n")[1].startsWith("\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\","), `no formula: ${text.split("\r\n")[1]}`);
	await page.getByLabel("Filter what is shown").fill("");
	await page.getByLabel("Part of the name").fill("nanosuit");
	await rows("5 rows");
	check(page.url().includes("q=nanosuit"), "the search stands in the address");
	await page.reload();
	await rows("5 rows");
	check(await page.getByLabel("Part of the name").inputValue() === "nanosuit", "and is there after a reload");
	check(await page.evaluate(() => document.querySelectorAll("main img").length) === 0, "no text became markup");
	await end();
}

async function oneColumn(t) {
	const { page, end } = await started(t, { viewport: { width: 360, height: 740 }, hasTouch: true });
	check(await page.getByRole("link", { name: "Games", exact: true }).isHidden(), "the navigation is folded up");
	await page.getByRole("button", { name: "Menu" }).click();
	await axe(page, "the open menu");
	await shoot(page, "phone-menu");
	await page.getByRole("link", { name: "Bans", exact: true }).click();
	await page.getByRole("heading", { level: 1, name: "Bans" }).waitFor();
	await page.getByLabel("Sorted by").selectOption({ label: "Hits, downwards" });
	check((await page.locator("tbody tr").first().textContent()).includes("1,204"), "sorted on a phone too");
	await page.getByRole("button", { name: "Add a ban" }).click();
	await noSidewaysScroll(page, "a dialog on a phone");
	await shoot(page, "phone-dialog");
	await end();
}

async function theme(t) {
	const { page, end } = await started(t, { colorScheme: "light" });
	const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	const light = await back();
	await page.getByLabel("Colours").selectOption("dark");
	const dark = await back();
	check(light !== dark, "the switch makes it dark");
	await page.reload();
	await page.getByRole("heading", { name: "Overview" }).waitFor();
	check(await back() === dark, "and it stays so");
	await end();
}

// A binary that was built without npm.
async function noCharts(t) {
	const { mock, page, end } = await started(t);
	mock.withCharts = false;
	await page.reload();
	await page.getByText("The charts on this page are missing").waitFor();
	await isLive(page);
	await until("the figures stand there as numbers", async () => /\d/.test(await page.locator(".legend strong").first().textContent()));
	await axe(page, "the overview without charts");
	await shoot(page, "no-charts");
	await end();
}

export const scenarios = {
	"mock-light": (t) => everyView(t, "light", { colorScheme: "light" }),
	"mock-dark": (t) => everyView(t, "dark", { colorScheme: "dark" }),
	"mock-phone": (t) => everyView(t, "phone", { colorScheme: "light", viewport: { width: 360, height: 740 } }),
	"mock-dialogs": dialogs, "mock-sign-in": signInLooks, "mock-link": link, "mock-viewer": viewer, "mock-keyboard": keyboard, "mock-tables": tables,
	"mock-menu": oneColumn, "mock-theme": theme, "mock-no-charts": noCharts,
};
