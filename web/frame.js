// What stands around every view: header, navigation, and how the connection is doing.

import { session } from "./api.js";
import { fill, h, pill, select } from "./dom.js";
import { time } from "./format.js";
import { showKeys } from "./keys.js";
import { listen, live } from "./live.js";
import { groups } from "./views.js";

const STATES = { ready: "good", starting: "warn", draining: "warn", failing: "bad" };

export class Frame {
	constructor({ onSignOut }) {
		this.state = h("span", { class: "server-state" });
		this.connection = h("span", { class: "connection", role: "status" });
		this.banner = h("div", { class: "banner", role: "status", hidden: true });
		this.main = h("main", { id: "main", tabindex: "-1" });
		this.links = new Map();
		this.nav = h("nav", { id: "nav", "aria-label": "Views" }, groups.map((group) => this.group(group)));
		this.menu = h("button", {
			type: "button", class: "menu", "aria-expanded": "false", "aria-controls": "nav", onclick: () => this.toggle(),
		}, "Menu");
		this.node = h("div", { class: "frame" },
			h("a", { class: "skip", href: "#main", onclick: (event) => this.skip(event) }, "Skip to the content"),
			this.header(onSignOut), this.nav, h("div", { class: "content" }, this.banner, this.main));
		this.off = listen((what) => what !== "event" && this.draw(what));
		this.draw("state");
	}

	destroy() {
		this.off();
	}

	header(onSignOut) {
		const me = session.me();
		return h("header", { class: "top" },
			this.menu,
			h("a", { class: "brand", href: "#/overview" }, h("img", { src: "/web/icon.svg", alt: "", width: 24, height: 24 }), "coopd"),
			this.state, this.connection,
			h("div", { class: "spring" }),
			h("span", { class: "me" }, h("span", { class: "who" }, me.who, " "), pill(me.role, me.role === "operator" ? "info" : "plain"),
				me.expires_at ? h("span", { class: "until" }, "until ", time(me.expires_at)) : null),
			h("button", { type: "button", class: "quiet only-wide", onclick: showKeys }, "Keys"),
			select([["auto", "As the system"], ["light", "Light"], ["dark", "Dark"]], window.coopdTheme.get(),
				{ "aria-label": "Colours", class: "theme", onchange: (event) => window.coopdTheme.set(event.target.value) }),
			h("button", { type: "button", onclick: onSignOut }, "Sign out"));
	}

	group({ title, views }) {
		const id = `nav-${title.toLowerCase()}`;
		return h("div", { class: "nav-group" }, h("h2", { id }, title),
			h("ul", { "aria-labelledby": id }, views.filter((v) => !v.operator || session.isOperator()).map((v) => {
				const a = h("a", { href: `#/${v.name}` }, v.title);
				this.links.set(v.name, a);
				return h("li", null, a);
			})));
	}

	toggle(open = this.menu.getAttribute("aria-expanded") !== "true") {
		this.menu.setAttribute("aria-expanded", String(open));
		this.nav.classList.toggle("open", open);
	}

	skip(event) {
		event.preventDefault();
		this.main.focus();
	}

	// focus: whether the heading gets it, as after a click on a link a new page would.
	show(route, view, focus) {
		const heading = h("h1", { tabindex: "-1" }, view.title);
		document.title = `${view.title} – coopd`;
		fill(this.main, h("div", { class: "heading" }, heading, view.buttons ? h("div", { class: "buttons" }, view.buttons) : null), view.node);
		for (const [name, a] of this.links) {
			if (name === route.name)
				a.setAttribute("aria-current", "page");
			else
				a.removeAttribute("aria-current");
		}
		this.toggle(false);
		if (focus) {
			scrollTo(0, 0);
			heading.focus({ preventScroll: true });
		}
	}

	draw(what) {
		if (what === "status" || what === "state")
			this.drawState();
		if (what === "state")
			this.drawConnection();
	}

	drawState() {
		// What it was before the connection was lost is no news of it.
		const s = live.state === "waiting" ? null : live.status;
		fill(this.state, s ? [pill(s.state, STATES[s.state]),
			s.store !== "ok" ? pill(`store ${s.store}`, s.store === "slow" ? "warn" : "bad") : null] : null);
	}

	drawConnection() {
		const waits = live.state === "waiting";
		fill(this.connection, live.state === "live" ? pill("live", "good") : pill(waits ? "not live" : "joining", waits ? "bad" : "plain"));
		this.banner.hidden = !waits;
		fill(this.banner, waits ? `${live.why[0].toUpperCase()}${live.why.slice(1)}.` : null);
	}
}
