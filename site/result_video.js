/** Records what the playground shows as a video, whose frames are pictures of its result. */

import { draw, HEIGHT, WIDTH } from "./result_picture.js";

/** Pictures per second, at most: there is one for each time the plane is painted. */
const RATE = 25;
const TYPES = [["video/webm", "webm"], ["video/mp4", "mp4"]];

const canvas = document.createElement("canvas");
[canvas.width, canvas.height] = [WIDTH, HEIGHT];
const context = canvas.getContext("2d");
/** @type {MediaRecorder | null} */
let recorder = null;
/** @type {Blob[]} */
let chunks = [];

/** The type and the ending of videos that this browser can record; undefined if none. */
const supported = TYPES.find(([type]) => globalThis.MediaRecorder?.isTypeSupported(type));

/** Return how the name of a video ends, "" where the browser cannot record one. */
export function ending() {
  return supported?.[1] ?? "";
}

/** Add a frame. @param {string} text the card as JSON @param {HTMLElement[]} parts */
export async function frame(text, parts) {
  await draw(context, JSON.parse(text), parts);
}

/** Begin to record, with a first frame. @param {string} text @param {HTMLElement[]} parts */
export async function record(text, parts) {
  await frame(text, parts);
  chunks = [];
  recorder = new MediaRecorder(canvas.captureStream(RATE), { mimeType: supported[0] });
  recorder.addEventListener("dataavailable", ({ data }) => { chunks.push(data); });
  recorder.start();
}

/** End the recording, and return the bytes of the video. */
export async function finish() {
  const ended = new Promise((resolve) => { recorder.addEventListener("stop", resolve); });
  recorder.stop();
  await ended;
  recorder = null;
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
