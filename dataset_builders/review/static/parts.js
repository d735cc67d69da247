/* What the page is made of that knows nothing of its state: nodes, texts with marks, boxes.
   What every page is made of is in page.js. */
export { h, isBroken, raw, showing, uid } from "./page.js";
export const DECIDED = ["accepted", "rejected"];
export const REASONS = ["not a question", "text beyond repair", "figure missing or wrong", "key missing or wrong", "there already (duplicate)", "must not be published"];
export const SIDES = ["nw", "n", "ne", "e", "se", "s", "sw", "w"];
export const MARK = "<image>";
export const KEYS = [["A", "accept, on to the next"], ["R", "reject with a reason"], ["J  K", "next, previous"], ["E", "edit the text"], ["Esc", "leave a field"], ["Ctrl Enter", "accept from a field"],
  ["U  Shift U", "undo, redo"], ["O", "open again"], ["G", "go to a number"], ["Z  + −", "zoom to the question, in, out"], ["S", "split at the cursor (Alt S in a field)"], ["M  Shift M", "merge with next, previous"],
  ["Alt P  Alt L", "what is behind the cursor: options, solution"], ["N", "renumber from here on"], ["[  ]", "chosen figure to the previous, next question"], ["B", "draw a box of the question"], ["F", "draw a figure"], ["Q", "draw the box of a missing question"], ["H", "drag over first lines of questions, to find the others"], ["T", "read this question again from its boxes"], ["Y", "to the key and back"], ["W  Shift W", "draw the box of the answer in the key, of more of it"], ["Del", "remove the chosen box"], ["Arrows", "move the chosen box (Shift: resize)"], ["C", "comment"], ["1 2 3 4", "whole queue, to do, conflicts, second reading"], ["?", "this list"]];

export const counted = (text, part) => text.split(part).length - 1;
export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
export const percent = value => (100 * value).toFixed(4) + "%";
export const words = name => name.replaceAll("_", " ");

/* Options of a text: at their labels, else a line each. */
export function optionsOf(text, many) {
  const matches = [...text.matchAll(/(?:^|\s)(?:[(（]?([A-H])[.．、)）]|([①-⑩]))\s*/gu)];
  if (matches.length > 1 && !matches[0].index) return matches.map((match, i) => ({ label: match[1] || String(match[2].codePointAt(0) - 0x245f), text: text.slice(match.index + match[0].length, matches[i + 1]?.index).trim() }));
  return text.split("\n").map(line => line.trim()).filter(Boolean).map((line, i) => ({ label: String.fromCodePoint(65 + many + i), text: line }));
}

/* The options at the end of the question's text. */
export const asText = form => ({ question: [form.question, ...form.options.map(option => `(${option.label.toLowerCase()}) ${option.text}`)].join("\n"), options: [] });

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
