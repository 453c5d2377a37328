/** Leaves away what surrounds the playground, for frames of other pages: embed.css does it. */

if (new URLSearchParams(location.search).has("embed") || top !== self) {
  document.documentElement.dataset.embed = "";
}
