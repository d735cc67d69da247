// Plots, drawn as SVG by a few functions: a library of plots would weigh a hundred times as much in every site and asks
// to evaluate text, which the page's policy forbids. Below each plot stand its numbers as a table.
"use strict";
(() => {
  const { h, t, number, many, middle, change, select } = livek12;
  const H = 380, LEFT = 56, BOTTOM = 52, TOP = 14, RIGHT = 20;
  const INKS = 8, MOST_NAMES = 16;

  const ticks = (low, high, log) => {
    if (log) {
      const found = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) for (const step of [1, 3]) { const value = step * 10 ** power; if (value >= low * 0.999 && value <= high * 1.001) found.push(value); }
      return found;
    }
    const step = [1, 2, 2.5, 5, 10].map((one) => one * 10 ** Math.floor(Math.log10((high - low) / 4 || 1))).find((one) => (high - low) / one <= 6) || 1;
    const found = [];
    for (let value = Math.ceil(low / step) * step; value <= high + 1e-9; value += step) found.push(value);
    return found;
  };
  const axis = (values, log, zero) => {
    let [low, high] = [Math.min(...values), Math.max(...values)];
    if (log) return { low: low / 1.3, high: high * 1.3, log };
    if (zero) low = Math.min(low, 0);
    const room = high > low ? (high - low) * 0.06 : Math.max(1, Math.abs(high) * 0.06);  // of one value: its ticks differ
    return { low: zero && low === 0 ? 0 : low - room, high: high + room, log };
  };
  const markAxis = (rows) => {
    const { low, high } = axis(rows.flatMap(({ mark }) => [mark[2] ?? mark[0], mark[3] ?? mark[1]]));
    return { low: Math.max(low, 0), high: Math.min(high, 100) };
  };
  const along = (scale, from, to) => (value) => {
    const f = scale.log ? Math.log10 : (x) => x;
    return from + (f(value) - f(scale.low)) / (f(scale.high) - f(scale.low)) * (to - from);
  };
  // On a phone a plot is as wide as the screen, and its names are shorter.
  const size = () => window.innerWidth < 600 ? { wide: 430, left: 138, longest: 19, kind: "plot narrow" } : { wide: 760, left: 230, longest: 30, kind: "plot" };
  const short = (name, longest) => name.length > longest ? `${name.slice(0, longest - 1)}…` : name;
  const frame = (title, x, y, xName, yName, draw, height = H) => {
    const { wide, kind } = size(), px = along(x, LEFT, wide - RIGHT), py = along(y, height - BOTTOM, TOP);
    return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": title }, h("svg", { class: kind, viewBox: `0 0 ${wide} ${height}`, role: "img", "aria-label": title },
      ticks(y.low, y.high, y.log).map((value) => [h("line", { class: "rule", x1: LEFT, x2: wide - RIGHT, y1: py(value), y2: py(value) }), h("text", { class: "tick end", x: LEFT - 8, y: py(value) + 4 }, number(value))]),
      ticks(x.low, x.high, x.log).map((value) => h("text", { class: "tick", x: px(value), y: height - BOTTOM + 20 }, Math.abs(value) >= 1e4 ? many(value) : number(value, 4))),
      h("text", { class: "tick", x: (LEFT + wide) / 2, y: height - 10 }, xName), h("text", { class: "tick", x: 14, y: height / 2 - 20, transform: `rotate(-90 14 ${height / 2 - 20})` }, yName), draw(px, py)));
  };
  // A column of which no row has a value, as the interval of too few questions, is left out.
  const table = (heads, rows) => {
    const kept = (cells) => cells.filter((_, n) => !rows.length || rows.some((row) => row[n] !== ""));
    return h("details", { class: "fold" }, h("summary", {}, t("numbers")), h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": t("numbers") }, h("table", { class: "plain" }, h("thead", {}, h("tr", {}, kept(heads).map((head, n) => h("th", { scope: "col", class: n ? "right" : "" }, head)))), h("tbody", {}, rows.map((row) => h("tr", {}, kept(row).map((cell, n) => n ? h("td", { class: "right nowrap" }, cell) : h("th", { scope: "row" }, cell))))))));
  };
  const whisker = (px, py, x, found) => [found[2] !== null && h("line", { class: "whisker", x1: px(x), x2: px(x), y1: py(found[2]), y2: py(found[3]) }), found[0] !== found[1] && h("line", { class: "spread", x1: px(x), x2: px(x), y1: py(found[0]), y2: py(found[1]) })];
  const named = (points, px, py) => {
    // A name stands right of its point, or left of it near the edge, and moves up or down where another one stands.
    const { wide: right, longest } = size();
    const taken = points.map((point) => ({ x: px(point.x) - 5, y: py(point.y), wide: 10 }));
    return [...points].sort((a, b) => b.y - a.y).map((point) => {
      const x = px(point.x), name = short(point.name, longest), wide = name.length * 7, left = x + wide > right - RIGHT, from = left ? x - wide - 8 : x + 8;
      const free = (y) => !taken.some((other) => Math.abs(other.y - y) < 12 && from < other.x + other.wide && other.x < from + wide);
      const y = [0, -13, 13, -26, 26, -39, 39, -52, 52, 65, 78, 91].map((by) => py(point.y) + by).find((place) => free(place) && place > TOP && place < H - BOTTOM);
      if (y === undefined) return null;
      taken.push({ x: from, y, wide });
      return [Math.abs(y - py(point.y)) > 1 && h("line", { class: "lead", x1: x, y1: py(point.y), x2: left ? x - 7 : x + 7, y2: y }), h("text", { class: left ? "name end" : "name", x: left ? x - 9 : x + 9, y: y + 4 }, name)];
    });
  };

  const scatter = (title, xName, points, lineWord) => {
    const y = markAxis(points), positive = points.every((one) => one.x > 0);
    const [least, most] = [Math.min(...points.map((one) => one.x)), Math.max(...points.map((one) => one.x))];
    const x = axis(points.map((one) => one.x), positive && most / least > 8, least < 0.5 * most);
    const front = [];
    for (const point of [...points].sort((a, b) => a.x - b.x || b.y - a.y)) if (!front.length || point.y > front[front.length - 1].y) front.push(point);
    return [frame(title, x, y, xName, livek12.metricName("mark"), (px, py) => [
      h("polyline", { class: "pareto", points: front.map((one) => `${px(one.x)},${py(one.y)}`).join(" ") }),
      points.map((one) => [whisker(px, py, one.x, one.mark), h("circle", { class: "dot", cx: px(one.x), cy: py(one.y), r: 4.5 }, h("title", {}, `${one.name}: ${one.text}`))]), named([...new Set([...front, ...points])].slice(0, MOST_NAMES), px, py)]),
    h("p", { class: "soft small" }, lineWord, points.some(({ mark }) => mark[0] !== mark[1]) && ` ${t("middle")}`), table([t("model"), xName, livek12.metricName("mark"), t("interval")], points.map((one) => [one.name, many(one.x) === "0" ? number(one.x, 4) : many(one.x), livek12.written(one.mark, "mark"), livek12.ends(one.mark, "mark")]))];
  };

  const points = (list, labels, task, x) => list.map(([slug, run]) => ({ name: labels.get(slug), x: x(run.tasks[task], run), mark: run.tasks[task].metrics.article.mark })).filter((one) => one.x !== null && one.x !== undefined && one.mark).map((one) => ({ ...one, y: middle(one.mark), text: livek12.written(one.mark, "mark") }));

  const KINDS = {
    __proto__: null,
    tokens: (list, labels, task) => {
      const found = points(list, labels, task, (part) => { const n = part.counts.answers - part.untold; return part.tokens.completion === undefined || !n ? null : part.tokens.completion / n; });
      return found.length ? scatter(t("token_plot"), t("tokens"), found, t("pareto")) : h("p", {}, t("no_tokens"));
    },
    cost: (list, labels, task) => {
      const found = points(list, labels, task, (part) => part.cost), currency = list.map(([, run]) => run.known.currency).find(Boolean);
      return found.length ? scatter(t("cost_plot"), `${t("cost")}, ${currency}`, found, t("pareto")) : h("p", {}, t("no_cost"));
    },
    budgets: (list, labels, task) => {
      const curves = list.flatMap(([slug, run]) => Object.entries(run.budgets || {}).filter(([name]) => name === task || task.startsWith(`${name}@`)).map(([, curve]) => ({ name: labels.get(slug), curve: curve.filter((one) => one.true || one.counterfactual).map((one) => ({ x: one.tokens, mark: one.true || one.counterfactual, true: Boolean(one.true) })) }))).filter((one) => one.curve.some((point) => point.mark[0] > 0 || point.mark[1] < 1));
      if (!curves.length) return h("p", {}, t("no_budgets"));
      const all = curves.flatMap((one) => one.curve);
      return [frame(t("budget_plot"), axis(all.map((one) => one.x), false, true), { low: 0, high: 100 }, t("tokens"), livek12.metricName("accuracy"), (px, py) => curves.map((one, n) => {
        const last = one.curve[one.curve.length - 1];
        return [h("polyline", { class: `series ink-${n % INKS}`, points: one.curve.map((point) => `${px(point.x)},${py(100 * middle(point.mark))}`).join(" ") }), one.curve.map((point) => h("circle", { class: `ink-${n % INKS} ${point.true ? "" : "hollow"}`, cx: px(point.x), cy: py(100 * middle(point.mark)), r: 3.5 })), h("text", { class: "name end", x: px(last.x) - 4, y: py(100 * middle(last.mark)) - 8 - 13 * (n % 3) }, short(one.name, size().longest))];
      })), table([t("model"), ...curves[0].curve.map((point) => many(point.x))], curves.map((one) => [one.name, ...one.curve.map((point) => livek12.written(point.mark, "accuracy"))]))];
    },
    dates: async (list, labels, task) => {
      const { groups } = livek12.site(), axes = ["release", "year"].filter((name) => groups[name]);
      const by = await Promise.all(axes.map((name) => livek12.loadAll(groups[name])));
      const found = list.flatMap(([slug, run]) => {
        const model = day(run.known.released);
        const of = by.map((each) => Object.entries(each[slug]?.[task]?.article || {}).map(([name, marks]) => ({ exam: day(name), name, mark: marks.mark }))).find((each) => each.some((one) => one.exam !== null));
        return model === null || !of ? [] : of.filter((one) => one.exam !== null && one.mark).map((one) => ({ name: `${labels.get(slug)}${of.length > 1 ? ` · ${one.name}` : ""}`, x: (one.exam - model) / 30.44, mark: one.mark, y: middle(one.mark) }));
      });
      if (!found.length) return h("p", {}, t("no_dates"));
      const x = axis([0, ...found.map((one) => one.x)]), y = markAxis(found);
      return [frame(t("date_plot"), x, y, t("before_after"), livek12.metricName("mark"), (px, py) => [h("line", { class: "zero", x1: px(0), x2: px(0), y1: TOP, y2: H - BOTTOM }), found.map((one) => [whisker(px, py, one.x, one.mark), h("circle", { class: one.x > 0 ? "dot" : "dot before", cx: px(one.x), cy: py(one.y), r: 4.5 }, h("title", {}, one.name))]), named(found, px, py)]), table([t("model"), t("before_after"), livek12.metricName("mark"), t("interval")], found.map((one) => [one.name, number(one.x), livek12.written(one.mark, "mark"), livek12.ends(one.mark, "mark")]))];
    },
    subjects: async (list, labels, task) => {
      const { groups } = livek12.site(), by = groups.subject ? await livek12.loadAll(groups.subject) : {};
      const subjects = [...new Set(list.flatMap(([slug]) => Object.keys(by[slug]?.[task]?.article || {})))].sort();
      const shown = list.slice(0, 12);
      return subjects.map((subject) => dots(subject.replace(/_/g, " "), t("model"), shown.map(([slug]) => ({ name: labels.get(slug), mark: by[slug]?.[task]?.article?.[subject]?.mark, n: by[slug]?.[task]?.article?.[subject]?.n })).filter((one) => one.mark)));
    },
    ranks: (list, labels, task) => {
      const found = list.map(([slug, run]) => ({ name: labels.get(slug), range: run.tasks[task].ranks.mark, drawn: run.tasks[task].stability.mark })).filter((one) => one.range);
      if (!found.length) return h("p", {}, t("no_ranks"));
      const high = 34 + found.length * 26 + BOTTOM, most = Math.max(...found.map((one) => one.range[1]));
      const { wide, left, longest, kind } = size(), px = along({ low: 0.5, high: most + 0.5 }, left, wide - RIGHT);
      return [h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": t("rank_plot") }, h("svg", { class: kind, viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": t("rank_plot") },
        Array.from({ length: most }, (_, n) => n + 1).filter((value) => (value - 1) % Math.ceil(most / 12) === 0).map((value) => [h("line", { class: "rule", x1: px(value), x2: px(value), y1: TOP, y2: high - BOTTOM }), h("text", { class: "tick", x: px(value), y: high - BOTTOM + 18 }, String(value))]),
        found.map((one, n) => { const y = 30 + n * 26; return [h("text", { class: "name end", x: left - 10, y: y + 4 }, short(one.name, longest)), h("line", { class: "range-line", x1: px(one.range[0] - 0.3), x2: px(one.range[1] + 0.3), y1: y - 3, y2: y - 3 }), one.drawn && [h("line", { class: "drawn-line", x1: px(one.drawn[0] - 0.15), x2: px(one.drawn[2] + 0.15), y1: y + 5, y2: y + 5 }), h("circle", { class: "drawn-dot", cx: px(one.drawn[1]), cy: y + 5, r: 3.5 })]]; }),
        h("text", { class: "tick", x: (left + wide) / 2, y: high - 12 }, t("rank")))), h("ul", { class: "legend" }, [["range-line", "tests_say"], ["drawn-line", "draws_say"]].map(([kind, word]) => h("li", {}, h("svg", { width: "34", height: "12", "aria-hidden": "true" }, h("line", { class: kind, x1: 4, x2: 30, y1: 6, y2: 6 }), kind === "drawn-line" && h("circle", { class: "drawn-dot", cx: 17, cy: 6, r: 3.5 })), t(word)))),
        table([t("model"), t("tests_say"), t("draws_say")], found.map((one) => [one.name, one.range[0] === one.range[1] ? String(one.range[0]) : one.range.join("–"), one.drawn ? `${one.drawn[0]}–${one.drawn[2]} (${number(one.drawn[1])})` : "–"]))];
    },
  };
  const day = (text) => { const found = /^(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?$/.exec(text || ""); return found ? (Date.UTC(Number(found[1]), found[2] ? Number(found[2]) - 1 : 6, found[3] ? Number(found[3]) : found[2] ? 15 : 1)) / 864e5 : null; };

  const dots = (title, of, rows) => {
    if (!rows.length) return null;
    const { wide, left, longest, kind } = size(), px = along({ low: 0, high: 100 }, left, wide - RIGHT - 10), high = 40 + rows.length * 20 + 24;
    return [h("h2", {}, `${title} `, h("span", { class: "soft small" }, `n = ${Math.max(...rows.map((row) => row.n || 0))}`)), h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": title }, h("svg", { class: kind, viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": title },
      [0, 25, 50, 75, 100].map((value) => [h("line", { class: "rule", x1: px(value), x2: px(value), y1: 8, y2: high - 28 }), h("text", { class: "tick", x: px(value), y: high - 10 }, String(value))]),
      rows.map((row, n) => { const y = 22 + n * 20, [low, most, start, end] = row.mark; return [h("text", { class: "name end", x: left - 10, y: y + 4 }, short(row.name, longest)), start !== null && h("line", { class: "whisker", x1: px(start), x2: px(end), y1: y, y2: y }), low !== most && h("line", { class: "spread", x1: px(low), x2: px(most), y1: y, y2: y }), h("circle", { class: "dot", cx: px((low + most) / 2), cy: y, r: 4.5 }, h("title", {}, `${row.name}: ${livek12.written(row.mark, "mark")} (${livek12.ends(row.mark, "mark")})`))]; }))),
    table([of, livek12.metricName("mark"), t("interval"), t("questions")], rows.map((row) => [row.name, livek12.written(row.mark, "mark"), livek12.ends(row.mark, "mark"), String(row.n ?? "")]))];
  };
  livek12.dots = dots;

  livek12.pages.plots = async (said) => {
    const names = Object.keys(livek12.site().tasks), task = livek12.taskOf(said);
    const kinds = [["tokens", "token_plot"], ["cost", "cost_plot"], ["budgets", "budget_plot"], ["dates", "date_plot"], ["subjects", "subject_plot"], ["ranks", "rank_plot"]];
    // Unless the address names one, the first plot that has data: those without are a single sentence.
    let kind = said.kind in KINDS ? said.kind : "", drawn = null;
    for (const [name] of kind ? [[kind]] : kinds) { kind = name; drawn = await KINDS[name](livek12.best(task), livek12.labels(), task); if (Array.isArray(drawn) && drawn.length) break; }
    return [h("h1", {}, t(kinds.find(([name]) => name === kind)[1])),
      h("div", { class: "filters", role: "group", "aria-label": t("filters") }, select(t("plots"), kind, kinds.map(([name, word]) => [name, t(word)]), (value) => change(said, { kind: value })), names.length > 1 && select(t("exam"), task, names.map((name) => [name, name]), (value) => change(said, { task: value }))),
      drawn];
  };
})();
