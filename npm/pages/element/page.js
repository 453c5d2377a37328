/** Keeps the page for visits without a network, once its model is loaded. */

import { keepForLater } from "./offline.js";

document.querySelector("webnnm-model").addEventListener("load", keepForLater);
