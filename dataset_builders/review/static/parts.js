/* What the page is made of that knows nothing of its state: nodes, texts with marks, boxes.
   Contract: texts become text nodes, in which what would hide or reorder is shown (`showing` says what that is); only
   `raw` takes HTML, which must be the server's own. */
export const DECIDED = ["accepted", "rejected"];
export const REASONS = ["not a question", "text beyond repair", "figure missing or wrong", "key missing or wrong", "there already (duplicate)", "must not be published"];
export const TYPES = ["single_choice", "multiple_choice", "fill_in_blank", "true_false", "short_answer", "open_ended", "proof"];
export const SIDES = ["nw", "n", "ne", "e", "se", "s", "sw", "w"];
export const MARK = "<image>";
export const KEYS = [["A", "accept, on to the next"], ["R", "reject with a reason"], ["J  K", "next, previous"], ["E", "edit the text"], ["Esc", "leave a field"], ["Ctrl Enter", "accept from a field"],
  ["U  Shift U", "undo, redo"], ["O", "open again"], ["G", "go to a number"], ["Z  + −", "zoom to the question, in, out"], ["S", "split at the cursor (Alt S in a field)"], ["M  Shift M", "merge with next, previous"],
  ["B", "draw a box of the question"], ["F", "draw a figure"], ["Del", "remove the chosen box"], ["Arrows", "move the chosen box (Shift: resize)"], ["C", "comment"], ["1 2 3 4", "whole queue, to do, conflicts, second reading"], ["?", "this list"]];

let unseen = /$^/u;
export const showing = pattern => { unseen = new RegExp(pattern, "gu"); };
const visible = text => text.replace(unseen, sign => `[U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
export const isBroken = text => /\p{Cs}/u.test(text); // half a character, which no file and no address can hold

export function h(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, name === "title" ? visible(value) : value);
  }
  node.append(...children.flat().filter(child => child != null && child !== false).map(child => typeof child === "string" ? visible(child) : child));
  return node;
}
export const raw = (html, attributes) => { const node = h("div", attributes); node.innerHTML = html; return node; };

export const uid = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("");
export const counted = (text, part) => text.split(part).length - 1;
export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
export const percent = value => (100 * value).toFixed(4) + "%";
export const words = name => name.replaceAll("_", " ");

export const textsOf = form => [form.question, ...form.options.map(option => option.text)];

/* The texts with their n-th mark gone. */
export function withoutMark(form, n) {
  const texts = textsOf(form).map(text => { const many = counted(text, MARK); if (n >= 0 && n < many) { const pieces = text.split(MARK); text = pieces.slice(0, n + 1).join(MARK) + pieces.slice(n + 1).join(MARK); } n -= many; return text; });
  return { question: texts[0].trimEnd(), options: form.options.map((option, i) => ({ ...option, text: texts[i + 1] })) };
}

export function shifted(from, side, dx, dy) {
  const box = { ...from }, least = .004;
  if (!side) {
    dx = clamp(dx, -from.left, 1 - from.right); dy = clamp(dy, -from.top, 1 - from.bottom);
    return { ...box, left: from.left + dx, right: from.right + dx, top: from.top + dy, bottom: from.bottom + dy };
  }
  if (side.includes("w")) box.left = clamp(from.left + dx, 0, from.right - least);
  if (side.includes("e")) box.right = clamp(from.right + dx, from.left + least, 1);
  if (side.includes("n")) box.top = clamp(from.top + dy, 0, from.bottom - least);
  if (side.includes("s")) box.bottom = clamp(from.bottom + dy, from.top + least, 1);
  return box;
}
