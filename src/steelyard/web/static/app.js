// What makes the pages quicker to use; every page works without it.

// Times in the viewer's zone, in the same shape and width as the server wrote them.
const two = (number) => String(number).padStart(2, "0");
const localize = () => {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.textContent = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
  }
};
localize();
document.addEventListener("swapped", localize);
const zone = document.querySelector("[data-zone]");
if (zone) zone.textContent = `Times are in ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`;

// Empty fields stay out of the address, and so does the usual choice of columns.
for (const form of document.querySelectorAll("form[data-tidy]")) {
  form.addEventListener("submit", () => {
    const boxes = [...form.querySelectorAll('input[name="cols"]')];
    const usual = boxes.every((box) => box.checked === (box.dataset.default === "1"));
    for (const box of boxes) if (usual) box.disabled = true;
    for (const field of form.elements) if (field.name && field.value === "") field.disabled = true;
  });
}
window.addEventListener("pageshow", () => {
  for (const field of document.querySelectorAll("form[data-tidy] :disabled")) field.disabled = false;
});

// Keys.
const help = document.getElementById("help");
const button = document.querySelector("[data-help]");
button.hidden = false;
button.addEventListener("click", () => help.showModal());
const links = () => [...document.querySelectorAll("[data-rows] [data-row]")];
const move = (by) => {
  const all = links();
  if (!all.length) return;
  const here = all.findIndex((link) => link === document.activeElement);
  const next = here < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + by));
  all[next].focus();
  all[next].scrollIntoView({ block: "nearest" });
};
const keys = {
  "/": () => document.querySelector("[data-search]")?.focus(),
  "?": () => help.showModal(),
  j: () => move(1),
  k: () => move(-1),
  n: () => document.querySelector("[data-next]")?.click(),
};
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, dialog, [contenteditable]");
  if (typing && event.key === "Escape" && !help.open) return event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
});
document.documentElement.dataset.ready = "1";
