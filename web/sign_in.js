// The way in: a token, or a link of `coopctl web`, which never shows this.

import { field, fill, h, notice } from "./dom.js";

function sentence(problem) {
	if (problem.status === 401)
		return "The server does not take this token: it is wrong, has expired, or was revoked.";
	if (problem.status === 0)
		return "The server cannot be reached. Is it running?";
	return `The server refuses: ${problem.message}.`;
}

// why: what a person who did not expect this should know; "": nothing. signIn(token) throws Problem.
export function signInView(why, signIn) {
	const input = h("input", {
		type: "password", required: true, autocomplete: "off", spellcheck: "false", autocapitalize: "off", name: "token",
	});
	const said = h("div", { class: "sign-in-said" }, why ? notice("warn", h("p", { role: "alert" }, why)) : null);
	const button = h("button", { type: "submit", class: "primary" }, "Sign in");

	const complain = (text) => {
		fill(said, notice("bad", h("p", { role: "alert" }, text)));
		input.setAttribute("aria-invalid", "true");
		input.focus();
		input.select();
	};
	const submit = async (event) => {
		const token = input.value.trim();
		event.preventDefault();
		if (!/^[0-9a-f]{64}$/.test(token)) {
			complain("A token is 64 digits, 0 to 9 and a to f. Some are missing, or there is something else among them.");
			return;
		}
		button.disabled = true;
		try {
			await signIn(token);
		} catch (problem) {
			complain(sentence(problem));
		} finally {
			button.disabled = false;
		}
	};

	return h("main", { class: "sign-in" },
		h("div", { class: "sign-in-card" },
			h("img", { src: "/web/icon.svg", alt: "", width: 48, height: 48 }),
			h("h1", null, "coopd"),
			h("p", { class: "muted" }, "The operator's page of this server"),
			said,
			h("form", { onsubmit: submit, novalidate: true },
				field("Token", input, "Kept in this tab only, until it is closed."), button),
			h("section", { "aria-label": "Where a token comes from" },
				h("h2", null, "Where from?"),
				h("p", null, "On the server, ", h("code", null, "coopctl web"), " prints a link that signs you in, once, for 12 hours."),
				h("p", null, "Or make a token to keep: ", h("code", null, "coopctl tokens add NAME --role operator"), "."))));
}
