// The page: sign-in, frame, and which view is shown. Views are in view_*.js; each has
//
//	show(route) -> { title, node, destroy() }
//
// and routes are the part of the address behind "#/". A one-time link is "#SECRET", without the slash.

import { ask, onRefused, session } from "./api.js";
import { fill } from "./dom.js";
import { serverNow } from "./format.js";
import { Frame } from "./frame.js";
import { installKeys } from "./keys.js";
import { startLive, stopLive } from "./live.js";
import { signInView } from "./sign_in.js";
import * as views from "./views.js";

const app = document.getElementById("app");
let frame = null;
let shown = null;

function routeOf(hash) {
	const [path, search] = hash.replace(/^#\/?/, "").split("?");
	const parts = path.split("/").filter(Boolean).map((text) => {
		try {
			return decodeURIComponent(text);
		} catch {
			return text;
		}
	});
	return { name: parts[0] || "overview", parts: parts.slice(1), params: Object.fromEntries(new URLSearchParams(search || "")) };
}

function leave() {
	shown?.destroy?.();
	shown = null;
	for (const dialog of document.querySelectorAll("dialog"))
		dialog.close();
}

function showRoute(focus) {
	const route = routeOf(location.hash);
	leave();
	shown = views.find(route).show(route);
	frame.show(route, shown, focus);
}

// --- Coming and going ---

function showSignIn(why) {
	leave();
	stopLive();
	frame?.destroy();
	frame = null;
	document.title = "Sign in – coopd";
	fill(app, signInView(why, signIn));
	app.querySelector("input")?.focus();
}

// Throws Problem.
async function signIn(token) {
	const me = await ask("GET", "whoami", { token });
	session.begin(token, me);
	enter();
}

function enter() {
	frame = new Frame({ onSignOut: signOut });
	fill(app, frame.node);
	startLive();
	showRoute(true);
}

async function signOut() {
	try {
		await ask("POST", "logout");
	} catch {
		// Not reached, or no longer good: this tab forgets it all the same.
	}
	session.end();
	showSignIn("You are signed out, and this token is no longer valid.");
}

onRefused.run = () => {
	const ends = Date.parse(session.me()?.expires_at ?? "");
	const expired = Number.isFinite(ends) && serverNow() > ends - 2000;
	session.end();
	showSignIn(expired ? "Your token has expired. Sign in with another one."
		: "Your token is no longer valid: it has expired or was revoked. Sign in with another one.");
};

// --- One-time links ---

const secretOf = (hash) => /^#([0-9a-f]{16,128})$/.exec(hash)?.[1];

async function useLink(secret) {
	// Out of the address bar and the history before anything else.
	history.replaceState(null, "", location.pathname);
	try {
		const { token } = await ask("POST", "login/use", { body: { secret }, anonymous: true });
		await signIn(token);
	} catch (problem) {
		showSignIn(problem.status === 0 ? "The server cannot be reached. Try the link again when it can."
			: "This link is no longer good: it works once, and for a minute. Run coopctl web again for another one.");
	}
}

async function resume() {
	try {
		await signIn(session.token());
	} catch (problem) {
		if (problem.status !== 401 && problem.status !== 403) {
			showSignIn("The server cannot be reached at the moment. Your token is kept; load the page again in a while.");
			return;
		}
		session.end();
		showSignIn("Your token is no longer valid: it has expired or was revoked. Sign in with another one.");
	}
}

addEventListener("hashchange", () => {
	const secret = secretOf(location.hash);
	if (secret)
		useLink(secret);
	else if (frame)
		showRoute(true);
});

installKeys(() => frame !== null);

const secret = secretOf(location.hash);
if (secret)
	useLink(secret);
else if (session.token())
	resume();
else
	showSignIn("");
