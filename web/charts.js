// Live charts by uPlot. A server that was built without npm has no uPlot: then the figures are shown as numbers only.

import uPlot from "/web/uPlot.esm.js";
import { fill, h } from "./dom.js";
import { NONE } from "./format.js";

export const haveCharts = uPlot !== null;

const HEIGHT = 150;
const GAP_S = 5; // a hole this long in the figures is drawn as one

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// o: title, series [{ label, of(figures), dash }], show(number), minutes, floor (the scale reaches at least this far)
export class Chart {
	constructor(o) {
		this.o = { minutes: 5, floor: 1, ...o };
		this.values = o.series.map(() => h("strong", null, NONE));
		this.legend = h("ul", { class: "legend" }, o.series.map((s, i) =>
			h("li", null, h("span", { class: `swatch c${i + 1}${s.dash ? " dash" : ""}`, "aria-hidden": "true" }), `${s.label} `, this.values[i])));
		this.canvas = h("div", { class: "chart", role: "img" });
		this.node = h("figure", { class: "panel figure" }, h("figcaption", null, o.title), this.legend, haveCharts ? this.canvas : null);
		this.figures = [];
		if (!haveCharts)
			return;
		this.onTheme = () => this.make();
		document.addEventListener("coopd-theme", this.onTheme);
		this.watch = new ResizeObserver(() => this.resize());
		this.watch.observe(this.canvas);
	}

	destroy() {
		if (!haveCharts)
			return;
		document.removeEventListener("coopd-theme", this.onTheme);
		this.watch.disconnect();
		this.plot?.destroy();
	}

	resize() {
		const width = Math.floor(this.canvas.clientWidth);
		if (width === 0)
			return;
		if (!this.plot)
			this.make();
		else if (this.plot.width !== width)
			this.plot.setSize({ width, height: HEIGHT });
	}

	make() {
		const width = Math.floor(this.canvas.clientWidth);
		const axis = { stroke: colour("--muted"), font: "11px system-ui, sans-serif", grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
		this.plot?.destroy();
		fill(this.canvas);
		if (width === 0)
			return;
		this.plot = new uPlot({
			width,
			height: HEIGHT,
			legend: { show: false },
			cursor: { show: false },
			scales: { x: { range: () => this.window() }, y: { range: (_, min, max) => [Math.min(0, min ?? 0), Math.max(this.o.floor, (max ?? 0) * 1.1)] } },
			axes: [
				{ ...axis, space: 70, values: "{HH}:{mm}:{ss}", size: 28 },
				{ ...axis, space: 34, size: 62, values: (_, ticks) => ticks.map((t) => this.o.show(t)) },
			],
			series: [{}, ...this.o.series.map((s, i) => ({
				label: s.label, stroke: colour(`--chart-${i + 1}`), width: 2, dash: s.dash ? [6, 4] : undefined, points: { show: false },
			}))],
		}, this.data(), this.canvas);
	}

	// From when to when, in seconds; also while there are figures of a part of it only.
	window() {
		const to = (Date.parse(this.figures.at(-1)?.at) || Date.now()) / 1000;
		return [to - this.o.minutes * 60, to];
	}

	data() {
		const [from] = this.window();
		const columns = [[], ...this.o.series.map(() => [])];
		let before = null;
		for (const f of this.figures) {
			const at = Date.parse(f.at) / 1000;
			if (at < from)
				continue;
			if (before !== null && at - before > GAP_S) {
				columns[0].push(before + 1);
				this.o.series.forEach((_, i) => columns[i + 1].push(null));
			}
			columns[0].push(at);
			this.o.series.forEach((s, i) => columns[i + 1].push(s.of(f) ?? null));
			before = at;
		}
		return columns;
	}

	update(figures) {
		const last = figures.at(-1);
		this.figures = figures;
		this.o.series.forEach((s, i) => {
			const value = last ? s.of(last) : null;
			this.values[i].textContent = value === null || value === undefined ? NONE : this.o.show(value);
		});
		this.canvas.setAttribute("aria-label", `Chart of the last ${this.o.minutes} minutes: ` +
			this.o.series.map((s, i) => `${s.label} ${this.values[i].textContent}`).join(", "));
		if (this.plot)
			this.plot.setData(this.data());
	}
}
