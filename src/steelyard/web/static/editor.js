// Rows of scorers without a round trip: add, remove, move, and other fields for another type. Without it, buttons do.

const form = document.querySelector("[data-editor]");
const list = form.querySelector("[data-scorers]");
const said = form.querySelector("[data-said]");

// A template's markup for a row: KEY in names and ids becomes the row's own key.
const make = (template, key) => {
  const piece = document.importNode(template.content, true);
  for (const each of piece.querySelectorAll("*")) {
    for (const { name, value } of [...each.attributes]) {
      if (value.includes("KEY")) each.setAttribute(name, value.replace(/^(up:|down:|remove:)?KEY/, `$1${key}`));
    }
  }
  return piece;
};
const tell = (row, what) => {
  const rows = [...list.children];
  said.textContent = row ? `${what}: ${rows.indexOf(row) + 1} of ${rows.length}` : `${what}: ${rows.length} left`;
};

const add = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  const key = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  list.append(make(document.querySelector("template[data-new-row]"), key));
  const row = list.lastElementChild;
  row.querySelector('input:not([type="hidden"])').focus();
  tell(row, "Added");
};

const retype = (row, select) => {
  const key = row.querySelector('[name="row"]').value;
  const template = document.querySelector(`template[data-fields-of="${CSS.escape(select.value)}"]`);
  const old = row.querySelector("[data-fields]");
  const texts = new Map([...old.querySelectorAll("[name]")].map((field) => [field.name, field.value]));
  old.replaceWith(make(template, key));
  for (const field of row.querySelectorAll("[data-fields] [name]")) {
    if (texts.has(field.name)) field.value = texts.get(field.name);
  }
  row.querySelector("[data-was]").value = select.value;
  row.querySelector("input[data-required]").checked = template.dataset.required === "1";
};

const move = (row, by, button) => {
  const other = by < 0 ? row.previousElementSibling : row.nextElementSibling;
  if (!other) return;
  if (by < 0) other.before(row);
  else other.after(row);
  button.focus();
  tell(row, "Moved");
};

form.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const row = button.closest("[data-scorer-row]");
  if (button.matches("[data-add]")) add();
  else if (row && button.matches("[data-move]")) move(row, Number(button.dataset.move), button);
  else if (row && button.matches("[data-remove]")) {
    (row.nextElementSibling ?? row.previousElementSibling ?? form).querySelector("[data-remove], [data-add]")?.focus();
    row.remove();
    tell(null, "Removed");
  } else return;
  event.preventDefault();
});
form.addEventListener("change", (event) => {
  if (event.target.matches("[data-type]")) retype(event.target.closest("[data-scorer-row]"), event.target);
});
