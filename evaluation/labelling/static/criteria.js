/* The criteria of a marking scheme, and the points that a rater gives for each.
   Contract: texts are the server's HTML or set as text; the points are added up by the server, which knows needs and alternatives. */
import { h, isBroken, raw } from "./page.js";

const NINE = 9;
const shown = mark => String(Math.round(mark * 1e6) / 1e6);

/* tools: ask, dialog, toast, trouble of the page; by() the rater; say(marks) when marks change, redraw() the form; again() when a wording was mended. */
export function marking({ ask, dialog, toast, trouble, by, say, redraw, again }) {
  let criteria = [], place = -1, first = 0, last = 0, marks = {}, sum = null, asked = 0;

  function use(answer, given) {
    if (answer.place !== place) { first = last = 0; sum = null; }
    ({ criteria, place } = answer);
    marks = { ...given };
    add();
  }

  async function add() {
    if (!criteria.length) return;
    const number = ++asked;
    try {
      const told = await ask("points", { place, said: marks });
      if (number === asked) { sum = told; document.querySelector(".sum")?.replaceChildren(points()); }
    } catch (error) { trouble(error); }
  }
  const points = () => sum ? `${sum.low === sum.high ? shown(sum.low) : `${shown(sum.low)}–${shown(sum.high)}`} / ${shown(sum.of)}` : "";

  function give(n, mark) {
    last = n;
    const { id } = criteria[n];
    if (mark === undefined) delete marks[id]; else marks[id] = mark;
    add();
    say({ ...marks });
  }
  /* The marks of a criterion one after the other: all, partial ones, none, open. */
  const next = n => { const { id, marks: all } = criteria[n]; give(n, id in marks ? all[all.indexOf(marks[id]) + 1] : all[0]); };
  const every = mark => { criteria.forEach(one => { marks[one.id] = mark(one); }); add(); say({ ...marks }); };
  const turn = () => {
    first = first + NINE < criteria.length ? first + NINE : 0;
    last = first;
    redraw();
    document.querySelectorAll(".criterion")[first].scrollIntoView({ block: "start" });
  };

  function mend(n) {
    const { id, text } = criteria[n], box = h("textarea", { rows: 5, maxlength: 4000, "aria-label": "wording" });
    box.value = text;
    const store = async () => {
      if (!box.value.trim() || isBroken(box.value)) return toast("a criterion is a text of whole characters", true);
      try { await ask("wording", { by: by(), place, said: { criterion: id, text: box.value } }); veil.remove(); again(); } catch (error) { trouble(error); }
    };
    const veil = dialog(`Criterion ${id}`, box, h("p", {}, "All who mark by it see the new wording; answers to this question that were marked before are shown again."),
      h("div", { class: "group" }, h("button", { class: "act yes", "data-act": "mend", onclick: store }, "Store the wording")));
    box.focus();
  }

  function row(one, n) {
    const key = n >= first && n < first + NINE && String(n - first + 1), open = !(one.id in marks);
    return h("li", { class: "criterion" + (open ? " open" : ""), "data-criterion": one.id }, h("kbd", {}, key || "·"),
      h("div", { class: "wording" }, h("b", {}, one.id), " ", raw(one.html, { class: "inline" }), one.notes.map(note => raw(note, { class: "points" })),
        h("span", { class: "points" }, [one.kind, one.needs.length && `needs ${one.needs.join(", ")}`, one.mended && `reworded by ${one.mended}`].filter(Boolean).join(" · "))),
      h("div", { class: "group" }, one.marks.map(mark => h("button", { class: "act mark" + (marks[one.id] === mark ? " pressed" : ""), "aria-pressed": String(marks[one.id] === mark), "data-say": mark === one.marks[0] ? "right" : mark ? "" : "wrong", title: `criterion ${one.id}: ${shown(mark)} points`, onclick: event => { event.currentTarget.blur(); give(n, marks[one.id] === mark ? undefined : mark); } }, shown(mark))),
        h("button", { class: "act", title: `mend the wording of criterion ${one.id}`, "data-act": "wording", onclick: () => mend(n) }, "✎")));
  }

  const panel = () => criteria.length ? h("div", { class: "criteria" },
    h("div", { class: "group" }, h("b", { class: "sum", role: "status" }, points()), h("span", { class: "points" }, "points"), criteria.length > NINE && h("span", { class: "points nine" }, `keys 1–9: ${criteria[first].id} to ${criteria[Math.min(first + NINE, criteria.length) - 1].id} `, h("kbd", {}, "T"))),
    h("ol", {}, criteria.flatMap((one, n) => [one.alternative > 0 && criteria[n - 1]?.alternative !== one.alternative && h("li", { class: "points or" }, one.alternative > 1 ? "or" : "any one of these ways"), row(one, n)]))) : "";

  const keys = () => !criteria.length ? {} : { t: turn, e: () => mend(last),
    ...Object.fromEntries(criteria.slice(first, first + NINE).map((_, n) => [n + 1, () => next(first + n)])) };
  return { use, panel, keys, every };
}
