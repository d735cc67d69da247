/* The labelling page: the queue, a question with its key, the response, and what the rater says of it.
   Contract: texts are set as text; the only HTML set is the server's, which escapes. A label shows as stored only once the
   server has it on its disk; until then what was said stays in the form. */
import { h, isBroken, raw, showing } from "./page.js";
import { marking } from "./criteria.js";
import { regrade } from "./regrade.js";

const KEYS = [["R", "right"], ["W", "wrong"], ["M", "marks"], ["C  L  D", "an error of this type is there, or not"], ["X", "no error in the reasoning"], ["1 … 5", "kind of error"], ["1 … 9", "marks of a criterion, one after the other"], ["T", "the next nine criteria"], ["E", "mend the wording of the criterion marked last"], ["N", "note"],
  ["Enter", "store, on to the next"], ["J  K", "next, previous"], ["G", "go to a number"], ["U", "take the label back"], ["O", "override the mark of this answer and its equals; shows what the run decided"], ["Esc", "leave a field"], ["?", "this list"]];
const PROCESS = ["CIE", "LAE", "DRE"];

let by = "", info = null, at = -1, shown = null, said = {}, changed = false, busy = false;

const $ = selector => document.querySelector(selector);
const put = (node, ...children) => node.replaceChildren(...h("div", {}, ...children).childNodes);
const typing = () => /^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName || "");

async function ask(path, body) {
  const answer = await fetch("review/" + path, body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json", "X-Livek12": "review" }, body: JSON.stringify(body) });
  const told = answer.headers.get("content-type")?.includes("json") ? await answer.json() : { error: await answer.text() };
  if (!answer.ok) throw Object.assign(new Error(answer.status === 401 ? "the server was started anew: open the address that it printed" : told.error || answer.statusText), { status: answer.status });
  return told;
}

function toast(text, bad) {
  document.querySelectorAll(".toast").forEach(node => node.remove());
  const node = h("div", { class: "toast" + (bad ? " bad" : ""), role: "status" }, text);
  document.body.append(node);
  setTimeout(() => node.remove(), bad ? 6000 : 2000);
}
const trouble = error => toast(error.status ? error.message.trim() : "the server is gone: what you said stays here; store it again when it is back", true);

// ---------------------------------------------------------------- the queue
const done = () => info.queue.filter(one => one.done).length;

function showQueue() {
  const all = info.queue.length;
  const bar = h("i", { class: "accepted" });
  bar.style.width = `${100 * done() / all}%`;
  put($(".progress"), h("span", {}, h("b", {}, String(done())), ` of ${all} labelled`), h("div", { class: "track" }, bar));
  put($(".who"), h("b", {}, by));
  put($(".rail"), info.queue.map((one, place) => h("button", { class: place === at ? "current" : "", title: `${one.id}, answer ${one.trial}`, onclick: () => open(place) },
    h("i", { class: "dot" + (one.done ? " accepted" : "") }), h("span", { class: "name" }, String(place + 1)))));
  $(".rail .current")?.scrollIntoView({ block: "nearest" });
}

async function open(place) {
  if (place < 0 || place >= info.queue.length) return;
  if (changed && place !== at && !confirm("What you said of this answer is not stored. Leave it?")) return;
  try { shown = await ask(`answer/${place}?by=${encodeURIComponent(by)}`); } catch (error) { return trouble(error); }
  at = place;
  said = Object.fromEntries(Object.entries(shown.said || {}).filter(([, value]) => value !== null && value !== ""));
  changed = false;
  scheme.use(shown, said.criteria);
  document.activeElement?.blur();
  showQueue(); showAnswer(); showForm();
  document.querySelectorAll(".question, .response").forEach(node => { node.scrollTop = 0; });
}

const step = by_ => open(Math.min(info.queue.length - 1, Math.max(0, at + by_)));

/* The next answer without a label, from here on and then from the beginning. */
function onwards() {
  const order = info.queue.map((_, n) => (at + 1 + n) % info.queue.length);
  const next = order.find(place => !info.queue[place].done);
  if (next === undefined) { toast("all answers are labelled"); open(at); } else open(next);
}

// ---------------------------------------------------------------- what is read
function showAnswer() {
  const a = shown, key = a.key;
  document.documentElement.lang = a.language;
  put($(".question"),
    h("div", { class: "top" }, h("span", { class: "number" }, a.number || a.id), h("span", { class: "chip" }, a.subject), h("span", { class: "chip" }, a.type), a.points && h("span", { class: "points" }, `${a.points} points`)),
    a.pages ? raw(a.pages, { class: "sheets" }) : "",
    raw(a.text, { class: "text" }),
    a.options.length ? h("ul", { class: "options" + (a.short_options ? " c4" : "") }, a.options.map(option => h("li", {}, h("span", { class: "label" }, option.label), raw(option.text, { class: "text" })))) : "",
    h("div", { class: "part" }, h("h4", {}, "Key"),
      h("div", { class: "keys" }, key.answers.map(one => h("span", { class: "key" }, raw(one, { class: "inline" })))),
      key.variables.map(([name, description, value]) => h("div", { class: "text" }, `${name} ${description} `, raw(value, { class: "inline" }))),
      key.images.map(one => raw(one))),
    key.solution || key.loose_images.length ? h("div", { class: "part" }, h("h4", {}, "Solution"), raw(key.solution, { class: "text" }), key.loose_images.map(one => raw(one))) : "",
    key.flow.length ? h("div", { class: "part" }, h("h4", {}, "Steps"), key.flow.map(([step_, answer]) => h("div", { class: "text flow" }, raw(step_), raw(answer, { class: "inline" })))) : "");
  put($(".response"),
    h("div", { class: "top" }, h("span", { class: "number" }, "Response"), a.trial > 1 ? h("span", { class: "chip" }, `answer ${a.trial}`) : "", a.facts.map(fact => h("span", { class: "points" }, fact))),
    a.verdict ? h("p", { class: "verdict" }, `The run: ${a.verdict}`) : "",
    a.response ? raw(a.response, { class: "text" }) : h("p", { class: "none" }, "It is empty."),
    a.thinking.text ? h("details", {}, h("summary", {}, "Thinking"), h("pre", {}, a.thinking.text), a.thinking.cut ? h("p", {}, `… ${a.thinking.cut} more characters are in the run folder.`) : "") : "");
}

// ---------------------------------------------------------------- what is said
function say(more) {
  said = Object.fromEntries(Object.entries({ ...said, ...more }).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  changed = true;
  showForm();
}
const byCriteria = () => shown.criteria.length > 0;
const scheme = marking({ ask, dialog: (...all) => dialog(...all), toast, trouble: error_ => trouble(error_), by: () => by, say: criteria => say({ criteria }), redraw: () => showForm(), again: () => again() });
const right = () => byCriteria() ? scheme.every(one => one.marks[0]) : say({ correct: true, score: "score" in said ? String(shown.full) : "", error_type: "" });
const wrong = () => byCriteria() ? scheme.every(() => 0) : say({ correct: false, score: Number(said.score) === shown.full ? "" : said.score });
/* One type is said with the others: those that are not pressed are not there. */
const none = () => Object.fromEntries(PROCESS.map(kind => [kind, false]));
const error = kind => say({ ...none(), ...Object.fromEntries(PROCESS.map(one => [one, said[one] === true])), [kind]: said[kind] !== true });
const kindOf = name => say({ correct: false, error_type: said.error_type === name ? "" : name });

function marks(text) {
  const score = Number(text);
  if (text.trim() === "") say({ score: "" });
  else if (Number.isFinite(score) && score >= 0 && score <= shown.full) say({ score: text.trim(), correct: score === shown.full });
  else { said.score = text; changed = true; showForm(); }
}
const badMarks = () => "score" in said && !(String(said.score).trim() !== "" && Number(said.score) >= 0 && Number(said.score) <= shown.full);

function showForm() {
  const button = (text, key, pressed, go, more = {}) => h("button", { class: "act" + (pressed ? " pressed" : ""), "aria-pressed": String(!!pressed), onclick: () => { go(); document.activeElement?.blur(); }, ...more }, text, key && h("kbd", {}, key));
  const a = shown, top = $(".criteria ol")?.scrollTop, judged = PROCESS.every(kind => kind in said);
  const focused = typing() ? document.activeElement.name : "";
  put($(".answers"), a.outdated && h("p", { class: "verdict" }, "The wording of a criterion was mended since you marked this answer: look again."), scheme.panel(),
    h("div", { class: "group" }, button(byCriteria() ? "All" : "Right", "R", !byCriteria() && said.correct === true, right, { "data-say": "right" }), button(byCriteria() ? "None" : "Wrong", "W", !byCriteria() && said.correct === false, wrong, { "data-say": "wrong" }),
      a.full && !byCriteria() ? h("label", { class: "marks" }, h("input", { name: "score", inputmode: "decimal", value: said.score ?? "", class: badMarks() ? "bad" : "", "aria-label": "marks", onchange: event => marks(event.target.value) }), ` / ${a.full} `, h("kbd", {}, "M")) : ""),
    a.process_errors.length ? h("div", { class: "group", role: "group", "aria-label": "errors in the reasoning" }, a.process_errors.map(kind => button(`${kind.name} ${kind.title}`, kind.name[0], said[kind.name], () => error(kind.name), { title: kind.meaning, "data-say": kind.name })),
      button("no error", "X", judged && !PROCESS.some(kind => said[kind]), () => say(none()), { "data-say": "none" })) : "",
    a.error_types.length ? h("div", { class: "group", role: "group", "aria-label": "kind of error" }, a.error_types.map((kind, n) => button(kind.title, String(n + 1), said.error_type === kind.name, () => kindOf(kind.name), { title: kind.meaning, "data-say": kind.name }))) : "",
    h("div", { class: "group last" }, h("input", { name: "note", placeholder: "note", "aria-label": "note", maxlength: 4000, value: said.note ?? "", oninput: event => { said.note = event.target.value; changed = true; showSaved(); } }), h("kbd", {}, "N")));
  if (top) $(".criteria ol").scrollTop = top;
  if (focused) $(`[name=${focused}]`)?.focus();
  showSaved();
}

function showSaved() {
  const stored = info.queue[at]?.done || !!shown.said;
  $(".saved").textContent = changed ? "not stored yet" : stored ? "stored" : "";
  $("[data-act=back]").disabled = !stored;
}

const settled = () => typing() && document.activeElement.name === "score" ? marks(document.activeElement.value) : undefined;

async function store(withdrawn) {
  settled();
  if (busy) return;
  if (!withdrawn && badMarks()) return toast(`marks are a number from 0 to ${shown.full}`, true);
  if (!withdrawn && isBroken(said.note || "")) return toast("the note holds half a character: delete it", true);
  if (!withdrawn && !byCriteria() && !("correct" in said) && !PROCESS.some(kind => kind in said)) return toast("say whether it is right or wrong", true);
  busy = true;
  const place = at;
  try {
    const { correct, score, ...rest } = said;
    const told = await ask("act", { by, place, said: withdrawn ? { withdrawn: true } : byCriteria() ? { ...rest, criteria: said.criteria || {} } : said });
    told.places.forEach(equal => { info.queue[equal].done = told.done; });
    if (told.places.length > 1) toast(`${withdrawn ? "taken back" : "stored"} for ${told.places.length} equal responses`);
    changed = false;
    if (withdrawn) { busy = false; return await open(place); }
    onwards();
  } catch (error_) { trouble(error_); } finally { busy = false; }
}

// ---------------------------------------------------------------- what comes over it, keys, beginning
function dialog(title, ...children) {
  const veil = h("div", { class: "veil", onclick: event => { if (event.target === veil) veil.remove(); } }, h("div", { class: "dialog", role: "dialog", "aria-label": title }, h("h3", {}, title), children));
  document.body.append(veil);
  veil.querySelector("input")?.focus();
  return veil;
}
const help = () => dialog("Keys", h("dl", { class: "keyslist" }, KEYS.flatMap(([key, does]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)])));
function entry(title, value, then) {
  const veil = dialog(title, h("input", { value, "aria-label": title, onkeydown: event => { if (event.key === "Enter") { event.stopPropagation(); const text = event.target.value.trim(); veil.remove(); if (text) then(text); } } }));
}
/* A wording was mended: the queue has the answers that are to be looked at again; what was said of this one stays. */
async function again() {
  try {
    await reload();
    const { said: _, ...anew } = await ask(`answer/${at}?by=${encodeURIComponent(by)}`);
    shown = { ...shown, ...anew };
    scheme.use(shown, said.criteria);
    showQueue(); showForm();
  } catch (error_) { trouble(error_); }
}
/* What was said of the answer stays in the form; only what the run decided is shown anew. */
const override = () => regrade({ ask, dialog, toast, trouble, place: at, by, then: async () => { if (shown.verdict) { shown = { ...shown, verdict: (await ask(`answer/${at}?by=${encodeURIComponent(by)}`)).verdict }; showAnswer(); } } });
const go = () => entry("Go to a number", "", text => open(Number(text) - 1));
const rename = () => entry("Who is labelling?", by, async name => {
  const before = by;
  by = name;
  try { await reload(); sessionStorage.setItem("livek12-rater", by); changed = false; at = -1; onwards(); } catch (error_) { by = before; trouble(error_); }
});

function pressed(event) {
  const { key } = event, veil = $(".veil");
  if (key === "Escape") { event.preventDefault(); if (veil) veil.remove(); else { settled(); document.activeElement?.blur(); } return; }
  if (veil || event.altKey || event.ctrlKey || event.metaKey) return;
  if (key === "Enter" && !document.activeElement?.closest("button, summary")) { event.preventDefault(); store(); return; }
  if (typing()) return;
  const actions = { r: right, w: wrong, m: () => $("[name=score]")?.select(), n: () => $("[name=note]").focus(), j: () => step(1), k: () => step(-1), ArrowRight: () => step(1), ArrowLeft: () => step(-1), u: () => store(true), o: override, g: go, "?": help };
  if (shown.process_errors.length) Object.assign(actions, { c: () => error("CIE"), l: () => error("LAE"), d: () => error("DRE"), x: () => say(none()) });
  shown.error_types.forEach((kind, n) => { actions[n + 1] = () => kindOf(kind.name); });
  Object.assign(actions, scheme.keys());
  const found = actions[key] || actions[key.toLowerCase()];
  if (found) { event.preventDefault(); found(); }
}

async function reload() {
  info = await ask(`queue?by=${encodeURIComponent(by)}`);
  showing(info.unseen);
  by = info.rater;
}

function build() {
  const button = (name, text, key, go_) => h("button", { class: "act" + (name === "store" ? " yes" : ""), "data-act": name, onclick: event => { event.currentTarget.blur(); go_(); } }, text, h("kbd", {}, key));
  document.body.append(h("div", { class: "app labels" },
    h("header", {}, h("span", { class: "brand" }), h("div", { class: "progress" }), h("button", { class: "who", title: "who is labelling", onclick: rename })),
    h("nav", { class: "rail", "aria-label": "answers" }),
    h("section", { class: "question", tabindex: -1, "aria-label": "question and key" }), h("section", { class: "response", tabindex: -1, "aria-label": "response" }),
    h("section", { class: "answers", "aria-label": "label" }),
    h("footer", {}, button("store", "Store, next", "Enter", () => store()), button("back", "Take back", "U", () => store(true)), h("span", { class: "saved" }), h("span", { class: "gap" }),
      button("override", "Override", "O", override), button("previous", "Previous", "K", () => step(-1)), button("next", "Next", "J", () => step(1)), button("keys", "Keys", "?", help))));
  document.addEventListener("keydown", pressed);
  window.addEventListener("beforeunload", event => { if (changed) event.preventDefault(); });
}

async function begin() {
  build();
  by = sessionStorage.getItem("livek12-rater") || "";
  try { await reload(); } catch (error_) { return trouble(error_); }
  document.title = `labels · ${info.run}`;
  put($(".brand"), h("small", {}, "labels "), info.run);
  const first = info.queue.findIndex(one => !one.done);
  await open(Math.max(0, first));
}

begin();
