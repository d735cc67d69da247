// The leaderboard: models × benchmarks, or one benchmark in full, on all questions or on those that a reader chose.
"use strict";
(() => {
  const { h, t, number, many, size, written, ends, middle, metricName, scale, link, change, select } = livek12;
  const SIZES = [["4", 4e9], ["15", 15e9], ["80", 80e9]];
  const sizeOf = (run) => {
    const parameters = run.known.parameters;
    if (parameters === null) return "unknown";
    const found = SIZES.find(([, most]) => parameters <= most);
    return found ? found[0] : "more";
  };
  const sizeNames = () => [["", t("all")], ["4", "≤ 4 B"], ["15", "4–15 B"], ["80", "15–80 B"], ["more", "> 80 B"], ["unknown", t("unknown")]];
  const COMPUTED = ["mark", "accuracy"];

  // Runs of one model that share no task are one row; others stand alone.
  const entrants = (tasks) => {
    const labels = livek12.labels(), groups = new Map();
    for (const [slug, run] of livek12.runs()) {
      const key = JSON.stringify([run.model, run.revision]);
      groups.set(key, [...(groups.get(key) || []), [slug, run]]);
    }
    const rows = [];
    for (const members of groups.values()) {
      const asked = members.flatMap(([, run]) => Object.keys(run.tasks));
      const parts = new Set(asked).size === asked.length ? [members] : members.map((one) => [one]);
      for (const part of parts) {
        const of = new Map(part.flatMap(([slug, run]) => Object.keys(run.tasks).map((task) => [task, slug])));
        if (tasks.some((task) => of.has(task))) rows.push({ name: part.length > 1 ? livek12.label(part[0][1]) : labels.get(part[0][0]), run: part[0][1], slug: part[0][0], of });
      }
    }
    const order = [...livek12.runs().keys()];
    return rows.map((row) => ({ ...row, place: Math.min(...[...row.of.values()].map((slug) => order.indexOf(slug))) }));
  };

  const filters = (said, metric, picked) => {
    const runs = [...livek12.runs().values()];
    const metrics = Object.keys(livek12.site().metrics).filter((name) => runs.some((run) => Object.values(run.tasks).some((task) => Object.values(task.metrics).some((profile) => name in profile))));
    const licences = [...new Set(runs.map((run) => run.known.licence || "unknown"))].sort();
    const allTasks = Object.keys(livek12.site().tasks);
    return h("div", { class: "filters", role: "group", "aria-label": t("filters") },
      allTasks.length > 1 && select(t("exam"), allTasks.includes(said.task) ? said.task : "", [["", t("all")], ...allTasks.map((name) => [name, name])], (task) => change(said, { task, sort: "" })),
      select(t("metric"), metric, metrics.filter((name) => !picked || COMPUTED.includes(name)).map((name) => [name, metricName(name)]), (name) => change(said, { metric: name })),
      select(t("profile"), said.profile || "article", [["article", t("article")], ["release", t("release_code")]], (profile) => change(said, { profile })),
      (said.size || new Set(runs.map(sizeOf)).size > 1) && select(t("size"), said.size || "", sizeNames(), (wanted) => change(said, { size: wanted })),
      (said.licence || licences.length > 1) && select(t("licence"), said.licence || "", [["", t("all")], ...licences.map((name) => [name, name === "unknown" ? t("unknown") : name])], (licence) => change(said, { licence })),
      h("label", {}, `${t("find")} `, h("input", { type: "search", value: said.find || "", onchange: (event) => change(said, { find: event.target.value }) })));
  };
  // Several axes at once choose the questions that have all these values.
  const questions = (said, tasks, chosen, picked) => {
    const offered = livek12.filters.offered(tasks), all = tasks.reduce((sum, task) => sum + livek12.site().tasks[task].questions, 0);
    if (!offered.size && !chosen.size) return null;
    const set = (changed) => change(said, { ...Object.fromEntries(chosen), axis: "", value: "", ...changed });
    const count = picked ? `${[...picked.values()].reduce((sum, one) => sum + one.questions.length, 0)} ${t("of")} ${all}` : String(all);
    return h("details", { class: "fold choose", open: chosen.size > 0 }, h("summary", {}, `${t("within")}: ${count}`, [...chosen].map(([axis, value]) => ` · ${t(axis)} ${livek12.named(axis, value)}`)),
      h("div", { class: "filters", role: "group", "aria-label": t("within") }, [...new Set([...offered.keys(), ...chosen.keys()])].map((axis) => [axis, [...new Set([...(offered.get(axis) || []), ...(chosen.has(axis) ? [chosen.get(axis)] : [])])]]).map(([axis, values]) => select(t(axis), chosen.get(axis) || "", [["", t("all")], ...values.map((value) => [value, livek12.named(axis, value)])], (value) => set({ [axis]: value }))),
        chosen.size > 0 && h("button", { type: "button", class: "button", onclick: () => set(Object.fromEntries([...chosen.keys()].map((axis) => [axis, ""]))) }, t("all_questions"))));
  };

  const bar = (found, metric) => {
    if (!found) return "";
    const place = (value) => `${Math.max(0, Math.min(100, value * scale(metric) * (metric === "ARL" ? 100 : 1)))}%`;
    const line = (x1, x2, y1, y2) => h("line", { x1, x2, y1, y2 });
    return h("svg", { class: "bar", "aria-hidden": "true", width: "100%", height: "14" },
      h("rect", { class: "track", x: 0, y: 4, width: "100%", height: 6, rx: 3 }), h("rect", { class: "sure", x: 0, y: 4, width: place(found[0]), height: 6, rx: 3 }),
      found[1] > found[0] && h("rect", { class: "maybe", x: place(found[0]), y: 4, width: `${Math.max(0, parseFloat(place(found[1])) - parseFloat(place(found[0])))}%`, height: 6 }),
      found[2] !== null && [line(place(found[2]), place(found[3]), 7, 7), line(place(found[2]), place(found[2]), 3, 11), line(place(found[3]), place(found[3]), 3, 11)]);
  };

  const sorted = (rows, columns, said) => {
    const by = columns.find((column) => column.name === said.sort) || columns.find((column) => column.first);
    const way = (said.way === "up" ? 1 : -1) * (by.text ? -1 : 1);
    const value = (row) => by.order(row);
    return [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const apart = by.text ? String(x).localeCompare(String(y)) : x === y ? 0 : (x ?? -Infinity) < (y ?? -Infinity) ? -1 : 1;
      return way * apart || a.place - b.place;
    });
  };
  const head = (columns, said) => h("thead", {}, h("tr", {}, columns.map((column) => {
    const on = said.sort ? said.sort === column.name : column.first;
    const turned = on && said.way !== "up" ? "up" : "";
    if (!column.title) return h("td");
    return h("th", { scope: "col", class: column.text ? "" : "right", "aria-sort": on ? (said.way === "up" ? "ascending" : "descending") : null },
      column.order ? h("button", { type: "button", class: "sort", onclick: () => change(said, { sort: column.first ? "" : column.name, way: turned }) }, column.title, on ? (said.way === "up" ? " ↑" : " ↓") : "") : column.title);
  })));

  const whole = (rows, tasks, said, metric, found) => {
    const columns = [{ name: "model", title: t("model"), text: true, order: (row) => row.name }, ...tasks.map((task, n) => ({ name: task, title: task, first: n === 0, order: (row) => middle(found(row, task)), task }))];
    return h("div", { class: "scroll" }, h("table", { class: "plain board" }, head(columns, said),
      h("tbody", {}, sorted(rows, columns, said).map((row) => h("tr", {}, h("th", { scope: "row" }, h("a", { href: link("model", { run: row.slug }) }, row.name)),
        tasks.map((task) => { const one = found(row, task); return h("td", { class: "right nowrap" }, h("span", { class: "red" }, written(one, metric)), one && one[2] !== null && h("span", { class: "ends" }, ends(one, metric))); }))))));
  };

  // One benchmark. `view.picked`: what runs got on chosen questions; `view.ranks`: what ranks are, or what they become.
  const single = (rows, task, said, view) => {
    const { metric, found, picked } = view;
    const slugOf = (row) => row.of.get(task), of = (row) => livek12.runs().get(slugOf(row)), part = (row) => of(row).tasks[task];
    const undecided = (row) => picked ? picked.told.get(slugOf(row)).undecided : part(row).undecided;
    const each = (row) => { if (picked) return picked.told.get(slugOf(row)).tokens; const sum = part(row).tokens.completion, n = part(row).counts.answers - part(row).untold; return sum === undefined || !n ? null : sum / n; };
    const money = (row) => { const { cost } = part(row); return cost === null ? t("unknown") : `${number(cost, 4)} ${of(row).known.currency}`; };
    // `cell` makes what a row shows. A column of `words` that are the same in all rows becomes a line below the table.
    const columns = [
      { name: "rank", title: t("rank"), cell: (row, ranks) => { const range = ranks?.range(slugOf(row)); return !ranks ? "…" : !range ? "–" : [h("b", {}, String(ranks.tied(slugOf(row)))), range[0] !== range[1] && h("span", { class: "ends" }, `${range[0]}–${range[1]}`)]; } },
      { name: "model", title: t("model"), text: true, order: (row) => row.name, cell: (row) => [h("a", { href: link("model", { run: slugOf(row) }) }, row.name), of(row).adaptive && h("span", { class: "soft small" }, ` ${livek12.adaptive(of(row))}`)] },
      { name: "score", title: metricName(metric), first: true, style: "red", order: (row) => middle(found(row, task)), cell: (row) => written(found(row, task), metric) },
      { name: "interval", title: t("interval"), style: "soft", order: (row) => { const one = found(row, task); return one && one[2] !== null ? one[3] - one[2] : null; }, cell: (row) => ends(found(row, task), metric) },
      { name: "bar", title: "", style: "bar-cell", cell: (row) => bar(found(row, task), metric) },
      { name: "undecided", title: t("undecided"), order: undecided, cell: (row) => `${number(100 * undecided(row))} %` },
      { name: "tokens", title: t("tokens"), order: each, words: (row) => each(row) === null ? t("unknown") : many(each(row)) },
      ...(picked ? [] : [{ name: "cost", title: t("cost"), order: (row) => part(row).cost, words: money }]),
      { name: "released", title: t("released"), order: (row) => Date.parse(of(row).known.released) || null, words: (row) => of(row).known.released || t("unknown") },
      { name: "judged", title: t("judged"), text: true, order: (row) => Object.keys(of(row).judged).join(), words: (row) => Object.keys(of(row).judged).join("; ") || "–" },
      { name: "date", title: t("date"), order: (row) => Date.parse(of(row).date) || null, words: (row) => of(row).date },
    ];
    const list = sorted(rows, columns, said), plainOrder = !said.sort && said.way !== "up";
    const alike = columns.filter(({ name, words }) => words && name !== said.sort && new Set(list.map(words)).size === 1);
    const shown = columns.filter((column) => !alike.includes(column));
    const common = alike.map(({ title, words }) => [title, words(list[0])]).filter(([, value]) => value !== t("unknown")).map((pair) => pair.join(": ")).join(" · ");
    const body = h("tbody"), note = h("p", { class: "soft small", role: "status" });
    const line = (row, place, ranks, before) => h("tr", { class: plainOrder && place && ranks?.tied(slugOf(row)) !== before ? "group" : "" },
      shown.map(({ name, text, style = "", cell, words }) => name === "model" ? h("th", { scope: "row" }, cell(row)) : h("td", { class: text ? "" : style === "bar-cell" ? style : `right nowrap ${style}` }, words ? words(row) : cell(row, ranks))));
    const draw = (ranks) => {
      body.replaceChildren(...list.map((row, place) => line(row, place, ranks, place && ranks ? ranks.tied(slugOf(list[place - 1])) : undefined)));
      note.textContent = !ranks ? t("testing") : list.some((row) => ranks.range(slugOf(row))) ? t("tied") : "";
      body.dataset.ranks = ranks ? "told" : "";
    };
    if (view.ranks instanceof Promise) { draw(null); view.ranks.then((ranks) => ranks && draw(ranks)); } else draw(view.ranks);
    return [h("div", { class: "scroll" }, h("table", { class: "plain board single" }, head(shown, said), body)), common && h("p", { class: "soft small" }, common), note];
  };

  // Ranks of all runs on all questions stand in the site; those of other choices are tested here, by the same method.
  const ranksOf = (task, metric, key, entries, everything, picked) => {
    const ask = (ranks, tied) => ({ range: (slug) => ranks(slug), tied: (slug) => tied(slug) });
    const part = (slug) => livek12.runs().get(slug).tasks[task];
    if (everything) return ask((slug) => part(slug).ranks[metric], (slug) => part(slug).tied[metric]);
    return livek12.filters.ranked(key, picked, entries.map((row) => row.of.get(task)).filter(Boolean)).then((found) => found && ask((slug) => found.ranks.get(metric)?.get(slug), (slug) => found.tied.get(metric)?.get(slug)));
  };

  livek12.pages.board = async (said) => {
    const { tasks: known } = livek12.site(), names = Object.keys(known), tasks = names.includes(said.task) ? [said.task] : names;
    const chosen = livek12.filters.chosen(said), narrowed = Boolean(said.size || said.licence), profile = said.profile === "release" ? "release" : "article";
    const picked = chosen.size || (narrowed && tasks.length === 1) ? new Map(await Promise.all(tasks.map(async (task) => [task, await livek12.filters.pick(task, chosen)]))) : null;
    const metric = chosen.size && !COMPUTED.includes(said.metric) ? "mark" : said.metric || "mark";
    const found = (row, task) => {
      const slug = row.of.get(task);
      if (slug === undefined) return null;
      return chosen.size ? picked.get(task).told.get(slug)?.marks.get(metric) : livek12.runs().get(slug).tasks[task].metrics[profile][metric];
    };
    const wanted = (said.find || "").toLowerCase();
    const entries = entrants(tasks).filter((row) => (!said.size || sizeOf(row.run) === said.size) && (!said.licence || (row.run.known.licence || "unknown") === said.licence) && tasks.some((task) => found(row, task)));
    const rows = entries.filter((row) => !wanted || row.name.toLowerCase().includes(wanted));
    const anyRange = rows.some((row) => tasks.some((task) => { const one = found(row, task); return one && one[0] !== one[1]; }));
    const [task] = tasks, key = JSON.stringify([task, [...chosen], said.size, said.licence]);
    const view = () => ({ metric, found, picked: chosen.size ? picked.get(task) : null, ranks: ranksOf(task, metric, key, entries, !picked, picked?.get(task)) });
    return [h("h1", {}, livek12.site().title || t("board")), filters(said, metric, chosen.size > 0), questions(said, tasks, chosen, chosen.size ? picked : null),
      rows.length === 0 ? h("p", {}, t("none")) : tasks.length === 1 ? single(rows, task, said, view()) : whole(rows, tasks, said, metric, found),
      anyRange && h("p", { class: "soft small" }, t("ranges"))];
  };
})();
