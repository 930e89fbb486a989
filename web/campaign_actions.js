// What an operator can do to a campaign.

import { download, part } from "./api.js";
import { act } from "./dialog.js";
import { count } from "./format.js";
import { say } from "./say.js";

const pathTo = (c, more = "") => `campaigns/${part(c.id)}${more}`;
const nameOf = (c) => c.name ? `“${c.name}”` : c.id;

const PLAYER = { name: "player", label: "Player id", required: true, pattern: "[0-9a-f]{16}", hint: "16 digits, 0 to 9 and a to f." };

export function revoke(c, after) {
	act({
		title: `Revoke campaign ${nameOf(c)}?`,
		text: "It goes into the trash, from where it can be taken back for some time. Nobody can load or store it meanwhile.",
		request: () => ({ method: "DELETE", path: pathTo(c) }),
		explain: (dry) => [
			`Campaign ${nameOf(dry.name !== undefined ? { ...c, name: dry.name } : c)} goes into the trash with all its checkpoints.`,
			`${count(dry.uploads ?? 0, "upload")} and ${count(dry.downloads ?? 0, "download")} of it that are under way end with an error.`,
		],
		confirm: "Revoke it",
		danger: true,
		said: (a) => `Campaign ${nameOf(c)} is revoked; ${count(a.uploads ?? 0, "upload")} and ${count(a.downloads ?? 0, "download")} ended.`,
		after,
	});
}

export function unrevoke(c, after) {
	act({
		title: `Take campaign ${nameOf(c)} out of the trash?`,
		request: () => ({ method: "POST", path: pathTo(c, "/unrevoke"), body: c.number === undefined ? {} : { number: c.number } }),
		explain: () => [`Owner and members of ${nameOf(c)} can load and store it again.`],
		confirm: "Take it back",
		said: () => `Campaign ${nameOf(c)} is back.`,
		after,
	});
}

export function purge(c, after) {
	act({
		title: `Remove campaign ${nameOf(c)} for good?`,
		text: "What the trash has of it goes, and only a backup can bring it back.",
		request: () => ({ method: "DELETE", path: pathTo(c, "/trash") }),
		explain: (dry) => [`${count(dry.purged ?? 0, "revoked campaign")} with this id and all checkpoints in it are removed for good.`],
		confirm: "Remove for good",
		danger: true,
		said: (a) => `Removed for good: ${count(a.purged ?? 0, "campaign")}.`,
		after,
	});
}

export function transfer(c, after) {
	act({
		title: `Give campaign ${nameOf(c)} to another owner?`,
		fields: [PLAYER, { name: "force", label: "Even if he has no room for it", type: "checkbox" }],
		request: ({ player, force }) => ({ method: "POST", path: pathTo(c, "/owner"), body: { player, ...(force ? { force } : {}) } }),
		explain: (_, { player }) => [`Player ${player} becomes the owner.`, `${c.owner}, who owns it now, becomes a member.`],
		confirm: "Transfer it",
		said: (_, { player }) => `Campaign ${nameOf(c)} belongs to player ${player} now.`,
		after,
	});
}

export function addMember(c, after) {
	act({
		title: `Add a member to campaign ${nameOf(c)}`,
		fields: [PLAYER],
		request: ({ player }) => ({ method: "PUT", path: pathTo(c, `/members/${part(player)}`) }),
		explain: (_, { player }) => [`Player ${player} can load and store this campaign.`],
		confirm: "Add him",
		said: (_, { player }) => `Player ${player} is a member of ${nameOf(c)}.`,
		after,
	});
}

export function removeMember(c, player, after) {
	act({
		title: `Take player ${player} out of campaign ${nameOf(c)}?`,
		request: () => ({ method: "DELETE", path: pathTo(c, `/members/${part(player)}`) }),
		explain: () => [`Player ${player} can neither load nor store this campaign any more.`],
		confirm: "Take him out",
		danger: true,
		said: () => `Player ${player} is no member of ${nameOf(c)} any more.`,
		after,
	});
}

export function restore(c, checkpoint, after) {
	act({
		title: `Restore checkpoint ${checkpoint.version}?`,
		text: "It becomes the newest one, under a new version. The others stay as they are.",
		request: () => ({ method: "POST", path: pathTo(c, "/restore"), body: { version: checkpoint.version } }),
		explain: (dry) => [`Checkpoint ${checkpoint.version} of ${nameOf(c)} becomes version ${dry.version ?? "one more than now"}: ` +
			"whoever loads next gets it."],
		confirm: "Restore it",
		said: (a) => `Checkpoint ${checkpoint.version} of ${nameOf(c)} is the newest now, as version ${a.version}.`,
		after,
	});
}

export async function fetchCheckpoint(c, checkpoint) {
	const name = `${c.id}-${checkpoint.version}.${checkpoint.container ? "coop" : "bin"}`;
	try {
		await download(pathTo(c, "/checkpoint"), { version: checkpoint.version, number: c.trashed_at ? c.number : null }, name);
		say("good", `Downloaded ${name}.`);
	} catch (problem) {
		say("bad", `The checkpoint could not be downloaded: ${problem.message}.`);
	}
}
