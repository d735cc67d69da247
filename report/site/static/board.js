// The leaderboard: models × benchmarks, or one benchmark in full.
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
  const AXES = ["subject", "question_type", "modality", "subset", "difficulty", "year", "release", "language", "macro_subject"];

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
    return rows;
  };

  const filters = (said, tasks, groups, values) => {
    const runs = [...livek12.runs().values()];
    const metrics = ["mark", "accuracy", "PES", "OES", "ARL", "variable_accuracy", "question_accuracy", "pass@1"].filter((name) => runs.some((run) => Object.values(run.tasks).some((task) => Object.values(task.metrics).some((profile) => name in profile))));
    const licences = [...new Set(runs.map((run) => run.known.licence || "unknown"))].sort();
    const allTasks = Object.keys(livek12.site().tasks);
    return h("div", { class: "filters", role: "group", "aria-label": t("filters") },
      allTasks.length > 1 && select(t("exam"), said.task || "", [["", t("all")], ...allTasks.map((name) => [name, name])], (task) => change(said, { task, sort: "" })),
      select(t("metric"), said.metric || "mark", metrics.map((name) => [name, metricName(name)]), (metric) => change(said, { metric })),
      select(t("profile"), said.profile || "article", [["article", t("article")], ["release", t("release")]], (profile) => change(said, { profile })),
      groups.length > 0 && select(t("within"), said.axis || "", [["", t("all")], ...groups.map((axis) => [axis, t(axis)])], (axis) => change(said, { axis, value: "" })),
      said.axis && select(t(said.axis), said.value || "", [["", "–"], ...values.map((value) => [value, value.replace(/_/g, " ")])], (value) => change(said, { value })),
      select(t("size"), said.size || "", sizeNames(), (wanted) => change(said, { size: wanted })),
      select(t("licence"), said.licence || "", [["", t("all")], ...licences.map((name) => [name, name === "unknown" ? t("unknown") : name])], (licence) => change(said, { licence })),
      h("label", {}, `${t("find")} `, h("input", { type: "search", value: said.find || "", onchange: (event) => change(said, { find: event.target.value }) })));
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
      return by.text ? way * String(x).localeCompare(String(y)) : way * ((x ?? -Infinity) - (y ?? -Infinity)) || a.name.localeCompare(b.name);
    });
  };
  const head = (columns, said) => h("thead", {}, h("tr", {}, columns.map((column) => {
    const on = said.sort ? said.sort === column.name : column.first;
    const turned = on && said.way !== "up" ? "up" : "";
    return h("th", { scope: "col", class: column.text ? "" : "right", "aria-sort": on ? (said.way === "up" ? "ascending" : "descending") : null },
      column.order ? h("button", { type: "button", class: "sort", onclick: () => change(said, { sort: column.first ? "" : column.name, way: turned }) }, column.title, on ? (said.way === "up" ? " ↑" : " ↓") : "") : column.title);
  })));

  const whole = (rows, tasks, said, metric, found) => {
    const columns = [{ name: "model", title: t("model"), text: true, order: (row) => row.name }, ...tasks.map((task, n) => ({ name: task, title: task, first: n === 0, order: (row) => middle(found(row, task)), task }))];
    return h("div", { class: "scroll" }, h("table", { class: "plain board" }, head(columns, said),
      h("tbody", {}, sorted(rows, columns, said).map((row) => h("tr", {}, h("th", { scope: "row" }, h("a", { href: link("model", { run: row.slug }) }, row.name)),
        tasks.map((task) => { const one = found(row, task); return h("td", { class: "right nowrap" }, h("span", { class: "red" }, written(one, metric)), one && one[2] !== null && h("span", { class: "ends" }, ends(one, metric))); }))))));
  };

  const single = (rows, task, said, metric, found) => {
    const of = (row) => livek12.runs().get(row.of.get(task)), part = (row) => of(row).tasks[task];
    const ranked = (row) => said.value ? null : part(row).ranks[metric];
    const each = (row) => { const sum = part(row).tokens.completion, n = part(row).counts.answers - part(row).untold; return sum === undefined || !n ? null : sum / n; };
    const columns = [
      { name: "rank", title: t("rank") },
      { name: "model", title: t("model"), text: true, order: (row) => row.name },
      { name: "score", title: metricName(metric), first: true, order: (row) => middle(found(row, task)) },
      { name: "interval", title: t("interval"), order: (row) => { const one = found(row, task); return one && one[2] !== null ? one[3] - one[2] : null; } },
      { name: "bar", title: "" },
      { name: "undecided", title: t("undecided"), order: (row) => part(row).undecided },
      { name: "tokens", title: t("tokens"), order: each },
      { name: "cost", title: t("cost"), order: (row) => part(row).cost },
      { name: "released", title: t("released"), order: (row) => Date.parse(of(row).known.released) || null },
      { name: "judged", title: t("judged"), text: true, order: (row) => Object.keys(of(row).judged).join() },
      { name: "date", title: t("date"), order: (row) => Date.parse(of(row).date) || null },
    ];
    const list = sorted(rows, columns, said), plainOrder = !said.sort && said.way !== "up";
    let groupEnd = null, groupStart = 1;
    const body = list.map((row, place) => {
      const one = found(row, task), range = ranked(row), run = of(row), cost = part(row).cost;
      const begins = plainOrder && range && (groupEnd === null || range[0] > groupEnd);
      if (begins) [groupStart, groupEnd] = [place + 1, range[1]];
      return h("tr", { class: begins && place ? "group" : "" },
        h("td", { class: "right nowrap" }, range ? [h("b", {}, String(plainOrder ? groupStart : range[0])), range[0] !== range[1] && h("span", { class: "ends" }, `${range[0]}–${range[1]}`)] : plainOrder ? String(place + 1) : "–"),
        h("th", { scope: "row" }, h("a", { href: link("model", { run: row.of.get(task) }) }, row.name)),
        h("td", { class: "right red nowrap" }, written(one, metric)), h("td", { class: "right soft nowrap" }, ends(one, metric)), h("td", { class: "bar-cell" }, bar(one, metric)),
        h("td", { class: "right nowrap" }, `${number(100 * part(row).undecided)} %`),
        h("td", { class: "right nowrap" }, each(row) === null ? t("unknown") : many(each(row))),
        h("td", { class: "right nowrap" }, cost === null ? t("unknown") : `${number(cost, 4)} ${run.known.currency}`),
        h("td", { class: "right nowrap" }, run.known.released || t("unknown")),
        h("td", {}, Object.keys(run.judged).join("; ") || "–"), h("td", { class: "right nowrap" }, run.date));
    });
    return [h("div", { class: "scroll" }, h("table", { class: "plain board single" }, head(columns, said), h("tbody", {}, body))),
      h("p", { class: "soft small" }, said.value ? t("one_filter") : t("tied"))];
  };

  livek12.pages.board = async (said) => {
    const { groups, tasks: known } = livek12.site();
    const names = Object.keys(known), tasks = said.task && known[said.task] ? [said.task] : names;
    const metric = said.metric || "mark", profile = said.profile === "release" ? "release" : "article";
    const axes = AXES.filter((axis) => groups[axis]);
    const by = said.axis && groups[said.axis] ? await livek12.loadAll(groups[said.axis]) : {};
    const values = [...new Set(Object.values(by).flatMap((run) => tasks.flatMap((task) => Object.keys(run[task]?.[profile] || {}))))].sort();
    const found = (row, task) => {
      const slug = row.of.get(task);
      if (slug === undefined) return null;
      return said.axis && said.value ? by[slug]?.[task]?.[profile]?.[said.value]?.[metric] : livek12.runs().get(slug).tasks[task].metrics[profile][metric];
    };
    const wanted = (said.find || "").toLowerCase();
    const rows = entrants(tasks).filter((row) => (!said.size || sizeOf(row.run) === said.size) && (!said.licence || (row.run.known.licence || "unknown") === said.licence) && (!wanted || row.name.toLowerCase().includes(wanted)) && tasks.some((task) => found(row, task)));
    const anyRange = rows.some((row) => tasks.some((task) => { const one = found(row, task); return one && one[0] !== one[1]; }));
    return [h("h1", {}, livek12.site().title || t("board")), filters(said, tasks, axes, values),
      rows.length === 0 ? h("p", {}, t("none")) : tasks.length === 1 ? single(rows, tasks[0], said, metric, found) : whole(rows, tasks, said, metric, found),
      anyRange && h("p", { class: "soft small" }, t("ranges"))];
  };
})();
