// Asking the server: REST with the token that this tab holds. There are no cookies.

const KEY = "coopd.token";

// What the server refused, or that it could not be reached (status 0).
export class Problem extends Error {
	constructor(status, code, message) {
		super(message);
		this.status = status;
		this.code = code;
	}
}

// Who is signed in: { who, role, expires_at }, or null.
let me = null;

export const session = {
	token: () => sessionStorage.getItem(KEY),
	me: () => me,
	isOperator: () => me?.role === "operator",
	begin(token, whoami) {
		sessionStorage.setItem(KEY, token);
		me = whoami;
	},
	end() {
		sessionStorage.removeItem(KEY);
		me = null;
	},
};

// Told when a token that worked does no longer: onRefused.run(message).
export const onRefused = { run: () => {} };

async function problemOf(response) {
	let error;
	try {
		error = (await response.json()).error;
	} catch {
		// Not from coopd itself, a proxy's for example.
	}
	return new Problem(response.status, error?.code || String(response.status),
		error?.message || `the server answered ${response.status} ${response.statusText}`);
}

export function query(parameters) {
	const q = new URLSearchParams();
	for (const [name, value] of Object.entries(parameters || {})) {
		if (value !== null && value !== undefined && value !== "")
			q.set(name, value);
	}
	const text = q.toString();
	return text ? `?${text}` : "";
}

// A part of a path that is somebody's id.
export function part(text) {
	return encodeURIComponent(text);
}

// options: { query, body (an object), text (CSV), token (instead of this tab's), anonymous }. Throws Problem.
export async function request(method, path, options = {}) {
	const token = options.anonymous ? null : options.token || session.token();
	const headers = { Accept: "application/json" };
	let body;
	let response;

	if (token)
		headers.Authorization = `Bearer ${token}`;
	if (options.body !== undefined) {
		headers["Content-Type"] = "application/json";
		body = JSON.stringify(options.body);
	} else if (options.text !== undefined) {
		headers["Content-Type"] = "text/csv";
		body = options.text;
	}
	try {
		response = await fetch(`/admin/v1/${path}${query(options.query)}`,
			{ method, headers, body, cache: "no-store", credentials: "omit", redirect: "error" });
	} catch {
		throw new Problem(0, "unreachable", "the server cannot be reached");
	}
	if (response.ok)
		return response;
	const problem = await problemOf(response);
	if (response.status === 401 && !options.token && token && token === session.token())
		onRefused.run(problem.message);
	throw problem;
}

export async function ask(method, path, options) {
	const response = await request(method, path, options);
	try {
		return await response.json();
	} catch {
		throw new Problem(0, "unreachable", "the answer broke off");
	}
}

export function get(path, parameters) {
	return ask("GET", path, { query: parameters });
}

// Hands bytes to the person as a file.
export function saveBlob(blob, name) {
	const url = URL.createObjectURL(blob);
	const a = document.createElement("a");
	a.href = url;
	a.download = name;
	document.body.append(a);
	a.click();
	a.remove();
	setTimeout(() => URL.revokeObjectURL(url), 60000);
}

export async function download(path, parameters, name) {
	const response = await request("GET", path, { query: parameters });
	saveBlob(await response.blob(), name);
}
