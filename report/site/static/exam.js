// Questions, papers, models and graded answers.
"use strict";
(() => {
  const { h, t, number, link, change, select, written, ends } = livek12;
  const AT_ONCE = 24, LONGEST = 160, WITHOUT_TEXT = -2;

  // The labels of a drawn piece in the reader's language; what questions, answers and judges say stays as it is.
  const LABELS = [
    ["[data-fold=reference] > summary", /^Key$/, "key"], ["[data-fold=reference] > summary", /^Key and reference solution$/, "key_solution"],
    ["[data-fold=thinking] > summary", /^Thinking, ([\d,]+) characters; not graded$/, "thinking"], ["[data-fold=answer] > summary", /^The answer before its end, ([\d,]+) characters in all$/, "before_end"],
    ["[data-fold=text] > summary", /^The question as text/, "as_text"], [".answer > .label", /^Answer( \d+)?\s*$/, "answer"],
  ];
  const fragment = (html) => {
    const piece = livek12.fragment(html);
    for (const [selector, form, word] of LABELS) for (const { firstChild: text } of piece.querySelectorAll(selector)) { const found = text?.nodeType === 3 && form.exec(text.data); if (found) text.data = `${t(word).replace("{}", found[1] || "")} `; }
    return piece;
  };

  const nameOf = (question) => question.why ? question.subject : `${question.title ? `${question.title} · ` : ""}${question.n || question.id}`;
  const whyHidden = (question) => h("p", { class: "notice" }, `${t("hidden")}: ${question.why === "held back" ? t("held_back") : t("rights")}.`);
  const neighbours = (exam, anchor, to) => {
    const anchors = [...exam.questions.keys()], at = anchors.indexOf(anchor);
    return h("nav", { class: "steps", "aria-label": t("questions") }, at > 0 && h("a", { class: "button", rel: "prev", href: to(anchors[at - 1]) }, `← ${t("previous")}`), h("span", { class: "soft" }, `${at + 1} ${t("of")} ${anchors.length}`), at < anchors.length - 1 && h("a", { class: "button", rel: "next", href: to(anchors[at + 1]) }, `${t("next")} →`));
  };
  const pieceOf = async (question, anchor) => question.piece ? (await livek12.load(question.piece))[anchor] : null;
  const answerOf = async (slug, task, anchor) => {
    const cell = (await livek12.load(`runs/${slug}`)).cells[task]?.[anchor];
    return !cell || cell[0] < 0 ? null : (await livek12.load(`answers/${slug}~p${cell[0]}`))[anchor];
  };
  const printed = (piece) => piece.places.length === 0 ? null : h("details", { class: "fold", open: piece.places.length < 3 }, h("summary", {}, t("printed")), h("div", { class: "sheets" }, piece.places.map((place) => h("figure", { class: "sheet-page" },
    h("img", { src: place.file, width: place.size[0], height: place.size[1], alt: `${t("page")} ${place.page}`, loading: "lazy" }),
    h("svg", { viewBox: "0 0 1000 1000", preserveAspectRatio: "none", "aria-hidden": "true" }, place.boxes.map(([left, top, right, bottom]) => h("rect", { class: "on-page", x: left * 1000, y: top * 1000, width: (right - left) * 1000, height: (bottom - top) * 1000 })))))));
  const facts = (question) => h("p", { class: "meta" }, [livek12.named("question_type", question.type), livek12.named("subject", question.subject), question.points !== null && `${number(question.points, 2)} ${t("points")}`, question.difficulty, question.release, question.exam].filter(Boolean).join(" · "), question.id && h("span", { class: "id" }, question.id));
  const marked = (cell, question) => h("span", { class: "mark-line" }, livek12.sign(livek12.kindOf(cell)), h("b", { class: "red" }, `${livek12.earned(cell, question.points)} / ${number(question.points ?? 1, 2)}`), " ", h("span", { class: "soft" }, livek12.inWords(cell)));

  const suspect = (item) => item?.suspect && h("div", { class: "notice", role: "note" }, h("b", {}, `${t("suspect")} `), `(${number(100 * item.suspect.chance)} %): `, `${t("models_say")} `, h("b", { class: "said" }, item.suspect.agreed), ` (${item.suspect.agreed_runs} ${t("of")} ${item.suspect.of_runs})`);

  livek12.pages.question = async (said) => {
    const task = livek12.taskOf(said);
    const exam = await livek12.exam(task), question = exam.questions.get(said.q);
    if (!question) return [h("h1", {}, t("question")), h("p", {}, t("missing"))];
    const piece = await pieceOf(question, said.q), item = exam.items[said.q], labels = livek12.labels(), all = livek12.best(task);
    const shown = Number(said.runs) || AT_ONCE, list = all.slice(0, shown);
    const records = await Promise.all(list.map(([slug]) => livek12.load(`runs/${slug}`)));
    const rows = list.flatMap(([slug, run], n) => { const cell = records[n].cells[task]?.[said.q]; return cell ? [{ slug, run, piece: cell[0], trials: cell.slice(1) }] : []; });
    const answers = rows.map((row) => {
      const body = h("div", { class: "answer-body" });
      const fold = h("details", { class: "fold", "data-fold": "whole", ontoggle: async () => { if (fold.open && !body.childNodes.length) body.append(fragment(await answerOf(row.slug, task, said.q) || "")); } }, h("summary", {}, t("whole_answer")), body);
      return h("section", { class: "beside" }, h("h3", {}, h("a", { href: link("graded", { run: row.slug, task, q: said.q }) }, labels.get(row.slug))),
        row.trials.map((cell) => h("div", {}, marked(cell, question), cell[7] && h("p", { class: "said", dir: "auto" }, cell[7].some(Boolean) ? cell[7].map((one) => one.length >= LONGEST ? `${one}…` : one || t("none_said")).join("; ") : t(row.piece === WITHOUT_TEXT && cell[4] !== 1 ? "no_response" : "none_said")), cell[6] !== null && h("p", { class: "soft small" }, `${cell[6].toLocaleString("en")} ${t("tokens_of")}`))), row.piece >= 0 && fold);
    });
    const agreed = item && h("p", {}, h("b", { class: "red" }, `${item.right} ${t("of")} ${item.answers}`), ` ${t("how_many")}`, item.open > 0 && `, ${item.open} ${t("undecided")}`, item.discrimination !== null && item.discrimination !== undefined && `; ${t("discrimination")} ${number(item.discrimination, 2)}`);
    return [h("p", { class: "kicker" }, h("a", { href: link("paper", { task, paper: question.paper }) }, task)), h("h1", {}, `${t("question")} ${nameOf(question)}`), facts(question), neighbours(exam, said.q, (anchor) => link("question", { task, q: anchor })), agreed, suspect(item),
      piece ? [printed(piece), h("div", { class: "asked" }, fragment(piece.asked), fragment(piece.key))] : whyHidden(question),
      h("h2", {}, t("answers")), h("div", { class: "side-by-side" }, answers), all.length > list.length && h("a", { class: "button", href: link("question", { ...said, runs: shown + AT_ONCE }) }, `${t("more")} (${list.length} ${t("of")} ${all.length})`)];
  };

  livek12.pages.graded = async (said) => {
    const run = livek12.runs().get(said.run);
    if (!run) return [h("h1", {}, t("graded")), h("p", {}, t("missing"))];
    const task = livek12.taskOf(said, run), exam = await livek12.exam(task), record = await livek12.load(`runs/${said.run}`);
    const anchors = [...exam.questions.keys()].filter((anchor) => record.cells[task][anchor]), anchor = said.q || anchors[0];
    if (!anchors.includes(anchor)) return [h("h1", {}, t("graded")), h("p", {}, t("missing"))];
    const question = exam.questions.get(anchor), piece = await pieceOf(question, anchor), answer = await answerOf(said.run, task, anchor);
    const to = (other) => link("graded", { run: said.run, task, q: other });
    const alone = record.cells[task][anchor][0] === WITHOUT_TEXT && h("div", { class: "marking" }, record.cells[task][anchor].slice(1).map((cell) => [h("p", {}, marked(cell, question)), cell[7]?.some(Boolean) && h("p", { class: "said", dir: "auto" }, cell[7].join("; "))]), h("p", { class: "soft" }, t("no_response")));
    return [h("p", { class: "kicker" }, h("a", { href: link("model", { run: said.run }) }, livek12.labels().get(said.run)), ` · ${task}`), h("h1", {}, `${t("graded")}: ${nameOf(question)}`), facts(question), neighbours({ questions: new Map(anchors.map((one) => [one, 1])) }, anchor, to),
      grid(exam, record.cells[task], anchors, to, anchor),
      piece ? [printed(piece), h("div", { class: "asked graded" }, fragment(piece.asked), answer ? fragment(answer) : alone, fragment(piece.key))] : [whyHidden(question), record.cells[task][anchor].slice(1).map((cell) => h("p", {}, marked(cell, question)))],
      h("p", {}, h("a", { class: "button", href: link("question", { task, q: anchor }) }, t("answers")))];
  };
  const grid = (exam, cells, anchors, to, at) => h("details", { class: "fold", open: anchors.length <= 120 }, h("summary", {}, `${anchors.length} ${t("questions")}`), h("ol", { class: "grid" }, anchors.map((anchor, n) => {
    const question = exam.questions.get(anchor), trials = cells[anchor].slice(1), kinds = new Set(trials.map(livek12.kindOf));
    return h("li", {}, h("a", { class: "cell", "data-kind": kinds.size === 1 ? [...kinds][0] : "part", href: to(anchor), "aria-current": anchor === at ? "true" : null, title: trials.map(livek12.inWords).join(" | ") }, question.n || String(n + 1)));
  })));

  // Exams on their own scales: cells come in words, only the sentences around them are in the reader's language.
  const SCALE = ["mark", "points", "interval", "percentile", "grade", "chances"];
  const share = (value) => `${number(100 * value)} %`;
  const scaleNotes = (exam) => [
    exam.rows.length === 0 && `${t("not_sat")}: ${exam.missing}`,
    exam.electives.length > 0 && `${t("electives")} (${t(exam.combination === "worst" ? "worst" : "best")}): ${exam.electives.map((names) => names.join(", ")).join(" / ")}`,
    exam.items && exam.items.correlation !== null && `${t("people_rates")}: ${number(exam.items.correlation, 2)}${exam.items.ci ? ` (${t("interval")}: ${exam.items.ci.map((end) => number(end, 2)).join(" … ")})` : ""}, ${exam.items.questions} ${t("questions")}`,
    exam.errors && `${t("people_errors")}: ${exam.errors.same} ${t("of")} ${exam.errors.wrong} (${share(exam.errors.share)}${exam.errors.ci ? `, ${t("interval")}: ${exam.errors.ci.map(share).join(" … ")}` : ""}); ${t("by_chance")} ${share(exam.errors.chance)}`,
    exam.sources.length > 0 && `${t("people_source")}: ${exam.sources.join("; ")}`,
  ].filter(Boolean);
  const scaleTable = (heading, rows) => {
    const kept = SCALE.map((_, n) => n).filter((n) => rows.some((row) => row.cells[n]));
    return h("div", { class: "scroll" }, h("table", { class: "plain scale" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, heading), kept.map((n) => h("th", { scope: "col", class: "right" }, t(SCALE[n]))))),
      h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row" }, row.name), kept.map((n) => h("td", { class: `right${n ? "" : " red"}${n < 4 ? " nowrap" : ""}` }, row.cells[n])))))));
  };
  const ownScale = (exams) => (exams || []).map((exam) => [h("h2", {}, exam.name, " ", h("span", { class: "soft small" }, exam.tasks.join(" + "))),
    exam.rows.length > 0 && scaleTable(t("section"), exam.rows.map(([name, depth, ...cells]) => ({ name: `${"– ".repeat(depth)}${name}`, cells }))), scaleNotes(exam).map((note) => h("p", { class: "small" }, note))]);
  const scalesOf = (task) => {
    const exams = new Map();
    for (const [slug, run] of livek12.runs()) for (const exam of run.exams || []) if (exam.tasks.includes(task)) exams.set(exam.name, [...(exams.get(exam.name) || []), { slug, exam }]);
    const labels = livek12.labels(), order = new Map(livek12.best(task).map(([slug], n) => [slug, n]));
    return [...exams].map(([name, sat]) => {
      const rows = sat.filter(({ exam }) => exam.rows.length).sort((a, b) => order.get(a.slug) - order.get(b.slug)).map(({ slug, exam }) => ({ name: h("a", { href: link("model", { run: slug }) }, labels.get(slug)), cells: exam.rows[0].slice(2) }));
      return [h("h2", {}, name), rows.length > 0 && scaleTable(t("model"), rows)];
    });
  };

  livek12.pages.model = async (said) => {
    const run = livek12.runs().get(said.run);
    if (!run) return [h("h1", {}, t("model")), h("p", {}, t("missing"))];
    const record = await livek12.load(`runs/${said.run}`), known = run.known;
    const about = [[t("released"), known.released || t("unknown")], [t("size"), livek12.size(known.parameters)], [t("licence"), known.licence || t("unknown")], [t("revision"), run.revision || t("unknown")], [t("engine"), run.engine], [t("date"), run.date], [t("trials"), String(run.trials)], ...(run.adaptive ? [[t("adaptive"), livek12.adaptive(run)]] : []), [t("judged"), Object.entries(run.judged).map(([who, n]) => `${who} (${n.toLocaleString("en")})`).join("; ") || "–"], [t("signature"), run.signed?.by ? `${t(run.signed.faults ? "badly signed" : "signed by")} ${run.signed.by}` : t(run.signed?.faults ? "badly signed" : "not signed")], ...(run.regraded ? [[t("regraded"), run.regraded.line]] : [])].filter(([, value]) => value !== t("unknown"));
    const parts = await Promise.all(Object.entries(run.tasks).map(async ([task, part]) => {
      const exam = await livek12.exam(task), anchors = [...exam.questions.keys()].filter((anchor) => record.cells[task][anchor]), subjects = record.tasks[task].profiles.article.groups.subject || {};
      return [h("h2", {}, `${task} `, h("span", { class: "red" }, written(part.metrics.article.mark, "mark")), " ", h("span", { class: "soft small" }, ends(part.metrics.article.mark, "mark"))),
        h("table", { class: "plain" }, h("thead", {}, h("tr", {}, [t("metric"), t("article"), t("release_code")].map((head, n) => h("th", { scope: "col", class: n ? "right" : "" }, head)))), h("tbody", {}, [...new Set(Object.values(part.metrics).flatMap((profile) => Object.keys(profile)))].map((metric) => h("tr", {}, h("th", { scope: "row" }, livek12.metricName(metric)), ["article", "release"].map((profile) => h("td", { class: "right nowrap" }, written(part.metrics[profile][metric], metric), " ", h("span", { class: "ends" }, ends(part.metrics[profile][metric], metric)))))))),
        grid(exam, record.cells[task], anchors, (anchor) => link("graded", { run: said.run, task, q: anchor })),
        Object.keys(subjects).length > 1 && livek12.dots(t("subject_plot"), t("subject"), Object.entries(subjects).map(([name, marks]) => ({ name: name.replace(/_/g, " "), mark: marks.mark, n: marks.n })).filter((row) => row.mark))];
    }));
    const others = [...livek12.runs()].filter(([slug, other]) => slug !== said.run && other.model === run.model);
    return [h("p", { class: "kicker" }, t("model")), h("h1", {}, livek12.labels().get(said.run)),
      others.length > 0 && h("p", { class: "small" }, `${t("others")}: `, others.map(([slug, other], n) => [n ? ", " : "", h("a", { href: link("model", { run: slug }) }, other.name)])), h("dl", { class: "about" }, about.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))), ownScale(record.exams), parts];
  };

  const papersOf = (exam) => {
    const papers = new Map();
    for (const [anchor, question] of exam.questions) {
      if (!papers.has(question.paper)) papers.set(question.paper, { key: question.paper, exams: new Set(), id: question.title || "", anchors: [], subjects: new Set() });
      const paper = papers.get(question.paper);
      paper.exams.add(question.exam || "");
      paper.id = paper.id || question.title || "";
      paper.anchors.push(anchor);
      paper.subjects.add(question.subject);
    }
    // A paper bears the name of its exam where its questions agree on one.
    return [...papers.values()].map((paper) => { const [name] = paper.exams, title = paper.exams.size === 1 && name ? name : paper.id; return { ...paper, title, id: title === paper.id ? "" : paper.id }; });
  };
  livek12.pages.site = async () => {
    const { title, publisher, tasks } = livek12.site(), runs = [...livek12.runs().values()], unique = (of) => [...new Set(runs.flatMap(of))].sort(), dates = unique((run) => run.date);
    const facts = [[t("papers"), Object.entries(tasks).map(([name, task]) => `${name} (${task.questions.toLocaleString("en")}${task.releases.length ? `; ${task.releases.join(", ")}` : ""})`).join(", ")], [t("sitters"), unique((run) => run.model).join(", ")], [t("date"), [...new Set([dates[0], dates[dates.length - 1]])].join(" – ")], [t("judged"), unique((run) => Object.keys(run.judged)).join("; ") || "–"]];
    const sources = [...new Map(Object.values(tasks).flatMap((task) => task.sources || []).map((pair) => [pair.join(" "), pair])).values()];
    if (sources.length) facts.push([t("licence"), sources.map(([licence, url], n) => [n ? ", " : "", url ? h("a", { href: url, rel: "noreferrer" }, licence || url) : licence])]);
    if (publisher) facts.unshift([t("publisher"), publisher.split(/(https:\/\/[^\s<>"]+)/).map((part, n) => n % 2 ? h("a", { href: part, rel: "noreferrer" }, part) : part)]);
    return [h("h1", {}, title || t("site")), h("p", {}, t("site_what")), h("dl", { class: "about list" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))), ["site_marks", "ranges", "tied", "site_rights"].map((word) => h("p", {}, t(word)))];
  };

  livek12.pages.papers = async (said) => {
    const names = Object.keys(livek12.site().tasks), task = livek12.taskOf(said), exam = await livek12.exam(task);
    return [h("h1", {}, t("papers")), names.length > 1 && h("div", { class: "filters", role: "group", "aria-label": t("filters") }, select(t("exam"), task, names.map((name) => [name, name]), (value) => change(said, { task: value }))),
      h("ul", { class: "papers" }, papersOf(exam).map((paper) => h("li", {}, h("a", { href: link("paper", { task, paper: paper.key }) }, paper.title || [...paper.subjects].join(", ") || task), " ", paper.id && h("span", { class: "id" }, paper.id), " ", h("span", { class: "soft" }, `${paper.anchors.length} ${t("questions")}`)))), scalesOf(task)];
  };
  livek12.pages.paper = async (said) => {
    const task = livek12.taskOf(said), exam = await livek12.exam(task);
    const paper = papersOf(exam).find((one) => one.key === (said.paper || ""));
    if (!paper) return [h("h1", {}, t("sheet")), h("p", {}, t("missing"))];
    const start = Number(said.from) || 0, shown = 12, all = livek12.best(task), list = all.slice(start, start + shown), labels = livek12.labels();
    const records = await Promise.all(list.map(([slug]) => livek12.load(`runs/${slug}`)));
    const cellOf = (n, anchor) => records[n].cells[task]?.[anchor];
    const sum = (n) => {
      let [low, high, of] = [0, 0, 0];
      for (const anchor of paper.anchors) { const cell = cellOf(n, anchor), points = exam.questions.get(anchor).points ?? 1; if (!cell) continue; of += points; for (const one of cell.slice(1)) { low += one[0] * points / (cell.length - 1); high += one[1] * points / (cell.length - 1); } }
      return `${livek12.span(low, high)} / ${number(of, 2)}`;
    };
    const mean = (cell, points) => { const trials = cell.slice(1), low = trials.reduce((all_, one) => all_ + one[0], 0) / trials.length, high = trials.reduce((all_, one) => all_ + one[1], 0) / trials.length; return livek12.span(low * points, high * points, 2); };
    return [h("p", { class: "kicker" }, h("a", { href: link("papers", { task }) }, task)), h("h1", {}, `${t("sheet")}: ${paper.title || [...paper.subjects].join(", ") || task}`), paper.id && h("p", { class: "meta" }, h("span", { class: "id" }, paper.id)),
      h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": t("sheet") }, h("table", { class: "plain sheet-table" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("question")), h("th", { scope: "col", class: "right" }, t("points")), list.map(([slug]) => h("th", { scope: "col", class: "right" }, h("a", { href: link("model", { run: slug }) }, labels.get(slug)))))),
        h("tbody", {}, paper.anchors.map((anchor, place) => { const question = exam.questions.get(anchor); return h("tr", {}, h("th", { scope: "row" }, h("a", { href: link("question", { task, q: anchor }) }, question.n || (question.why ? `(${place + 1})` : question.id)), exam.items[anchor]?.suspect && h("span", { class: "warn", title: t("suspect") }, " ⚠")), h("td", { class: "right soft" }, number(question.points ?? 1, 2)), list.map(([slug], n) => { const cell = cellOf(n, anchor); return h("td", { class: "right nowrap", "data-kind": cell ? (new Set(cell.slice(1).map(livek12.kindOf)).size === 1 ? livek12.kindOf(cell[1]) : "part") : "none" }, cell ? h("a", { href: link("graded", { run: slug, task, q: anchor }), title: cell.slice(1).map(livek12.inWords).join(" | ") }, mean(cell, question.points ?? 1)) : "–"); })); })),
        h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, t("total")), h("td", {}), list.map((_, n) => h("td", { class: "right red nowrap" }, sum(n))))))),
      h("nav", { class: "steps", "aria-label": t("models") }, start > 0 && h("a", { class: "button", href: link("paper", { ...said, from: Math.max(0, start - shown) }) }, `← ${t("previous")}`), all.length > shown && h("span", { class: "soft" }, `${start + 1}–${start + list.length} ${t("of")} ${all.length}`), start + shown < all.length && h("a", { class: "button", href: link("paper", { ...said, from: start + shown }) }, `${t("next")} →`))];
  };
})();
