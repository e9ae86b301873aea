// Follows an experiment: when the server says that something changed, the page is read anew and put in place.
// Parsed, never run: DOMParser executes nothing.

const said = document.querySelector("[data-said]");
let busy = false;
let again = false;

const swap = async () => {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("[data-live]");
    const old = document.querySelector("[data-live]");
    if (answer.ok && fresh && old) {
      const focused = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
      const across = [...old.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
      const made = document.importNode(fresh, true);
      old.replaceWith(made);
      [...made.querySelectorAll(".scroll")].forEach((each, index) => (each.scrollLeft = across[index] ?? 0));
      if (focused) [...made.querySelectorAll("a")].find((each) => each.getAttribute("href") === focused)?.focus();
      document.dispatchEvent(new Event("swapped"));
    }
  } catch {
    // The next event tries again.
  }
  busy = false;
  if (again) {
    again = false;
    swap();
  }
};

let stream = null;
const follow = () => {
  stream = new EventSource(document.querySelector("[data-live]").dataset.live);
  stream.addEventListener("progress", (event) => {
    const now = JSON.parse(event.data);
    said.textContent = `${now.finished} of ${now.planned ?? "unknown"} runs finished`;
    swap();
  });
  stream.addEventListener("end", () => {
    stream.close();
    said.textContent = "The experiment has ended.";
    swap();
  });
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, 10_000);
  });
};
follow();
window.addEventListener("pagehide", () => stream.close());
window.addEventListener("pageshow", (event) => event.persisted && follow());
