// Light or dark, before anything is drawn: a plain script in the head, so that the page does not flash.
"use strict";

(() => {
	const KEY = "coopd.theme";
	const root = document.documentElement;

	function stored() {
		try {
			return localStorage.getItem(KEY);
		} catch {
			return null;
		}
	}

	const wanted = stored();
	if (wanted === "light" || wanted === "dark")
		root.dataset.theme = wanted;

	// For the switch in the header. "auto" follows the system.
	window.coopdTheme = {
		get: () => root.dataset.theme || "auto",
		set(value) {
			if (value === "auto")
				delete root.dataset.theme;
			else
				root.dataset.theme = value;
			try {
				localStorage.setItem(KEY, value);
			} catch {
				// Private windows may keep nothing; the switch works until the page is closed.
			}
			document.dispatchEvent(new Event("coopd-theme"));
		},
	};
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change",
		() => document.dispatchEvent(new Event("coopd-theme")));
})();
