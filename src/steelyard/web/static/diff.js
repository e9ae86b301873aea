// Files of a large diff are loaded when they are opened. Parsed, never run: DOMParser executes nothing.

const load = async (address) => {
  const answer = await fetch(address, { credentials: "same-origin" });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const rows = page.querySelector(".rows");
  if (!answer.ok || !rows) throw new Error(`the server answered ${answer.status}`);
  return document.importNode(rows, true);
};

const tell = (place, error) => {
  place.textContent = `This part can't be loaded: ${error.message}. Reload the page to try again.`;
};

for (const file of document.querySelectorAll("details[data-load]")) {
  file.addEventListener("toggle", async () => {
    const address = file.dataset.load;
    if (!file.open || !address) return;
    delete file.dataset.load;
    const place = file.querySelector(":scope > p");
    place.textContent = "Loading…";
    try {
      place.replaceWith(await load(address));
    } catch (error) {
      tell(place, error);
    }
  });
}

document.addEventListener("click", async (event) => {
  const more = event.target.closest("a[data-more]");
  if (!more) return;
  event.preventDefault();
  const place = more.parentElement;
  try {
    place.replaceWith(await load(more.dataset.more));
  } catch (error) {
    tell(place, error);
  }
});

const jump = () => {
  const file = document.getElementById(location.hash.slice(1));
  if (file instanceof HTMLDetailsElement) file.open = true;
};
window.addEventListener("hashchange", jump);
jump();
