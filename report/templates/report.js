// Filters for the questions of the page. Without this script the page is complete, only longer.
(() => {
  "use strict";
  const tools = document.querySelector(".tools");
  const questions = [...document.querySelectorAll(".question")];
  const cells = new Map([...document.querySelectorAll(".cell")].map((cell) => [cell.dataset.for, cell.parentElement]));
  const selects = [...tools.querySelectorAll("select")];
  const words = { full: "full marks", part: "part of the marks", wrong: "wrong", no_answer: "no answer" };

  const valuesOf = (question, name) =>
    name === "states" ? question.dataset.states.split(" ") : [question.dataset[name]];

  for (const select of selects) {
    const values = new Set(questions.flatMap((question) => valuesOf(question, select.dataset.filter)));
    for (const value of [...values].sort()) {
      select.add(new Option(words[value] || value, value));
    }
    select.parentElement.hidden = values.size < 2;
  }

  // An index has the questions on other pages: an address of one of them leads there.
  const leadOn = () => {
    const wanted = decodeURIComponent(location.hash.slice(1));
    const link = [...document.querySelectorAll(".contents .cell")].find((cell) => cell.dataset.for === wanted);
    if (wanted && link) location.replace(link.href);
  };

  const apply = () => {
    let shown = 0;
    for (const question of questions) {
      const fits = selects.every(({ value, dataset }) => !value || valuesOf(question, dataset.filter).includes(value));
      question.hidden = !fits;
      if (cells.has(question.id)) cells.get(question.id).hidden = !fits;
      shown += fits;
    }
    for (const section of document.querySelectorAll("[data-section]")) {
      section.hidden = ![...section.querySelectorAll(".question")].some((question) => !question.hidden);
    }
    const all = `${questions.length} ${questions.length === 1 ? "question" : "questions"}`;
    document.getElementById("showing").textContent = shown === questions.length ? all : `${shown} of ${all}`;
  };

  const unfold = document.getElementById("unfold");
  unfold.addEventListener("click", () => {
    const open = unfold.dataset.open !== "true";
    for (const fold of document.querySelectorAll(".whole")) fold.open = open;
    unfold.dataset.open = String(open);
    unfold.textContent = open ? "Fold answers" : "Unfold answers";
  });

  for (const picture of document.querySelectorAll(".question .picture")) {
    picture.addEventListener("click", () => picture.classList.toggle("large"));
  }
  for (const select of selects) select.addEventListener("change", apply);
  unfold.hidden = document.querySelector(".whole") === null;
  tools.hidden = questions.length === 0;
  apply();
  leadOn();
  addEventListener("hashchange", leadOn);
})();
