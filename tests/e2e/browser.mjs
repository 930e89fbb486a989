// A browser for one scenario: Chromium by playwright-core, with everything that must not happen on a page written down.

import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const WEB = join(dirname(fileURLToPath(import.meta.url)), "../../web");
const require = createRequire(join(WEB, "package.json"));
const BROWSERS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const PATIENCE_MS = 30000;
const shots = process.env.SHOTS_DIR;

// What is missing here, in words; "" when all is there.
export function missing() {
	if (!BROWSERS.some((path) => path && existsSync(path)))
		return "chromium";
	for (const name of ["playwright-core", "axe-core", "uplot"]) {
		if (!existsSync(join(WEB, "node_modules", name)))
			return `npm's ${name} (npm ci in web/)`;
	}
	return "";
}

export async function openBrowser() {
	const { chromium } = require("playwright-core");
	return chromium.launch({
		executablePath: BROWSERS.find((path) => path && existsSync(path)), headless: true,
		args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
	});
}

// options: of the context (viewport, colorScheme). page.faults: console errors, exceptions and CSP violations so far.
export async function openPage(browser, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, acceptDownloads: true, reducedMotion: "reduce", ...options });
	const page = await context.newPage();
	page.setDefaultTimeout(PATIENCE_MS);
	page.faults = [];
	page.allowed = []; // beginnings or parts of what a scenario provokes
	const note = (text) => page.allowed.some((part) => text.includes(part)) || page.faults.push(text);
	page.on("console", (message) => ["error", "warning"].includes(message.type()) && note(`console: ${message.text()} ${message.location().url}`));
	page.on("pageerror", (error) => note(`exception: ${error.stack || error}`));
	await page.exposeFunction("noteViolation", (text) => note(`CSP: ${text}`));
	await page.addInitScript(() => addEventListener("securitypolicyviolation", (e) =>
		window.noteViolation(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`)));
	return page;
}

export function check(condition, what) {
	if (!condition)
		throw new Error(`it does not hold: ${what}`);
}

// Asks until it is true.
export async function until(what, question) {
	const end = Date.now() + PATIENCE_MS;
	while (!await question()) {
		if (Date.now() > end)
			throw new Error(`in vain waited for: ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
}

export function noFaults(page) {
	check(page.faults.length === 0, `nothing went wrong in the browser:\n${page.faults.join("\n")}`);
}

export async function signIn(page, url, token) {
	await page.goto(url);
	await page.getByRole("textbox", { name: "Token" }).fill(token);
	await page.getByRole("button", { name: "Sign in" }).click();
	await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
}

export async function isLive(page) {
	await page.locator(".connection", { hasText: "live" }).and(page.locator(":not(:has-text('not live'))")).waitFor();
}

export async function go(page, name) {
	await page.evaluate((hash) => { location.hash = hash; }, `#/${name}`);
	await page.locator("main h1").waitFor();
	// Tables have loaded when they say how many rows they have, and single things when they are shown.
	await page.waitForFunction(() => ![...document.querySelectorAll("main .empty")].some((row) => row.textContent === "Loading…") &&
		![...document.querySelectorAll("main [aria-busy=true]")].length && !document.querySelector("main .stack > div[hidden] .panel"));
}

export async function shoot(page, name) {
	if (!shots)
		return;
	mkdirSync(shots, { recursive: true });
	await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

// Throws unless axe is content with what is shown.
export async function axe(page, where) {
	// Playwright evaluates over the debugger, so the page's own policy stays as it is.
	const source = require("node:fs").readFileSync(join(WEB, "node_modules/axe-core/axe.min.js"), "utf8");
	await page.evaluate(source);
	const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
	const found = result.violations.map((v) => `${v.id}: ${v.help}\n${v.nodes.slice(0, 3).map((n) => `    ${n.html.slice(0, 200)} ${n.failureSummary.replaceAll("\n", " ")}`).join("\n")}`);
	check(found.length === 0, `axe finds nothing on ${where}:\n${found.join("\n")}`);
}

export async function noSidewaysScroll(page, where) {
	const { wide, room, who } = await page.evaluate(() => {
		const room = document.documentElement.clientWidth;
		const who = [...document.querySelectorAll("body *")].filter((n) => n.getBoundingClientRect().right > room + 1).slice(0, 3).map((n) => n.outerHTML.slice(0, 120));
		return { wide: document.documentElement.scrollWidth, room, who };
	});
	check(wide <= room, `${where} fits into ${room} pixels and needs ${wide}:\n${who.join("\n")}`);
}
