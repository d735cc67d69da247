/* The review page: a queue, the paper's page with boxes, the question as it reads, its fields.
   Contract: texts are set as text; the only HTML set is `html.*` of the server, which escapes. Every action goes through
   `send`, is kept in the browser until the server has stored it, and shows as done only then. A field that cannot be
   stored stays as it was typed, says why, and keeps nothing else from being stored. */
import { DECIDED, KEYS, MARK, REASONS, SIDES, asText, clamp, counted, h, isBroken, optionsOf, percent, raw, shifted, showing, textsOf, uid, withoutMark, words } from "./parts.js";
import { schemeField, schemeRead } from "./scheme.js";

let by = "", info = null, queue = [], q = null, id = "";
let filter = { paper: "", state: "todo", doubt: "", order: "unsure" };
let scale = 2, drawing = "", chosen = null, cursor = null, dialog = null;
let opening = "", later = [];
let heads = null; // of a paper: first lines that were dragged over, to find the other questions by them
let waiting = [], busy = false, group = "", lost = "", timer = 0;
const refused = {}; // by question and field: what was typed, and why it cannot be stored
const KEPT_ALIVE = 15_000; // signs of a request that may outlive the page; browsers allow it 64 KiB

// ---------------------------------------------------------------- small things
const $ = selector => document.querySelector(selector);
const fill = (selector, ...children) => $(selector).replaceChildren(...h("div", {}, ...children).childNodes);
const inField = () => { const node = document.activeElement; return node && /^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName) ? node : null; };

async function ask(path, body) {
  const text = JSON.stringify(body);
  const answer = await fetch("review/" + path, body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json", "X-Livek12": "review" }, body: text, keepalive: text.length < KEPT_ALIVE });
  const said = answer.headers.get("content-type")?.includes("json") ? await answer.json() : { error: await answer.text() };
  const { status } = answer;
  if (!answer.ok) throw Object.assign(new Error(said.error || answer.statusText), { status, field: said.field, refused: status < 500 && status !== 401 });
  return said;
}

/* Why nothing can be stored for now; all is kept and sent again. */
function trouble(error) {
  if (error.status === 401) return "the server was started anew: open the address that it printed; all is kept here until then";
  return error.status ? `${error.message.trim()}; all is kept here and sent again` : "the server is gone: all is kept here and sent when it is back";
}

function toast(text, bad) {
  document.querySelectorAll(".toast").forEach(node => node.remove());
  const node = h("div", { class: "toast" + (bad ? " bad" : ""), role: "status" }, text);
  document.body.append(node);
  setTimeout(() => node.remove(), bad ? 6000 : 2200);
}

// ---------------------------------------------------------------- storing: one action after the other, none forgotten
const store = () => `livek12-review:${info.key}:${by}`;
const keep = () => waiting.length ? localStorage.setItem(store(), JSON.stringify(waiting.map(({ then, ...rest }) => rest))) : localStorage.removeItem(store());

function send(kind, draft, said, then) {
  const last = waiting[waiting.length - 1];
  if (kind === "edit" && last && last.kind === "edit" && !last.sent && last.draft === draft && last.said.group === said.group) {
    last.said = { ...last.said, ...said, fields: { ...last.said.fields, ...said.fields } };
    if (then) last.then = then;
  } else waiting.push({ id: uid(), kind, draft, said, then, sent: false });
  keep();
  showSaved();
  clearTimeout(timer);
  timer = setTimeout(work, kind === "edit" && said.group ? 220 : 0);
}

async function work() {
  if (busy || !waiting.length) return;
  busy = true;
  const action = waiting[0];
  action.sent = true;
  try {
    const said = await ask("act", { by, id: action.id, kind: action.kind, draft: action.draft, said: action.said });
    lost = "";
    waiting.shift();
    keep();
    queue = said.whole ? said.queue : queue.map(row => said.queue.find(one => one.id === row.id) || row);
    info.counts = said.counts;
    if (action.then) await action.then(said);
    else if (said.question && said.question.id === id) refreshed(said.question);
    showHead(); showRail();
  } catch (error) {
    if (error.refused) {
      if (!withoutField(action, error)) waiting.shift();
      keep();
      opening = ""; later = [];
      toast(error.message, true);
      if (action.kind === "edit" && (action.said.boxes || action.said.figures) && !error.field) await open(id, true);
    } else {
      lost = trouble(error);
      setTimeout(work, 800);
    }
  }
  busy = false;
  showSaved();
  if (waiting.length && !lost) work();
}

/* Takes the field that cannot be stored out of an edit; whether anything is left of it to be stored. */
function withoutField(action, error) {
  const { fields, boxes, figures } = action.kind === "edit" ? action.said : {};
  if (!fields || !(error.field in fields)) return false;
  refused[action.draft] = { ...refused[action.draft], [error.field]: { value: fields[error.field], why: error.message.slice(error.message.indexOf(": ") + 2) } };
  delete fields[error.field];
  if (q && action.draft === id) showProblems();
  return Object.keys(fields).length > 0 || !!boxes || !!figures;
}

const refusedHere = () => Object.entries(refused[id] || {});
const withRefused = form => ({ ...form, ...Object.fromEntries(refusedHere().map(([name, { value }]) => [name, value])) });

function showSaved() {
  const node = $(".saved");
  node.className = "saved" + (lost ? " off" : "");
  node.replaceChildren(h("span", {}, lost || (waiting.length ? "saving …" : "all is stored")));
}

// ---------------------------------------------------------------- the queue
const isTodo = row => row.mine === "open" && !row.others || row.state === "conflict";
const STATES = { todo: ["to do", isTodo], all: ["all", () => true], accepted: ["accepted", row => row.state === "accepted"], rejected: ["rejected", row => row.state === "rejected"],
  conflict: ["in conflict", row => row.state === "conflict"], second: ["for a second reading", row => row.others > 0 && row.mine === "open"], edited: ["edited by me", row => row.edited] };

function visible() {
  const rows = queue.filter(row => (!filter.paper || row.paper === filter.paper) && (STATES[filter.state][1](row) || row.id === id) &&
    (!filter.doubt || (filter.doubt === "none" ? !row.doubts.length : row.doubts.includes(filter.doubt)) || row.id === id));
  return filter.order === "unsure" ? rows.map((row, place) => [row, place]).sort((a, b) => a[0].confidence - b[0].confidence || a[1] - b[1]).map(([row]) => row) : rows;
}

function showRail() {
  const rows = visible(), parts = [];
  let paper = "";
  for (const row of rows) {
    if (filter.order !== "unsure" && row.paper !== paper) parts.push(h("div", { class: "paper", title: row.paper }, paper = row.paper));
    parts.push(h("button", { class: row.id === id ? "current" : "", "data-id": row.id, title: `${row.id}: ${row.title}${row.doubts.length ? "\n? " + row.doubts.join(", ") : ""}`, onclick: () => open(row.id) },
      h("span", { class: "dot " + row.state }), h("span", { class: "name" }, row.number || "–"), h("span", { class: "doubts" + (row.doubtful ? " more" : "") }, row.doubts.length ? "?" : ""), h("small", {}, filter.order === "unsure" && !filter.paper && info.papers.length > 1 ? `${row.paper} ${row.part}` : row.part)));
  }
  fill(".rail", lacking(), parts.length ? parts : h("div", { class: "empty" }, "nothing here"));
  $(".rail .current")?.scrollIntoView({ block: "nearest" });
}

/* Errors of the papers, each until the questions that it says are lost are there. */
function lacking() {
  return info.papers.filter(paper => !filter.paper || paper.paper_id === filter.paper).flatMap(paper => paper.errors.map(({ text, part, numbers: [first, last] }) => {
    const all = queue.filter(row => row.paper === paper.paper_id), own = all.filter(row => row.part === part), rows = own.length ? own : all, there = new Set(rows.map(row => +row.number));
    let number = first;
    while (there.has(number)) number += 1;
    if (number > last) return null;
    return h("button", { class: "lost", title: `${paper.paper_id}: ${text}`, disabled: !number || !rows.length, onclick: () => seek(rows, number) }, number ? `${part} ${number}${last > number ? `–${last}` : ""} not found`.trim() : text);
  }));
}

/* To where a lost question should be, to draw its box. */
async function seek(rows, number) {
  await open((rows.filter(row => +row.number < number).pop() || rows[0])?.id);
  if (drawing !== "question") draw("question");
}

function showHead() {
  const { accepted, rejected, conflict, open: left } = info.counts, total = accepted + rejected + conflict + left || 1;
  fill(".progress", h("b", {}, `${accepted + rejected} of ${total}`), h("div", { class: "track", role: "progressbar", "aria-label": "decided", "aria-valuenow": accepted + rejected, "aria-valuemax": total },
    ...[["accepted", accepted], ["rejected", rejected], ["conflict", conflict]].map(([name, many]) => { const bar = h("i", { class: name }); bar.style.width = percent(many / total); return bar; })),
    h("span", {}, `${accepted} accepted · ${rejected} rejected${conflict ? ` · ${conflict} in conflict` : ""}`));
  fill(".who", "reviewer ", h("b", {}, by));
  const options = (name, pairs) => { const node = $(`select[name=${name}]`); node.replaceChildren(...pairs.map(([value, text]) => h("option", { value }, text))); node.value = filter[name]; };
  options("paper", [["", "all papers"], ...info.papers.map(paper => [paper.paper_id, paper.paper_id])]);
  options("state", Object.entries(STATES).map(([value, [text, holds]]) => [value, `${text} (${queue.filter(holds).length})`]));
  options("doubt", [["", "any doubt"], ["none", "without doubts"], ...[...new Set(queue.flatMap(row => row.doubts))].sort().map(kind => [kind, kind])]);
  options("order", [["unsure", "most doubtful first"], ["printed", "as printed"]]);
}

function step(by_) {
  const rows = visible(), place = rows.findIndex(row => row.id === id);
  const next = rows[clamp(place + by_, 0, rows.length - 1)];
  if (next && next.id !== id) open(next.id);
}

function following() {
  const rows = visible(), place = rows.findIndex(row => row.id === id);
  const left = [...rows.slice(place + 1), ...rows.slice(0, Math.max(place, 0))].find(row => isTodo(row) || filter.state === "second" && row.mine === "open");
  return left ? left.id : "";
}

// ---------------------------------------------------------------- one question
/* Until the next one is there, everything is about the one that is shown, and keys wait (`later`). */
async function open(next, anew) {
  if (!next) { opening = ""; return showDone(); }
  if (next === id && q && !anew) { opening = ""; toBox(); return replay(); }
  opening = next;
  let found;
  try { found = await ask(`question/${encodeURIComponent(next)}?by=${encodeURIComponent(by)}`); }
  catch (error) { opening = ""; later = []; toast(error.refused ? error.message : trouble(error), true); if (error.refused) await reload(); return; }
  if (opening !== next) return;
  const before = q && q.paper;
  opening = ""; q = found; id = next;
  q.form = withRefused(q.form);
  draw(""); chosen = null; cursor = null; group = "";
  location.hash = encodeURIComponent(id);
  document.documentElement.lang = q.language;
  if (before !== q.paper) showPages();
  if (scale !== 1) { scale = fitting(); rescale(); }
  showBoxes(); showHeads(); showRead(); showForm(); showFoot(); showRail();
  for (const part of [".app", ".work", ".read", ".form"]) $(part).scrollTop = 0;
  toBox();
  replay();
}

const replay = () => later.splice(0).forEach(event => pressed(event, true));

function refreshed(found) {
  const typing = inField() && $(".form").contains(inField());
  const mine = q.form, figures = q.figures.length;
  q = { ...found, form: withRefused(found.form) };
  if (typing || waiting.some(one => one.draft === id && one.kind === "edit")) {
    q.form = mine;
    showProblems();
    if (figures !== q.figures.length) showThumbs();
  } else showForm();
  if (!drag) showBoxes();
  showRead(); showFoot();
}

function showDone() {
  q = null; id = "";
  fill(".pages"); fill(".tools .title"); showHeads(); showFoot(); showRail();
  fill(".read", h("div", { class: "done" }, h("b", {}, queue.length ? "Nothing left in this queue" : "No questions"), queue.length ? "Choose another above, or export: livek12 review DIR --export OUT" : ""));
  fill(".form");
}

function edit(fields, more) {
  if (!q) return;
  for (const name of Object.keys(fields)) delete refused[id]?.[name];
  Object.assign(q.form, fields);
  group = group || uid();
  send("edit", id, { fields, group, ...more });
}

function showRead() {
  const { html, form } = q, letters = new Set(q.type.endsWith("choice") ? form.answer.join("").split("") : []);
  const notes = q.doubts_said.map(doubt => h("li", {}, h("b", {}, doubt.kind), h("span", {}, doubt.text,
    doubt.readings.length ? h("details", { class: "readings", open: true }, h("summary", {}, "both readings"), doubt.readings.map((html, place) => h("div", {}, h("small", {}, place ? "the model" : "the rules"), html ? raw(html, { class: "text" }) : h("i", {}, "nothing")))) : null)));
  if (q.mine === "rejected") notes.push(h("li", { class: "reason" }, h("b", {}, "rejected"), h("span", {}, q.reason)));
  if (q.stale) notes.push(h("li", { class: "stale" }, h("b", {}, "changed"), h("span", {}, "since you decided: decide again")));
  if (q.settled) notes.push(h("li", { class: "stale" }, h("b", {}, "settled"), h("span", {}, `by ${q.settled.by}: ${q.settled.verdict}${q.settled.other ? `, ${q.settled.other}'s version` : ""}`)));
  const longest = Math.max(0, ...html.options.map(option => option.html.includes("<img") ? 12 : option.html.replace(/<[^>]*>/g, "").trim().length));
  const columns = longest > 26 ? "c1" : longest > 6 || html.options.length % 4 && longest > 4 ? "c2" : "c4";
  fill(".read",
    h("div", { class: "top" }, h("span", { class: "number" }, form.number || "?"), h("span", { class: "chip" }, words(form.question_type)), h("span", { class: "points" }, form.points ? `${form.points} points` : "no points"),
      q.state !== "open" && h("span", { class: "chip " + q.state }, q.state === "other" ? "somebody read it" : q.state)),
    h("p", { class: "sectionline" }, form.section),
    notes.length ? h("ul", { class: "notes" }, notes) : null,
    html.lead ? h("details", { class: "lead" }, h("summary", {}, "begins like the question before it"), raw(html.lead, { class: "text" })) : null,
    raw(html.question, { class: "text question" }),
    html.options.length ? h("ul", { class: "options " + columns }, html.options.map(option => h("li", { class: letters.has(option.label) ? "right" : "" }, h("button", { class: "label", title: "is this the key?", tabindex: -1, onclick: () => toggle(option.label) }, option.label), raw(option.html, { class: "text" })))) : null,
    h("div", { class: "part" }, h("h4", {}, "Answer ", q.answer_from && h("small", {}, `from ${q.answer_from}`)),
      h("div", { class: "keys" }, html.answer.some(Boolean) ? html.answer.map(one => { const key = h("span", { class: "key" }); key.innerHTML = one; return key; }) : h("span", { class: "none" }, "no key"))),
    html.solution ? h("div", { class: "part" }, h("h4", {}, "Solution"), raw(html.solution, { class: "text" })) : null,
    schemeRead(html.scheme),
    h("div", { class: "tags" }, [form.subject, form.difficulty, ...form.knowledge_points.split(/[;；,，\n]/)].map(tag => tag.trim()).filter(Boolean).map(tag => h("span", { class: "chip" }, tag))),
    q.versions.length ? showVersions() : null,
    q.comments.length ? h("div", { class: "part" }, h("h4", {}, "Comments"), h("ul", { class: "comments" }, q.comments.map(one => h("li", {}, h("b", {}, one.by), " ", one.text, " ", h("time", {}, one.at.slice(0, 16).replace("T", " ")))))) : null);
}

/* A click on an option's letter makes it the key, or one of its letters. */
function toggle(label) {
  if (!q.type.endsWith("choice")) return;
  const had = q.form.answer.join("").split("").filter(Boolean), labels = q.form.options.map(option => option.label);
  const now = q.type === "single_choice" ? (had.includes(label) ? [] : [label]) : labels.filter(one => had.includes(one) !== (one === label));
  group = "";
  edit({ answer: now.length ? [now.join("")] : [] });
  group = "";
  showForm();
}

function showVersions() {
  const conflict = q.state === "conflict", settle = (other, verdict) => send("settle", id, { other, verdict });
  return h("div", { class: "versions" }, h("h4", {}, conflict ? `In conflict${q.differences.length ? ": " + q.differences.map(words).join(", ") : ""}` : "Others decided too"),
    q.versions.map(other => h("div", { class: "version" },
      h("div", { class: "says" }, h("b", {}, other.by), ` ${other.verdict}`, other.reason ? `: ${other.reason}` : "", other.differs.length ? ` · differs in ${other.differs.map(words).join(", ")}` : " · same text as yours"),
      other.differs.includes("question") ? raw(other.html.question, { class: "text" }) : null,
      other.differs.includes("options") ? h("ul", { class: "options" }, other.html.options.map(option => h("li", {}, h("span", { class: "label" }, option.label), raw(option.html, { class: "text" })))) : null,
      other.differs.includes("answer") ? h("div", { class: "keys" }, other.html.answer.map(one => { const key = h("span", { class: "key" }); key.innerHTML = one; return key; })) : null,
      other.differs.length ? h("button", { onclick: () => { edit(other.form, { boxes: other.boxes, figures: other.figures.map(bare), group: "" }); group = ""; } }, `copy ${other.by}'s version into mine`) : null,
      conflict ? h("button", { onclick: () => settle(other.by, other.verdict) }, `settle: ${other.by} is right (${other.verdict})`) : null)),
    conflict && DECIDED.includes(q.mine) ? h("div", { class: "version" }, h("button", { onclick: () => settle(by, q.mine) }, `settle: I am right (${q.mine})`)) : null);
}

// ---------------------------------------------------------------- the fields
function bound(name, tag = "input", attributes = {}) {
  return h(tag, { value: q.form[name], "data-field": name, spellcheck: "false", autocomplete: "off", oninput: event => edit({ [name]: event.target.value }), ...attributes });
}
const field = (label, name, node) => h("label", { class: "field", "data-of": name }, h("span", {}, label, h("em", {})), node);

function listField(name, legend, labelled) {
  const items = labelled || q.form[name].length ? q.form[name] : [""];
  const set = (place, change) => edit({ [name]: items.map((item, i) => i === place ? change((q.form[name][i]) ?? item) : q.form[name][i] ?? item) });
  const again = focus => { showForm(); const nodes = document.querySelectorAll(`[data-list=${name}] textarea, [data-list=${name}] input.key`); nodes[clamp(focus, 0, nodes.length - 1)]?.focus(); };
  const add = () => { const label = labelled && items.length ? String.fromCodePoint(items[items.length - 1].label.codePointAt(0) + 1) : "A"; edit({ [name]: [...q.form[name], labelled ? { label, text: "" } : ""] }); again(items.length); };
  const drop = place => { edit({ [name]: q.form[name].filter((_, i) => i !== place) }); again(place); };
  const rows = items.map((item, place) => labelled
    ? h("div", { class: "item" }, h("input", { class: "label", value: item.label, "aria-label": `label of option ${place + 1}`, oninput: event => set(place, one => ({ ...one, label: event.target.value })) }),
        h("textarea", { rows: 1, value: item.text, spellcheck: "false", "data-option": place, "aria-label": `option ${item.label}`, oninput: event => set(place, one => ({ ...one, text: event.target.value })) }), h("button", { title: "remove", tabindex: -1, onclick: () => drop(place) }, "×"))
    : h("div", { class: "item plain" }, h("textarea", { rows: 1, class: "key", value: item, spellcheck: "false", "aria-label": `answer ${place + 1}`, oninput: event => set(place, () => event.target.value) }), h("button", { title: "remove", tabindex: -1, onclick: () => drop(place) }, "×")));
  return [h("div", { class: "legend", "data-of": name }, h("span", {}, legend, " ", h("em", {})), labelled && q.form.options.length ? h("button", { class: "mini", "data-rest": "text", onclick: () => { group = ""; edit(asText(q.form)); group = ""; showForm(); } }, "→ text") : null, h("button", { class: "mini", "data-add": name, onclick: add }, "+ add")), h("div", { class: "list", "data-list": name }, rows)];
}

function showForm() {
  const kinds = h("select", { "data-field": "question_type", onchange: event => edit({ question_type: event.target.value }) }, info.types.map(type => h("option", { value: type }, words(type))));
  kinds.value = q.form.question_type;
  fill(".form",
    h("div", { class: "row" }, field("Number", "number", bound("number")), field("Type", "question_type", kinds), field("Points", "points", bound("points", "input", { inputmode: "decimal" }))),
    h("div", { class: "crops" }, q.boxes.map(box => h("img", { alt: "the question on its page", loading: "lazy", src: cropOf(box) }))),
    h("div", { class: "legend" }, h("span", {}, "Behind the cursor:"), ...Object.entries(RESTS).map(([name, [, key]]) => h("button", { class: "mini", "data-rest": name, onclick: () => rest(name) }, `→ ${name} `, h("kbd", {}, key)))),
    field("Question", "question", bound("question", "textarea", { rows: 5 })),
    h("div", { class: "legend", "data-of": "figures" }, h("span", {}, "Figures ", h("em", {})), h("button", { class: "mini", onclick: () => draw("figure") }, "+ draw ", h("kbd", {}, "F"))), h("div", { class: "thumbs" }),
    listField("options", "Options", true), listField("answer", "Answer, one entry a blank or part", false),
    field("Solution", "solution", bound("solution", "textarea", { rows: 2 })),
    schemeField(q.form.scheme, { set: scheme => edit({ scheme }), again: showForm, attempt, toast }),
    field("Knowledge points", "knowledge_points", bound("knowledge_points")),
    h("div", { class: "row three" }, field("Subject", "subject", bound("subject")), field("Difficulty", "difficulty", bound("difficulty")), field("Section", "section", bound("section"))),
    q.markdown && h("details", {}, h("summary", {}, "as extracted"), h("pre", {}, q.markdown)));
  showThumbs(); showProblems();
  document.querySelectorAll(".form textarea").forEach(fit);
}

const cropOf = box => `review/crop/${encodeURIComponent(q.paper)}?page=${box.page}&box=${["left", "top", "right", "bottom"].map(side => box[side].toFixed(6)).join()}`;

/* What stands behind the cursor in the question's text becomes its options, or begins its solution. */
const RESTS = {
  options: [text => ({ options: [...q.form.options, ...optionsOf(text, q.form.options.length)] }), "Alt P"],
  solution: [text => ({ solution: [text, q.form.solution].filter(Boolean).join("\n") }), "Alt L"],
};
function rest(name) {
  if (!q || cursor?.node.dataset.field !== "question" || !document.contains(cursor.node)) return toast("put the cursor where they begin (E)", true);
  const { value } = cursor.node, { at } = cursor, text = value.slice(at).trim();
  group = "";
  if (text) edit({ question: value.slice(0, at).trimEnd(), ...RESTS[name][0](text) });
  group = ""; cursor = null; showForm();
}

/* The number of this question; those behind it count on, until theirs begin anew. */
function renumber() {
  if (!q) return;
  const box = h("input", { value: q.form.number, inputmode: "numeric", maxlength: 8 }), begin = id;
  box.addEventListener("keydown", event => {
    const first = parseInt(box.value, 10);
    if (event.key !== "Enter" || event.isComposing || !(first >= 0)) return;
    event.preventDefault(); close();
    const rows = queue.filter(row => row.paper === q.paper), from = rows.findIndex(row => row.id === begin), same = uid();
    const end = rows.findIndex((row, place) => place > from && !(+row.number > +rows[place - 1].number));
    rows.slice(from, end < 0 ? rows.length : end).forEach((row, place) => send("edit", row.id, { fields: { number: String(first + place) }, group: same }));
  });
  show([h("h3", {}, "Number of this question"), box, h("p", {}, "The questions behind it count on, until their numbers begin anew.")], box);
}

async function stored() { for (let n = 0; waiting.length && n < 50; n += 1) await new Promise(done => setTimeout(done, 100)); }

/* The marks of an answer by the scheme as it is stored. */
async function attempt(response) {
  await stored();
  return ask("try", { by, draft: id, response });
}

function showThumbs() {
  fill(".thumbs", q.figures.map((figure, place) => h("div", { class: "thumb" + (chosen && chosen.kind === "figure" && chosen.place === place ? " chosen" : ""), title: figure.caption || figure.name, onclick: () => { choose("figure", place); toBox(figure.box); } },
    h("img", { src: figure.src, alt: `figure ${place + 1}` }), h("button", { title: "remove", onclick: event => { event.stopPropagation(); dropFigure(place); } }, "×"),
    h("div", { class: "steps" }, [[-1, "‹", "to the previous question"], [1, "›", "to the next question"]].map(([way, sign, title]) => h("button", { title, "data-way": way, onclick: event => { event.stopPropagation(); moveFigure(place, way); } }, sign))))));
}

function showProblems() {
  document.querySelectorAll(".form [data-of]").forEach(node => {
    const problem = refused[id]?.[node.dataset.of]?.why || q.problems[node.dataset.of] || "";
    node.querySelector("em").textContent = problem;
    node.querySelectorAll("input, textarea, select").forEach(input => input.classList.toggle("bad", !!problem));
  });
}

const fit = node => { if (!CSS.supports("field-sizing", "content")) { node.style.height = "auto"; node.style.height = node.scrollHeight + 2 + "px"; } };

// ---------------------------------------------------------------- figures and their marks
const bare = ({ name, box, caption }) => ({ name, box, caption });
function dropFigure(place, same = "", of = { ...q, id }) {
  const figures = of.figures.filter((_, i) => i !== place);
  const fields = textsOf(of.form).reduce((sum, text) => sum + counted(text, MARK), 0) > figures.length ? withoutMark(of.form, place) : {};
  if (of.id !== id) return send("edit", of.id, { fields, figures: figures.map(bare), group: same }); // another was opened meanwhile
  chosen = null; group = same; q.figures = figures;
  edit(fields, { figures: figures.map(bare), group: same });
  group = ""; showForm(); showBoxes();
}

/* Gives a figure to the question before or behind; both edits are one for undo. */
async function moveFigure(place, way) {
  const rows = queue.filter(row => row.paper === q.paper), of = { ...q, id }, to = rows[rows.findIndex(row => row.id === id) + way], figure = bare(q.figures[place]), same = uid();
  if (!to) return toast("there is no such question", true);
  const { form, figures } = await ask(`question/${encodeURIComponent(to.id)}?by=${encodeURIComponent(by)}`);
  const many = counted(form.question, MARK);
  dropFigure(place, same, of);
  send("edit", to.id, { fields: { question: `${form.question}\n${MARK}` }, figures: [...figures.slice(0, many).map(bare), figure, ...figures.slice(many).map(bare)], group: same }, () => toast(`moved to ${to.number || to.id}`));
}

/* Below the line of the cursor, else at the end of the question. */
function addFigure(box) {
  const text = q.form.question, is_here = cursor?.node.dataset.field === "question" && document.contains(cursor.node);
  const end = is_here ? text.indexOf("\n", cursor.at) : -1, above = end < 0 ? text : text.slice(0, end), place = counted(above, MARK);
  const figures = [...q.figures.slice(0, place).map(bare), { name: "", box, caption: "" }, ...q.figures.slice(place).map(bare)];
  group = "";
  chosen = { kind: "figure", place };
  send("edit", id, { fields: { question: [above, MARK].filter(Boolean).join("\n") + text.slice(above.length) }, figures, group: "" }, said => { if (said.question?.id === id) { q = said.question; showForm(); showBoxes(); showRead(); showFoot(); } });
}

// ---------------------------------------------------------------- the page and its boxes
function showPages() {
  const pages = Array.from({ length: q.pages }, (_, i) => h("div", { class: "page", "data-page": i + 1 }, h("img", { alt: `page ${i + 1}`, draggable: "false", decoding: "async", loading: Math.abs(i + 1 - q.page) < 2 ? "eager" : "lazy", src: `review/page/${encodeURIComponent(q.paper)}/${i + 1}`, onload: sized }), h("span", { class: "folio" }, String(i + 1))));
  for (const key of q.keys) for (let n = 1; n <= key.pages; n += 1) pages.push(h("div", { class: "page key", "data-sha256": key.sha256, "data-number": n }, h("img", { alt: `page ${n} of the key`, draggable: "false", decoding: "async", loading: "lazy", src: `review/key/${key.sha256}/${n}`, onload: sized }), h("span", { class: "folio" }, `key ${n}`)));
  pages.forEach(page => { page.style.aspectRatio = "1 / 1.414"; });
  fill(".pages", pages.length ? pages : h("p", { class: "none" }, "read from its source: it has no pages"));
  rescale();
}

function sized(event) {
  const { naturalWidth: width, naturalHeight: height } = event.target, ratio = `${width} / ${height}`;
  const pages = document.querySelectorAll(".page"), first = !$(".pages").dataset.sized;
  if (!first && event.target.parentNode.style.aspectRatio === ratio) return;
  (first ? pages : [event.target.parentNode]).forEach(page => { page.style.aspectRatio = ratio; });
  $(".pages").dataset.sized = "1";
  if (first || !event.target.closest(".key")) toBox();
}

const rescale = () => { $(".pages").style.width = percent(scale); };

function showBoxes() {
  document.querySelectorAll(".box").forEach(node => { if (node.closest(".page")) node.remove(); });
  if (!q) return;
  fill(".tools .title", q.paper_title || q.paper);
  const put = (box, kind, place, text, attributes) => {
    const page = document.querySelector(`.page[data-page="${box.page}"]`);
    if (!page) return null;
    const node = h("div", { class: `box ${kind}`, ...attributes }, h("span", { class: "tag" }, text));
    lay(node, box);
    page.append(node);
    return node;
  };
  q.neighbours.forEach(other => other.boxes.forEach(box => put(box, "near", 0, other.number, { onclick: () => !drawing && open(other.id) })));
  const owned = (kind, place, box, text) => {
    const node = put(box, kind, place, text, { "data-kind": kind, "data-place": place, onpointerdown: event => grab(event, kind, place) });
    if (!node) return;
    node.append(...SIDES.map(side => h("i", { class: "grip " + side, "data-side": side })));
    node.classList.toggle("chosen", !!chosen && chosen.kind === kind && chosen.place === place);
  };
  q.boxes.forEach((box, place) => owned("place", place, box, q.form.number || "?"));
  q.figures.forEach((figure, place) => figure.box && owned("figure", place, figure.box, `figure ${place + 1}`));
}

function lay(node, box) {
  Object.assign(node.style, { left: percent(box.left), top: percent(box.top), width: percent(box.right - box.left), height: percent(box.bottom - box.top) });
}

function choose(kind, place) {
  chosen = { kind, place };
  document.querySelectorAll(".box[data-kind]").forEach(node => node.classList.toggle("chosen", node.dataset.kind === kind && +node.dataset.place === place));
  document.querySelectorAll(".thumb").forEach((node, i) => node.classList.toggle("chosen", kind === "figure" && i === place));
}

const boxOf = one => one.kind === "figure" ? q.figures[one.place]?.box : q.boxes[one.place];

function setBox(kind, place, box, group_) {
  if (kind === "figure") {
    q.figures[place].box = box;
    send("edit", id, { fields: {}, figures: q.figures.map(bare), group: group_ || "" }, said => { if (said.question?.id === id) { q = { ...said.question, form: q.form }; if (!drag) showBoxes(); showThumbs(); showRead(); showFoot(); } });
  } else {
    q.boxes[place] = box;
    send("edit", id, { fields: {}, boxes: q.boxes, group: group_ || "" });
  }
}

let drag = null;
function grab(event, kind, place) {
  if (drawing || event.button) return;
  event.preventDefault();
  document.activeElement?.blur();
  choose(kind, place);
  const node = event.currentTarget, page = node.parentNode.getBoundingClientRect(), from = { ...boxOf(chosen) };
  drag = { node, page, from, box: from, side: event.target.dataset.side || "", x: event.clientX, y: event.clientY };
  node.setPointerCapture(event.pointerId);
  node.onpointermove = moved => {
    drag.box = shifted(from, drag.side, (moved.clientX - drag.x) / page.width, (moved.clientY - drag.y) / page.height);
    lay(node, drag.box);
  };
  node.onpointerup = node.onpointercancel = () => {
    node.onpointermove = node.onpointerup = node.onpointercancel = null;
    const box = drag.box;
    drag = null;
    if (JSON.stringify(box) !== JSON.stringify(from)) setBox(kind, place, box);
  };
}

function draw(kind) {
  drawing = !q || drawing === kind ? "" : kind;
  $(".scroll").classList.toggle("drawing", !!drawing);
  document.querySelectorAll("[data-draw]").forEach(node => node.classList.toggle("on", node.dataset.draw === drawing));
}

function startDrawing(event) {
  const page = event.target.closest(".page");
  if (!drawing || !page || event.button) return;
  event.preventDefault();
  const place = page.getBoundingClientRect(), at = moved => [clamp((moved.clientX - place.left) / place.width, 0, 1), clamp((moved.clientY - place.top) / place.height, 0, 1)];
  const [x, y] = at(event), node = h("div", { class: "box chosen" + (drawing === "figure" ? " figure" : "") });
  let box = null;
  page.append(node);
  page.setPointerCapture(event.pointerId);
  page.onpointermove = moved => { const [u, v] = at(moved); box = { page: +(page.dataset.page || page.dataset.number), left: Math.min(x, u), right: Math.max(x, u), top: Math.min(y, v), bottom: Math.max(y, v) }; lay(node, box); };
  page.onpointerup = page.onpointercancel = () => {
    page.onpointermove = page.onpointerup = page.onpointercancel = null;
    node.remove();
    const kind = drawing;
    draw(drawing);
    if (kind === "head" && box && !page.dataset.sha256) return addHead(box, event.pointerType === "mouse");
    if (!box || box.right - box.left < .008 || box.bottom - box.top < .004) return;
    if (kind.startsWith("key")) act("key", { boxes: [box], sha256: page.dataset.sha256 || "", more: kind === "key more" });
    else if (page.dataset.sha256) toast("this is a page of the key: draw an answer on it (W)", true);
    else if (kind === "figure") addFigure(box);
    else if (kind === "question") act("add", { boxes: [box] });
    else { q.boxes = [...q.boxes, box]; send("edit", id, { fields: {}, boxes: q.boxes, group: "" }); showBoxes(); choose("place", q.boxes.length - 1); }
  };
}

// ---------------------------------------------------------------- questions by example
function drawHeads() {
  const paper = info.papers.find(one => one.paper_id === q?.paper);
  if (paper && heads?.paper !== q.paper) heads = { paper: q.paper, texts: [...paper.heads], busy: "" };
  draw("head"); showHeads();
}

function showHeads() {
  const { texts, busy } = heads || {};
  fill(".heads", ...!q || heads?.paper !== q.paper ? [] : [h("span", {}, busy || (texts.length ? "These begin questions:" : "Drag over the first line of a question, then of another.")),
    h("button", { class: "mini", "data-heads": "find", disabled: !!busy, onclick: () => findLike() }, texts.length ? "find the others" : "find without examples"), h("button", { class: "mini", onclick: dropHeads }, "cancel"),
    ...texts.map((text, place) => h("span", { class: "chip" }, text, h("button", { title: "remove", onclick: () => { texts.splice(place, 1); showHeads(); } }, "×")))]);
}

function dropHeads() { heads = null; draw(""); showHeads(); }

/* Runs a request of the panel; its error is told, and changes nothing. */
async function withHeads(busy, run) {
  const own = heads;
  own.busy = busy; showHeads();
  try { await run(own); } catch (error) { toast(error.status ? error.message : "the server is gone", true); }
  own.busy = ""; showHeads();
}

const addHead = (box, more) => {
  if (more) draw("head");
  return withHeads("reading …", async own => {
    const { text } = await ask("head", { paper: own.paper, box: { ...box, bottom: Math.max(box.bottom, box.top + 1e-4), right: Math.max(box.right, box.left + 1e-4) } });
    if (!text) toast("no line of text was read there", true);
    else if (!own.texts.includes(text)) own.texts.push(text);
  });
};

const findLike = anyway => withHeads("finding the others …", async own => {
  await stored();
  if (waiting.length) return toast("one moment: not everything is stored yet", true);
  const { changed } = await ask("like", { paper: own.paper, heads: own.texts, anyway });
  if (changed.length) return show([h("h3", {}, "Reviewed questions change"), h("p", {}, `${changed.join(", ")}: gone or read otherwise with these first lines. Decisions on them end; edits stay with the number of the question and may not fit.`), h("button", { class: "act", onclick: () => { close(); findLike(true); } }, "find the others all the same")]);
  dropHeads();
  await reload();
  const rows = queue.filter(row => row.paper === own.paper);
  await open(rows[0]?.id, true);
  toast(`${rows.length} questions in ${own.paper}`);
});

function dropBox() {
  if (!chosen) return;
  if (chosen.kind === "figure") return dropFigure(chosen.place);
  q.boxes = q.boxes.filter((_, i) => i !== chosen.place);
  chosen = null;
  send("edit", id, { fields: {}, boxes: q.boxes, group: "" });
  showBoxes();
}

function nudge(event) {
  const unit = event.altKey ? .0005 : .003, [dx, dy] = { ArrowLeft: [-unit, 0], ArrowRight: [unit, 0], ArrowUp: [0, -unit], ArrowDown: [0, unit] }[event.key];
  group = group || uid();
  setBox(chosen.kind, chosen.place, shifted(boxOf(chosen), event.shiftKey ? "se" : "", dx, dy), group);
  showBoxes();
}

function toBox(box) {
  if (!q) return;
  box = box || q.boxes[0] || { page: q.page, left: 0, right: 1, top: 0, bottom: 1 };
  const page = document.querySelector(`.page[data-page="${box.page}"]`), view = $(".scroll");
  if (!page) return;
  const height = (box.bottom - box.top) * page.offsetHeight;
  view.scrollTop = page.offsetTop + box.top * page.offsetHeight - Math.max(34, (view.clientHeight - height) / 2);
  view.scrollLeft = page.offsetLeft + (box.left + box.right) / 2 * page.offsetWidth - view.clientWidth / 2;
}

/* As large as the question's width allows: margins of the paper are not read. */
function fitting() {
  const wide = Math.max(...(q && q.boxes.length ? q.boxes : [{ left: 0, right: 1 }]).map(box => box.right - box.left));
  return clamp(.95 / wide, 1, 1.8);
}

/* To the key's pages, to where they were last read, and back to the question. */
let keyTop = 0;
function toKey() {
  const view = $(".scroll"), first = $(".page.key");
  if (!first) return toast("no key was given as a PDF (livek12 ingest --answers)", true);
  if (view.scrollTop + view.clientHeight / 2 > first.offsetTop) { keyTop = view.scrollTop - first.offsetTop; return toBox(); }
  view.scrollTop = first.offsetTop + keyTop;
}

function zoom(to) { scale = clamp(to, .4, 3); rescale(); toBox(chosen && boxOf(chosen)); }

function zoomToBox() { if (q) zoom(scale === 1 ? fitting() : 1); }

// ---------------------------------------------------------------- decisions
function act(kind, said = {}, on) {
  if (!q || opening) return;
  if (kind === "accept" && refusedHere().length) return toast(refusedHere().map(([name, { why }]) => `${words(name)}: ${why}`).join("; "), true);
  const now = id, next = on ? following() : "";
  group = "";
  document.activeElement?.blur();
  if (on) opening = now;
  send(kind, now, said, async answer => {
    if (on) await open(next);
    else if (answer.draft !== now) await open(answer.draft, true);
    else if (answer.question && id === now) { q = answer.question; chosen = null; showBoxes(); showRead(); showForm(); showFoot(); }
    else if (!answer.question) await open(answer.draft, true);
  });
}

/* What a dialog decided is of the question it was opened on, though another is being opened meanwhile. */
function settle(kind, asked, said, on) {
  if (asked === id && !opening) act(kind, said, on);
  else send(kind, asked, said);
}

function accept() {
  const unkeyed = q && !opening && !refusedHere().length && !q.form.answer.some(Boolean) && !q.form.solution && !q.form.scheme.length;
  act("accept", {}, true);
  if (unkeyed) toast(`${q.form.number || id} is accepted without a key`);
}
function undo(kind) { group = ""; send(kind, "", {}, async said => { await reload(); await open(queue.some(row => row.id === said.draft) ? said.draft : queue.some(row => row.id === id) ? id : following(), true); toast(kind === "undo" ? "taken back" : "done again"); }); }

function reject() {
  if (!q) return;
  const box = h("input", { placeholder: "why? (a word is enough)", maxlength: 500 });
  const asked = id, go = text => { if (!text.trim()) return box.focus(); close(); settle("reject", asked, { text }, true); };
  box.addEventListener("keydown", event => { if (event.key === "Enter" && !event.isComposing) { event.preventDefault(); go(box.value); } else if (!box.value && REASONS[event.key - 1]) { event.preventDefault(); go(REASONS[event.key - 1]); } });
  show([h("h3", {}, `Reject ${q.form.number || id}`), h("div", { class: "reasons" }, REASONS.map((reason, i) => h("button", { onclick: () => go(reason) }, h("kbd", {}, String(i + 1)), reason))), box], box);
}

function comment() {
  if (!q) return;
  const asked = id, box = h("input", { placeholder: "for whoever reads this question next", maxlength: 2000 });
  box.addEventListener("keydown", event => { if (event.key === "Enter" && !event.isComposing && box.value.trim()) { event.preventDefault(); close(); settle("comment", asked, { text: box.value }); } });
  show([h("h3", {}, "Comment"), box], box);
}

function go() {
  const box = h("input", { placeholder: "number", inputmode: "numeric" });
  box.addEventListener("keydown", event => {
    if (event.key !== "Enter" || event.isComposing) return;
    const wanted = box.value.trim(), found = [...queue.filter(row => q && row.paper === q.paper), ...queue].find(row => row.number === wanted || row.id === wanted);
    if (!found) return toast(`there is no question ${wanted}`, true);
    close(); open(found.id);
  });
  show([h("h3", {}, "Go to question"), box], box);
}

function split() {
  const node = cursor && document.contains(cursor.node) ? cursor : null;
  if (!q || !node) return toast("put the cursor where the second question begins (E), then split", true);
  const option = node.node.dataset.option === undefined ? null : +node.node.dataset.option;
  act("split", { option, offset: [...node.node.value.slice(0, node.at)].length });
}
const merge = way => act("merge", { with: way });

function rename() {
  const box = h("input", { value: by, maxlength: 40 });
  box.addEventListener("keydown", async event => { if (event.key === "Enter" && !event.isComposing && box.value.trim()) { if (waiting.length) return toast("one moment: not everything is stored yet", true); if (isBroken(box.value)) return toast("the name holds half a character: delete it", true); by = box.value.trim(); sessionStorage.setItem("livek12-reviewer", by); close(); await reload(); await open(id || following(), true); } });
  const pairs = info.agreement.map(one => h("tr", {}, h("td", {}, `${one.a} and ${one.b}`), h("td", {}, `${one.same} of ${one.n}`), h("td", {}, one.kappa == null ? "not defined" : one.kappa.toFixed(2)), h("td", {}, `${one.same_answer} of ${one.both_accepted}`), h("td", {}, one.answer_kappa == null ? "not defined" : one.answer_kappa.toFixed(2))));
  show([h("h3", {}, "Who is reviewing"), box, h("p", {}, "Every reviewer has a copy of every question; nobody is told what others decided before deciding."),
    pairs.length ? h("table", {}, h("tr", {}, ["", "decided alike", "κ", "same answer", "κ"].map(text => h("th", {}, text))), pairs) : null], box, true);
}

const help = () => show([h("h3", {}, "Keys"), h("dl", { class: "keyslist" }, KEYS.flatMap(([key, text]) => [h("dt", {}, ...key.split(/ (?=\S)/).map((one, i) => [i ? " " : "", h("kbd", {}, one.trim())]).flat()), h("dd", {}, text)])), h("p", {}, "Every action is stored before it shows as done; typing is stored as you type. Close the page whenever you like.")], null, true);

function show(children, focus, wide) {
  close();
  dialog = h("div", { class: "veil", onpointerdown: event => event.target === dialog && close() }, h("div", { class: "dialog" + (wide ? " wide" : ""), role: "dialog", tabindex: -1 }, children));
  document.body.append(dialog);
  (focus || dialog.firstChild).focus();
  focus?.select?.();
}
function close() { dialog?.remove(); dialog = null; }

function showFoot() {
  document.querySelectorAll("footer .act[data-act]").forEach(node => { node.disabled = !q && !node.dataset.always; });
  $("[data-act=accept]").title = q ? Object.values(q.problems).join("; ") : "";
  $("[data-act=reopen]").hidden = !q || q.mine === "open";
}

// ---------------------------------------------------------------- keys
function pressed(event, again) {
  if (event.isComposing || event.defaultPrevented && again !== true) return;
  const node = inField(), key = event.key;
  if (dialog) { if (key === "Escape") { event.preventDefault(); close(); } return; }
  if (node) {
    if (key === "Escape") { event.preventDefault(); node.blur(); group = ""; }
    else if (key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); accept(); }
    else if (event.altKey && { KeyS: 1, KeyP: 1, KeyL: 1 }[event.code]) { event.preventDefault(); remember(); ({ KeyS: split, KeyP: () => rest("options"), KeyL: () => rest("solution") })[event.code](); }
    return;
  }
  if (opening) { later.push(event); if (!event.ctrlKey) event.preventDefault(); return; }
  if (event.ctrlKey || event.metaKey) { if (key === "z" || key === "Z") { event.preventDefault(); undo(event.shiftKey ? "redo" : "undo"); } return; }
  if (chosen && key.startsWith("Arrow")) { event.preventDefault(); return nudge(event); }
  const actions = { j: () => step(1), k: () => step(-1), ArrowRight: () => step(1), ArrowLeft: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1), a: accept, r: reject, o: () => act("reopen"), u: () => undo("undo"), U: () => undo("redo"),
    e: () => { const first = $(".form textarea"); first?.focus(); }, g: go, z: zoomToBox, "+": () => zoom(scale * 1.2), "=": () => zoom(scale * 1.2), "-": () => zoom(scale / 1.2), s: split, m: () => merge("next"), M: () => merge("previous"),
    n: renumber, "[": () => chosen?.kind === "figure" && moveFigure(chosen.place, -1), "]": () => chosen?.kind === "figure" && moveFigure(chosen.place, 1), b: () => draw("box"), f: () => draw("figure"), q: () => draw("question"), h: drawHeads, t: () => act("read"), w: () => draw("key"), W: () => draw("key more"), y: toKey, c: comment, "?": help, Delete: dropBox, Backspace: dropBox, Escape: () => { if (drawing) draw(drawing); chosen = null; showBoxes(); },
    1: () => choice("all"), 2: () => choice("todo"), 3: () => choice("conflict"), 4: () => choice("second") };
  const found = actions[key] || actions[key.toLowerCase()];
  if (found && !event.altKey) { event.preventDefault(); found(); }
}

function remember() { const node = inField(); if (node && node.tagName === "TEXTAREA" && (node.dataset.field === "question" || node.dataset.option !== undefined)) cursor = { node, at: node.selectionStart }; }
function choice(state) {
  filter.state = state;
  showHead(); showRail();
  const rows = visible().filter(STATES[state][1]);
  if (!rows.some(row => row.id === id)) open(rows.length ? rows[0].id : "");
}

// ---------------------------------------------------------------- beginning
async function reload() {
  info = await ask(`queue?by=${encodeURIComponent(by)}`);
  showing(info.unseen);
  by = info.reviewer;
  queue = info.queue;
  showHead(); showRail();
}

function build() {
  const button = (act_, text, key, go_, more = {}) => h("button", { class: "act", "data-act": act_, onclick: go_, ...more }, text, key && h("kbd", {}, key));
  const choose_ = name => h("select", { name, "aria-label": name, onchange: event => { filter[name] = event.target.value; event.target.blur(); if (name === "state") choice(filter.state); else { const rows = visible(); showRail(); if (!rows.some(row => row.id === id) && rows[0]) open(rows[0].id); } } });
  document.body.append(h("div", { class: "app" },
    h("header", {}, h("span", { class: "brand" }), h("div", { class: "filters" }, ["paper", "state", "doubt", "order"].map(choose_)), h("div", { class: "progress" }), h("button", { class: "who", title: "change your name, see the agreement", onclick: rename }), h("button", { class: "mini", onclick: help, title: "keys" }, "?")),
    h("nav", { class: "rail", "aria-label": "queue" }),
    h("section", { class: "sheet", "aria-label": "page" }, h("div", { class: "tools" }, h("span", { class: "title" }), h("button", { "data-draw": "box", onclick: () => draw("box") }, "box ", h("kbd", {}, "B")), h("button", { "data-draw": "figure", onclick: () => draw("figure") }, "figure ", h("kbd", {}, "F")), h("button", { "data-draw": "question", title: "draw the box of a question that is missing", onclick: () => draw("question") }, "question ", h("kbd", {}, "Q")), h("button", { "data-draw": "head", title: "drag over the first lines of two questions, to find the others", onclick: drawHeads }, "first lines ", h("kbd", {}, "H")), h("button", { title: "read this question again from its boxes", onclick: () => act("read") }, "read ", h("kbd", {}, "T")), h("button", { "data-draw": "key", title: "draw the box of this question's answer, on a page of the key", onclick: () => draw("key") }, "answer ", h("kbd", {}, "W")), h("button", { title: "to the key and back", onclick: toKey }, "key ", h("kbd", {}, "Y")), h("span", { class: "zoom" }, h("button", { onclick: () => zoom(scale / 1.2), title: "smaller" }, "−"), h("button", { onclick: zoomToBox }, "zoom ", h("kbd", {}, "Z")), h("button", { onclick: () => zoom(scale * 1.2), title: "larger" }, "+"))),
      h("div", { class: "heads" }), h("div", { class: "scroll", tabindex: -1, onpointerdown: startDrawing }, h("div", { class: "pages" }))),
    h("section", { class: "work", "aria-label": "the question" }, h("div", { class: "read", tabindex: -1, "aria-label": "as it reads" }), h("div", { class: "form", "aria-label": "fields" })),
    h("footer", {}, button("accept", "Accept", "A", accept, { class: "act yes" }), button("reject", "Reject", "R", reject, { class: "act no" }), button("reopen", "Open again", "O", () => act("reopen")),
      h("button", { class: "act dots", title: "more", "aria-label": "more", onclick: () => $("footer").classList.toggle("open") }, "⋯"),
      h("span", { class: "others" }, button("edit", "Edit", "E", () => $(".form textarea")?.focus()), button("split", "Split", "S", split), button("merge", "Merge with next", "M", () => merge("next")), button("comment", "Comment", "C", comment), button("undo", "Undo", "U", () => undo("undo"), { "data-always": "1" })), h("span", { class: "gap" }), h("span", { class: "saved", role: "status" }),
      button("previous", "Previous", "K", () => step(-1)), button("next", "Next", "J", () => step(1)))));
  document.addEventListener("focusout", event => { if (event.target.closest?.(".form")) group = ""; });
  document.addEventListener("keyup", remember); document.addEventListener("pointerup", remember);
  document.addEventListener("input", event => { if (event.target.tagName === "TEXTAREA") fit(event.target); remember(); });
  document.addEventListener("keydown", pressed);
  window.addEventListener("beforeunload", event => { if (lost && waiting.length) event.preventDefault(); else work(); });
}

async function begin() {
  build();
  by = sessionStorage.getItem("livek12-reviewer") || "";
  for (;;) {
    try { await reload(); break; } catch (error) { if (error.refused) return toast(error.message, true); await new Promise(done => setTimeout(done, 800)); }
  }
  document.title = `review · ${info.folder}`;
  fill(".brand", h("small", {}, "review "), info.folder);
  try { waiting = JSON.parse(localStorage.getItem(store()) || "[]").map(one => ({ ...one, sent: true })); } catch { waiting = []; }
  if (waiting.length) { await work(); await reload(); }
  showSaved();
  const wanted = decodeURIComponent(location.hash.slice(1));
  const first = visible()[0];
  await open(queue.some(row => row.id === wanted) ? wanted : first ? first.id : "");
}

begin();
