// Scenarios against the real server that tests/e2e/page_test.c has started; t.ask has the test do what a browser cannot.

import { readFileSync } from "node:fs";
import { axe, check, go, isLive, noSidewaysScroll, shoot, signIn, until } from "./browser.mjs";

const ISLAND = "00000000000000aa";
const BANNED = "203.0.113.9";

async function started(t, options, token = t.env.TOKEN) {
	const page = await t.open(options);
	await signIn(page, t.env.PAGE_URL, token);
	await isLive(page);
	return page;
}

// In a dialog that shows what would happen: the button that does it.
const confirm = (page, name) => page.locator("dialog").getByRole("button", { name, exact: true });

async function game(t) {
	const page = await started(t);
	await go(page, "games");
	await page.getByText("No game is being played.").waitFor();
	const code = await t.ask("open_game");
	await page.getByRole("link", { name: code, exact: true }).waitFor();
	await shoot(page, "server-game");
	await go(page, "events");
	await page.locator("tr", { hasText: "game.opened" }).getByText(code).waitFor();
	await go(page, "overview");
	await page.locator(".tiles a", { hasText: "Games" }).getByText("1", { exact: true }).waitFor();
	await go(page, "games");
	await page.getByRole("button", { name: `Close game ${code}` }).click();
	await page.getByText(`Game ${code} ends for its host and 0 friends.`).waitFor();
	await confirm(page, "Close the game").click();
	await page.getByText(`Game ${code} is closed; 0 friends had to leave.`).waitFor();
	check(await t.ask("await_end") === "ended", "the host's connection has ended");
	await page.getByText("No game is being played.").waitFor();
	check(await t.ask("audited game.close") === "1", "the trail knows one closing: a dry run is none");
	await go(page, "audit");
	await page.locator("tr", { hasText: "game.close" }).getByText("(elke)").waitFor();
}

async function campaign(t) {
	const page = await started(t);
	const rows = (text) => page.locator(".count").getByText(text, { exact: true }).waitFor();
	await go(page, "campaigns");
	await rows("2 rows");
	await page.getByLabel("Part of the name").fill("isl");
	await rows("1 row");
	await page.getByRole("link", { name: "Isländ night" }).click();
	await page.getByRole("heading", { level: 1, name: `Campaign ${ISLAND}` }).waitFor();
	const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download checkpoint 1" }).click()]);
	check(readFileSync(await download.path(), "utf8").includes("Isländ night"), "the checkpoint's bytes came");
	await shoot(page, "server-campaign");
	await page.getByRole("button", { name: "Revoke", exact: true }).click();
	await page.getByText("Campaign “Isländ night” goes into the trash").waitFor();
	check(await t.ask(`load_campaign ${ISLAND}`) === "200", "asking changes nothing");
	await confirm(page, "Revoke it").click();
	await page.getByText("Campaign “Isländ night” is revoked").waitFor();
	check(await t.ask(`load_campaign ${ISLAND}`) === "404", "its player finds it no more");
	await page.getByRole("button", { name: "Take back" }).waitFor();
	await go(page, "campaigns");
	await rows("1 row");
	await page.getByLabel("Revoked ones").selectOption("only");
	await page.getByRole("button", { name: "Take back campaign Isländ night" }).click();
	await confirm(page, "Take it back").click();
	await page.getByText("Campaign “Isländ night” is back.").waitFor();
	check(await t.ask(`load_campaign ${ISLAND}`) === "200", "its player has it again");
}

async function ban(t) {
	const page = await started(t);
	await t.ask(`open_game ${BANNED}`);
	await go(page, "bans");
	await page.getByText("Nobody is banned.").waitFor();
	await page.getByRole("button", { name: "Add a ban" }).click();
	await page.getByLabel("Who", { exact: true }).fill(BANNED);
	await page.getByLabel("Why", { exact: true }).fill("=cheats");
	await page.getByLabel("For how long").selectOption({ label: "an hour" });
	await page.getByRole("button", { name: "Check" }).click();
	await page.getByText("1 connection that is there now will end.").waitFor();
	await confirm(page, "Ban").click();
	await page.getByText(`${BANNED} is banned; 1 connection ended.`).waitFor();
	check(await t.ask("await_end") === "ended", "the host's connection has ended");
	check(await t.ask(`try_upgrade ${BANNED}`) === "403", "and he does not come again");
	await page.getByRole("button", { name: `Remove the ban of ${BANNED}` }).waitFor();
	await shoot(page, "server-ban");
	await page.getByRole("button", { name: "Add a ban" }).click();
	await page.getByLabel("Who", { exact: true }).fill("127.0.0.1");
	page.allowed.push("status of 409"); // the browser's own line about it
	await page.getByRole("button", { name: "Check" }).click();
	await page.getByLabel("Yes, do it all the same").waitFor();
	await page.keyboard.press("Escape");
	await page.getByRole("button", { name: `Remove the ban of ${BANNED}` }).click();
	await confirm(page, "Remove the ban").click();
	await page.getByText(`${BANNED} may come again.`).waitFor();
	check(await t.ask(`try_upgrade ${BANNED}`) === "101", "and so he does");
}

async function exported(t) {
	const page = await started(t);
	await go(page, "campaigns");
	await page.locator(".count").getByText("2 rows", { exact: true }).waitFor();
	await page.getByRole("button", { name: "Name", exact: true }).click();
	const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export CSV" }).click()]);
	const lines = readFileSync(await download.path(), "utf8").split("\r\n");
	await page.getByText("Exported 2 rows to coopd-campaigns.csv.").waitFor();
	check(lines.length === 4 && lines[0].startsWith("Name,Id,Owner,"), "a head line and two rows");
	check(lines[1].startsWith("'=1+1,00000000000000bb,"), `no formula, and sorted: ${lines[1]}`);
	check(lines[2].startsWith(`Isländ night,${ISLAND},`), `the other one: ${lines[2]}`);
}

async function tokens(t) {
	const page = await t.open();
	const typed = async (token) => {
		await page.getByRole("textbox", { name: "Token" }).fill(token);
		await page.getByRole("button", { name: "Sign in" }).click();
	};
	page.allowed.push("401"); // the browser's own lines; and the events' end
	await page.goto(t.env.PAGE_URL);
	await typed("f00");
	await page.getByText("A token is 64 digits").waitFor();
	await typed("f".repeat(64));
	await page.getByText("it is wrong, has expired, or was revoked").waitFor();
	await axe(page, "a wrong token");
	const short = await t.ask("make_token short 60");
	await typed(short);
	await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
	await isLive(page);
	await t.ask("advance 120000");
	await page.getByText(/^Your token (has expired|is no longer valid)/).waitFor();
	check(await page.evaluate(() => sessionStorage.length) === 0, "nothing of it is kept");
	await shoot(page, "server-expired");
	await typed(short);
	await page.getByText("it is wrong, has expired, or was revoked").waitFor();
	await typed(await t.ask("make_token other 3600"));
	await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
	await isLive(page);
	check(await t.ask("revoke_token other") === "200", "it is revoked");
	await page.getByText("Your token is no longer valid: it has expired or was revoked.").waitFor();

	const secret = await t.ask("make_link operator");
	await page.goto(`${t.env.PAGE_URL}#${secret}`);
	await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
	check(!page.url().includes(secret), "the secret is gone from the address");
	await page.getByRole("button", { name: "Sign out" }).click();
	await page.getByText("You are signed out").waitFor();
	await page.goto("about:blank");
	await page.goto(`${t.env.PAGE_URL}#${secret}`);
	await page.getByText("This link is no longer good").waitFor();
}

async function restart(t) {
	const page = await started(t);
	await go(page, "games");
	await t.ask("open_game");
	await page.locator(".count").getByText("1 row", { exact: true }).waitFor();
	// What the browser itself says about a server that is away.
	page.allowed.push("ERR_CONNECTION_REFUSED", "WebSocket connection", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE", "503");
	await t.ask("stop_server");
	await page.getByText("Connection lost, trying again.").waitFor();
	await axe(page, "a lost connection");
	await shoot(page, "server-lost");
	await t.ask("start_server");
	await isLive(page);
	check(await page.getByText("Connection lost").count() === 0, "and says no more that it is lost");
	const code = await t.ask("open_game");
	await page.getByRole("link", { name: code, exact: true }).waitFor();
	await go(page, "events");
	await page.locator("tr", { hasText: "game.opened" }).first().waitFor();
}

const VIEWS = ["overview", "events", "health", "games", "lobbies", "signal", "rooms", "boards", "p2p", "players", "campaigns", "quotas", "bans", "tokens", "audit", "maintenance", "settings"];
const WITH_ONE = { games: "/games/", rooms: "/rooms/", boards: "/boards/", p2p: "/p2p/", players: "/players/", campaigns: "/campaigns/" };

// The first link of this view to one thing of its kind.
async function firstOf(page, view) {
	const link = page.locator(`main a[href^="#${WITH_ONE[view]}"]`).first();
	await link.waitFor();
	return (await link.getAttribute("href")).slice(2);
}

async function views(t) {
	const page = await started(t, { colorScheme: "light" });
	const visit = async (view, name) => {
		await go(page, view);
		check(await page.locator("main .notice.bad").count() === 0, `${view} shows no error: ${await page.locator("main .notice").allTextContents()}`);
		for (const colorScheme of ["light", "dark"]) {
			await page.emulateMedia({ colorScheme });
			await axe(page, `${view} in ${colorScheme}`);
		}
		await shoot(page, `server-${name}`);
		await page.setViewportSize({ width: 360, height: 740 });
		await noSidewaysScroll(page, `${view} on a phone`);
		await page.setViewportSize({ width: 1360, height: 900 });
	};
	for (const view of VIEWS) {
		await visit(view, view);
		if (WITH_ONE[view])
			await visit(await firstOf(page, view), `${view}-one`);
	}
	check(await page.evaluate(() => document.querySelectorAll("main img, main b").length) === 0, "no name became markup");
	await until("figures have come", () => page.evaluate(() => document.querySelector(".connection").textContent === "live"));
}

export const scenarios = { game, campaign, ban, export: exported, tokens, restart, views };
