/* The marking scheme among the fields: alternatives of criteria, which are edited, put in order, and tried against an answer.
   Contract: texts are set as text; an edit is a whole new scheme, which the page stores as typed. */
import { h, raw } from "./parts.js";

const KINDS = ["", "method", "accuracy", "independent", "answer", "style"];
const EMPTY = { id: "", points: "", text: "", part: "", kind: "", needs: "", expression: "", partial: "", deduct: "" };
let tried = "";

/* scheme: the form's; set(scheme) stores it; again() draws the fields anew; attempt(response) gives the marks. */
export function schemeField(scheme, { set, again, attempt, toast }) {
  const changed = (way, place, more) => scheme.map((criteria, a) => criteria.map((one, n) => a === way && n === place ? { ...one, ...more } : one));
  const store = next => { set(next.filter(criteria => criteria.length)); again(); };
  const free = () => { const ids = new Set(scheme.flat().map(one => one.id)); let n = 1; while (ids.has(String(n))) n += 1; return String(n); };
  const add = way => store(way < scheme.length ? scheme.map((criteria, a) => a === way ? [...criteria, { ...EMPTY, id: free() }] : criteria) : [...scheme, [{ ...EMPTY, id: free() }]]);
  const drop = (way, place) => store(scheme.map((criteria, a) => criteria.filter((_, n) => a !== way || n !== place)));
  const move = (way, place, by) => {
    const criteria = [...scheme[way]], to = place + by;
    if (to < 0 || to >= criteria.length) return;
    [criteria[place], criteria[to]] = [criteria[to], criteria[place]];
    store(scheme.map((own, a) => a === way ? criteria : own));
    document.querySelectorAll(`[data-way="${way}"] .criterion`)[to]?.querySelector("[data-move]")?.focus();
  };

  function row(one, way, place) {
    const input = (name, label, more = {}) => h("label", { class: "field small" }, h("span", {}, label), h("input", { value: one[name], "data-criterion": name, spellcheck: "false", autocomplete: "off", oninput: event => { one = { ...one, [name]: event.target.value }; scheme = changed(way, place, one); set(scheme); }, ...more }));
    const area = (name, label) => h("label", { class: "field small" }, h("span", {}, label), h("textarea", { rows: 1, value: one[name], "data-criterion": name, spellcheck: "false", oninput: event => { one = { ...one, [name]: event.target.value }; scheme = changed(way, place, one); set(scheme); } }));
    const kind = h("select", { "data-criterion": "kind", onchange: event => { one = { ...one, kind: event.target.value }; scheme = changed(way, place, one); set(scheme); } }, KINDS.map(name => h("option", { value: name }, name || "any")));
    kind.value = one.kind;
    const button = (text, title, go, more = {}) => h("button", { class: "mini", title, onclick: go, ...more }, text);
    const more = [one.needs, one.part, one.expression, one.partial, one.deduct].some(Boolean);
    return h("div", { class: "criterion" },
      h("div", { class: "row criterion-head" }, input("id", "Criterion"), input("points", "Points", { inputmode: "decimal" }), h("label", { class: "field small" }, h("span", {}, "Kind"), kind),
        h("div", { class: "moves" }, button("↑", `criterion ${one.id} up`, () => move(way, place, -1), { "data-move": "up" }), button("↓", `criterion ${one.id} down`, () => move(way, place, 1)), button("×", `remove criterion ${one.id}`, () => drop(way, place)))),
      area("text", "What earns them"),
      h("details", { open: more }, h("summary", {}, "partial marks, needs, equation"), area("partial", "Partial marks, a line each: 0.5: for what"), area("deduct", "Deductions, a line each"), input("expression", "Equation or value (LaTeX) that earns it"), h("div", { class: "row" }, input("part", "Part"), input("needs", "Needs (ids, with commas)"), h("span"))));
  }

  function trial() {
    const marks = h("div", { class: "tried", role: "status" });
    const box = h("textarea", { rows: 2, placeholder: "an answer to try the scheme on; rules alone mark it", "aria-label": "an answer to try", spellcheck: "false", oninput: event => { tried = event.target.value; } });
    box.value = tried;
    const go = async () => {
      try {
        const { points, low, high, max_points: of, criteria } = await attempt(tried);
        marks.replaceChildren(h("b", {}, points === null ? `${low} to ${high} of ${of} points` : `${points} of ${of} points`), h("ul", {}, criteria.map(one => h("li", {}, h("b", {}, `${{ accept: "✓", reject: one.points ? "½" : "✗", undecided: "?" }[one.decision] || "?"} ${one.id}`), ` ${one.reason}`, one.quote ? h("q", {}, one.quote) : ""))));
      } catch (error) { toast(error.message, true); }
    };
    return h("details", { open: !!tried }, h("summary", {}, "try it on an answer"), box, h("button", { class: "mini", "data-try": "1", onclick: go }, "mark this answer"), marks);
  }

  return h("div", { class: "scheme" }, h("div", { class: "legend", "data-of": "scheme" }, h("span", {}, "Marking scheme ", h("em", {})), h("button", { class: "mini", "data-add": "scheme", onclick: () => add(scheme.length) }, scheme.length ? "+ another way" : "+ add")),
    scheme.map((criteria, way) => h("div", { class: "list", "data-way": way }, way > 0 && h("div", { class: "legend" }, "or"), criteria.map((one, place) => row(one, way, place)), h("button", { class: "mini", "data-add": `criterion-${way}`, onclick: () => add(way) }, "+ criterion"))),
    scheme.length ? trial() : "");
}

export const schemeRead = scheme => scheme.length ? h("div", { class: "part" }, h("h4", {}, "Marking scheme"), scheme.map((criteria, way) => [way > 0 && h("div", { class: "points" }, "or"), h("ul", { class: "criteria-read" }, criteria.map(one => h("li", {}, h("b", {}, `${one.id} (${one.points || "?"}) `), raw(one.html, { class: "inline" }))))]).flat()) : null;
