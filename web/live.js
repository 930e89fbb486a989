// The events socket: figures once a second, happenings as they happen. It comes back by itself.
//
//	off --start--> joining --hello--> live --closed--> waiting --timer--> joining ...
//
// After a reconnect it asks for what it missed. A server that was started anew counts from 1 again, which its hello says.

import { get, session } from "./api.js";
import { noteServerTime } from "./format.js";

const FIGURES_KEPT = 600;
const EVENTS_KEPT = 500;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10000;
const SILENCE_MS = 15000;

export const live = {
	state: "off", // off joining live waiting
	why: "",      // of waiting, for people
	status: null, // the newest GET status
	figures: [],  // the newest last
	events: [],   // the newest first
	lost: 0,      // events that this page never got
};

const listeners = new Set();
let socket = null;
let timer = null;
let watch = null;
let wait = FIRST_WAIT_MS;
let lastSeq = 0;
let startedAt = "";
let round = 0; // a stop makes what is under way meaningless

// tell(what, detail): what is "state", "figures", "event" or "status". Returns how to stop listening.
export function listen(tell) {
	listeners.add(tell);
	return () => listeners.delete(tell);
}

function tell(what, detail) {
	for (const listener of [...listeners])
		listener(what, detail);
}

function setState(state, why = "") {
	live.state = state;
	live.why = why;
	tell("state");
}

const isLoopback = (host) => host === "localhost" || host === "[::1]" || /^127(\.\d+){3}$/.test(host);

// Where the events are: beside the page, or, when the page came through a proxy, at the proxy.
export function eventsUrl(status, page) {
	const listener = (status.listeners || []).find((l) => l.part === "admin-events" && /:\d+$/.test(l.address));
	if (page.protocol === "https:" || !isLoopback(page.hostname))
		return `${page.protocol === "https:" ? "wss" : "ws"}://${page.host}/admin/v1/events`;
	if (!listener)
		return null;
	const port = listener.address.slice(listener.address.lastIndexOf(":") + 1);
	const host = page.hostname === "[::1]" ? "localhost" : page.hostname;
	return `ws://${host}:${port}/admin/v1/events`;
}

export async function refreshStatus() {
	const status = await get("status");
	noteServerTime(status.now_at);
	live.status = status;
	tell("status");
	return status;
}

function onEvent(message) {
	if (message.seq <= lastSeq)
		return;
	lastSeq = message.seq;
	live.events.unshift(message);
	live.events.length = Math.min(live.events.length, EVENTS_KEPT);
	tell("event", message);
}

function onFigures(message) {
	live.figures.push(message);
	if (live.figures.length > FIGURES_KEPT)
		live.figures.shift();
	tell("figures", message);
}

// Behind which number events are asked for: what was missed, or, at first, as many from before as the page keeps.
function missedFrom(hello) {
	if (hello.started_at !== startedAt) {
		startedAt = hello.started_at;
		lastSeq = Math.max(0, hello.seq - EVENTS_KEPT);
	}
	return lastSeq;
}

function onMessage(text, ws, mine) {
	const message = JSON.parse(text);
	if (message.at)
		noteServerTime(message.at);
	if (message.op === "hello") {
		wait = FIRST_WAIT_MS;
		ws.send(JSON.stringify({ op: "since", seq: missedFrom(message) }));
		if (mine === round)
			setState("live");
	} else if (message.op === "event") {
		onEvent(message);
	} else if (message.op === "figures") {
		onFigures(message);
	} else if (message.op === "lost") {
		live.lost += message.events || 0;
		tell("state");
	}
}

// A connection over which nothing comes is dead, whatever the system says: figures come every second.
function expectMessage(ws) {
	clearTimeout(watch);
	watch = setTimeout(() => ws.close(), SILENCE_MS);
}

function later(why) {
	setState("waiting", why);
	clearTimeout(timer);
	timer = setTimeout(join, wait * (0.75 + Math.random() / 2));
	wait = Math.min(LONGEST_WAIT_MS, wait * 2);
}

async function onClose(event, mine) {
	if (mine !== round)
		return;
	clearTimeout(watch);
	socket = null;
	if (event.code === 4403) {
		wait = LONGEST_WAIT_MS;
		later("the server takes no events connection from this address: open the page under a name of admin.hosts");
		return;
	}
	if (event.code === 1013) {
		wait = LONGEST_WAIT_MS;
		later("as many are watching as the server allows (limits.admin_viewers); this page waits for a place");
		return;
	}
	if (event.code === 4401) {
		// The token ended or was revoked. REST says so in words; if it still takes it, this was something else.
		try {
			await get("whoami");
		} catch (problem) {
			if (problem.status === 401)
				return;
		}
	}
	if (mine === round)
		later("connection lost, trying again");
}

async function join() {
	const mine = round;
	let url;

	if (live.state === "off")
		setState("joining");
	try {
		url = eventsUrl(await refreshStatus(), location);
	} catch (problem) {
		if (mine === round && problem.status !== 401)
			later("connection lost, trying again");
		return;
	}
	if (mine !== round)
		return;
	if (!url) {
		wait = LONGEST_WAIT_MS;
		later("this server has no events listener (admin.events_listen): figures come every 10 seconds");
		return;
	}
	const ws = new WebSocket(url);
	socket = ws;
	expectMessage(ws);
	ws.onopen = () => ws.send(JSON.stringify({ op: "auth", token: session.token() }));
	ws.onmessage = (event) => {
		if (mine !== round)
			return;
		expectMessage(ws);
		onMessage(event.data, ws, mine);
	};
	ws.onclose = (event) => onClose(event, mine);
}

export function startLive() {
	stopLive();
	wait = FIRST_WAIT_MS;
	lastSeq = 0;
	startedAt = "";
	join();
}

export function stopLive() {
	round += 1;
	clearTimeout(timer);
	clearTimeout(watch);
	socket?.close();
	socket = null;
	live.figures = [];
	live.events = [];
	live.lost = 0;
	live.status = null;
	setState("off");
}

// Back from a sleeping laptop or a lost network: no need to wait for the timer.
function hurry() {
	if (live.state !== "waiting")
		return;
	round += 1; // an attempt that is under way is given up
	clearTimeout(timer);
	clearTimeout(watch);
	socket?.close();
	wait = FIRST_WAIT_MS;
	join();
}
addEventListener("online", hurry);
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && hurry());
