/* The dialog in which a person sets the mark of an answer and of all that are equal to it.
   Contract: opened only on request, since it shows what the run decided. Nothing counts as set until the server has it on its
   disk; a mark is set with a reason. */
import { h, isBroken, raw } from "./page.js";

const trials = group => group.answers > 1 ? `${group.answers} equal answers to this question (${group.trials.slice(0, 12).join(", ")}${group.answers > 12 ? ", …" : ""}): one mark for all` : "No other answer to this question is equal to this one.";
const peopleSay = group => `Set by people: ${group.people.map(one => `${one.mark} by ${one.by} (${one.answers})`).join(", ")}${group.unset ? `; ${group.unset} of the equal answers still as the judges had ${group.unset === 1 ? "it" : "them"}: set the mark to have one for all` : ""}`;
const many = group => group.answers > 1 ? `mark of ${group.answers} answers` : "mark";

/* tools: ask, dialog, toast, trouble of the page; place, by; then() when a mark was set or given back. */
export async function regrade({ ask, dialog, toast, trouble, place, by, then }) {
  let group, said = {}, busy = false;
  try { group = await ask(`regrade/${place}`); } catch (error) { return trouble(error); }
  const body = h("div", { class: "regrade" });
  const veil = dialog("Override the mark", body);
  const act = (text, on, go, more = {}) => h("button", { class: "act" + (on ? " pressed" : ""), "aria-pressed": String(!!on), onclick: go, ...more }, text);
  const say = what => { said = { ...what, reason: said.reason }; draw(); };
  const parts = () => said.parts || group.parts.map(part => said.correct === true ? 1 : said.correct === false ? 0 : null);
  const part = (n, share) => say({ parts: parts().map((old, at) => at === n ? share : old) });

  function draw() {
    const own = group.set;
    body.replaceChildren(
      h("p", {}, trials(group)),
      h("ul", { class: "judged" }, group.judged.map(one => h("li", {}, `The judges: ${one.mark}`, group.answers > 1 ? ` (${one.answers})` : ""))),
      own ? h("p", { class: "verdict" }, `Now ${own.mark}, set by ${own.by} on ${own.at.slice(0, 10)}: ${own.reason}`) : "",
      group.people.length && (group.unset || group.people.length > 1) ? h("p", { class: "verdict", "data-say": "people" }, peopleSay(group)) : "",
      group.parts.length ? h("table", {}, h("thead", {}, h("tr", {}, ["", "found", "key", ""].map(head => h("th", { scope: "col" }, head)))), h("tbody", {}, group.parts.map((one, n) => h("tr", {},
        h("th", { scope: "row" }, one.name || (group.parts.length > 1 ? `(${n + 1})` : "")), h("td", {}, one.found ? raw(one.found, { class: "found" }) : "–"), h("td", {}, raw(one.key, { class: "found" })),
        h("td", {}, group.parts.length > 1 ? [act("right", parts()[n] === 1, () => part(n, 1), { "data-say": "right", "data-part": n }), " ", act("wrong", parts()[n] === 0, () => part(n, 0), { "data-say": "wrong", "data-part": n })] : ""))))) : "",
      h("div", { class: "group" }, act("Right", said.correct === true, () => say({ correct: true }), { "data-say": "right" }), act("Wrong", said.correct === false, () => say({ correct: false }), { "data-say": "wrong" }),
        h("label", { class: "marks" }, h("input", { name: "regrade-score", inputmode: "decimal", value: said.score ?? "", "aria-label": "marks of all answers", onchange: event => say(event.target.value.trim() === "" ? {} : { score: event.target.value.trim() }) }), ` / ${group.full}`)),
      h("label", { class: "why" }, "Why ", h("input", { name: "reason", value: said.reason ?? "", maxlength: 4000, "aria-label": "reason", oninput: event => { said.reason = event.target.value; } })),
      h("div", { class: "group" }, h("button", { class: "act yes", "data-act": "set", onclick: () => store(said) }, `Set the ${many(group)}`),
        own ? h("button", { class: "act", "data-act": "give-back", onclick: () => store({ withdrawn: true }) }, "Give it back to the judges") : ""));
  }

  async function store(what) {
    if (busy) return;
    if (!what.withdrawn) {
      if (what.parts?.some(share => share === null)) return toast("say right or wrong of each part", true);
      if (!("correct" in what) && !("score" in what) && !("parts" in what)) return toast("say right, wrong or the marks", true);
      if (!(what.reason || "").trim()) return toast("say why", true);
      if (isBroken(what.reason)) return toast("the reason holds half a character: delete it", true);
    }
    busy = true;
    try {
      const told = await ask("regrade", { by, place, said: what });
      toast(what.withdrawn ? "the mark is the judges' again" : `set the ${many(told)}; livek12 report RUN counts it`);
      veil.remove();
      then();
    } catch (error) { trouble(error); } finally { busy = false; }
  }
  // What others set meanwhile, and answers that came, are in it while it is open; what is being written stays.
  async function follow() {
    if (!body.isConnected) return;
    try {
      const told = await ask(`regrade/${place}`);
      const writing = document.activeElement?.name, at = document.activeElement?.selectionStart;
      if (body.isConnected && !busy && JSON.stringify(told) !== JSON.stringify(group)) {
        const score = body.querySelector("[name=regrade-score]").value;
        group = told;
        draw();
        body.querySelector("[name=regrade-score]").value = score;
        const field = writing && body.querySelector(`[name="${writing}"]`);
        if (field) { field.focus(); field.setSelectionRange(at, at); }
      }
    } catch { /* the server is gone for now: what is set is told then */ }
    setTimeout(follow, 4000);
  }
  draw();
  body.querySelector("[name=reason]").focus();
  setTimeout(follow, 4000);
}
