// One scenario of the page in a real browser; tests/e2e/page_test.c starts it beside a real server.
//
//	node run.mjs SCENARIO		PAGE_URL TOKEN VIEWER ... as the scenario needs; SHOTS_DIR: screenshots
//
// What only the test can do is asked for by a line "@open_game" on the output and answered by a line on the input. The exit
// status is 0 when all holds, and 77 when something is missing here.

import { createInterface } from "node:readline";
import { missing, noFaults, openBrowser, openPage, shoot } from "./browser.mjs";
import { scenarios as mocked } from "./with_mock.mjs";
import { scenarios as served } from "./with_server.mjs";

const scenarios = { ...mocked, ...served };
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

// Has the test do something; its answer, in words.
async function ask(what) {
	process.stdout.write(`@${what}\n`);
	const { value, done } = await lines.next();
	if (done)
		throw new Error("the test has ended");
	return value;
}

async function run(name) {
	const browser = await openBrowser();
	const pages = [];
	const open = async (options) => {
		const page = await openPage(browser, options);
		pages.push(page);
		return page;
	};
	try {
		await scenarios[name]({ open, ask, env: process.env });
		pages.forEach(noFaults);
	} catch (error) {
		for (const [i, page] of pages.entries())
			await shoot(page, `failed-${name}-${i}`).catch(() => {});
		console.error(`${name}: ${error.message}`);
		for (const page of pages)
			console.error(page.faults.join("\n"));
		process.exitCode = 1;
	} finally {
		await browser.close();
	}
}

const name = process.argv[2];
const lacks = missing();
if (lacks) {
	console.error(`skipped: there is no ${lacks} here (make test installs it)`);
	process.exitCode = 77;
} else if (!scenarios[name]) {
	console.error(`run.mjs: there is no scenario ${name}; there are: ${Object.keys(scenarios).join(" ")}`);
	process.exitCode = 2;
} else {
	await run(name);
}
// A mock that a scenario left behind keeps nobody waiting.
process.exit();
