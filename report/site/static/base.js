// What all pages share: data files, safe building of the page, addresses, numbers. No text becomes HTML but `fragment`.
"use strict";
const livek12 = (() => {
  const held = new Map(), loading = new Map();
  const NAME = /^(?:[A-Za-z0-9~._-]+\/)?[A-Za-z0-9~._-]+$/;

  // Names from outside are keys of what is read: an object has no others than its own, whatever they are called.
  const bare = (value) => {
    if (Array.isArray(value)) value.forEach(bare);
    else if (value !== null && typeof value === "object") { Object.setPrototypeOf(value, null); Object.values(value).forEach(bare); }
    return value;
  };
  const all = (parts) => Object.assign(Object.create(null), ...parts);
  const data = (name, text) => held.set(name, bare(JSON.parse(text)));
  // A page that was opened from disk may not fetch: a data file is a script that calls `data`.
  const load = (name) => {
    if (held.has(name)) return Promise.resolve(held.get(name));
    if (!NAME.test(name) || name.includes("..")) return Promise.reject(new Error("no such data"));
    if (!loading.has(name)) {
      loading.set(name, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = `data/${name}.js`;
        script.onload = () => held.has(name) ? resolve(held.get(name)) : reject(new Error(name));
        script.onerror = () => { loading.delete(name); reject(new Error(name)); };
        document.head.append(script);
      }));
    }
    return loading.get(name);
  };
  const loadAll = async (names) => all(await Promise.all(names.map(load)));

  const site = () => held.get("site");
  let runsHeld = null;
  const runs = () => {
    if (runsHeld === null) {
      const found = all([...held].filter(([name]) => name.startsWith("front-")).map(([, part]) => part));
      runsHeld = new Map(site().runs.map((slug) => [slug, found[slug]]));
    }
    return runsHeld;
  };
  const exam = async (task) => {
    const about = site().tasks[task];
    const [questions, items] = await Promise.all([loadAll(about.index), loadAll(about.items)]);
    return { task, about, questions: new Map(Object.entries(questions)), items };
  };

  const taskOf = (said, of = site()) => { const names = Object.keys(of.tasks); return names.includes(said.task) ? said.task : names[0]; };

  // ---- building
  const h = (tag, attributes = {}, ...children) => {
    const svg = SVG.has(tag);
    const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name === "style") Object.assign(element.style, value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
  };
  const SVG = new Set(["svg", "g", "line", "circle", "rect", "text", "polyline", "path", "use", "title", "desc"]);
  // Pieces that livek12 has drawn and escaped; the policy of the page lets no script in them run.
  const fragment = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content;
  };
  const sign = (kind) => h("svg", { class: "sign", "aria-hidden": "true" }, h("use", { href: `#${{ full: "tick", wrong: "cross", part: "half", open: "open" }[kind]}` }));

  // ---- words and numbers
  let language = "en";
  const t = (key) => { const words = Object.hasOwn(WORDS, key) ? WORDS[key] : {}; return words[language] ?? words.en ?? key; };
  // What we named ourselves is said in the reader's language; what a data set names stays as it is.
  const OURS = new Set(["question_type", "modality", "language"]);
  const named = (axis, value) => value === "(none)" ? t("no_value") : OURS.has(axis) ? t(value).replace(/_/g, " ") : value.replace(/_/g, " ");
  const speak = (wanted) => { if (Object.hasOwn(LANGUAGES, wanted)) language = wanted; return language; };
  const number = (value, digits = 1) => {
    const text = (Math.sign(value) * Math.round(Math.abs(value) * 10 ** digits + 1e-9) / 10 ** digits).toFixed(digits);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  };
  const many = (value) => value >= 1e6 ? `${number(value / 1e6)} M` : value >= 1e4 ? `${number(value / 1e3)} k` : Math.round(value).toLocaleString("en");
  const size = (value) => value === null || value === undefined ? t("unknown") : value >= 1e9 ? `${number(value / 1e9)} B` : `${number(value / 1e6)} M`;
  const registered = (metric) => (site().metrics || {})[metric] || { scale: "out_of_100", labels: {} };
  const scale = (metric) => registered(metric).scale === "share" ? 100 : 1;
  const digits = (metric) => registered(metric).scale === "number" ? 3 : 1;
  const span = (low, high, places = 1) => number(low, places) === number(high, places) ? number(low, places) : `${number(low, places)}–${number(high, places)}`;
  const written = (found, metric) => {
    if (!found) return "–";
    const by = scale(metric), places = digits(metric);
    return found[0] === found[1] ? number(found[0] * by, places) : `${number(found[0] * by, places)}–${number(found[1] * by, places)}`;
  };
  const ends = (found, metric) => !found || found[2] === null ? "" : `${number(found[2] * scale(metric), digits(metric))}–${number(found[3] * scale(metric), digits(metric))}`;
  const middle = (found) => found ? (found[0] + found[1]) / 2 : -Infinity;
  const metricName = (metric) => registered(metric).labels[language] || registered(metric).labels.en || metric.replace(/_/g, " ");

  // ---- what a cell says: [low, high, least, most, state, warnings, tokens, said]
  const CUT = 1, NOT_EXTRACTED = 2, DISAGREE = 4, UNDECIDED = 8;
  const kindOf = (cell) => (cell[5] & UNDECIDED) || cell[0] !== cell[1] ? "open" : cell[0] >= 1 ? "full" : cell[0] <= 0 ? "wrong" : "part";
  const inWords = (cell) => {
    const kind = kindOf(cell);
    const words = [kind === "open" ? t("undecided") : cell[4] === 1 ? t("no_answer") : kind === "full" ? t("right") : kind === "wrong" ? t("wrong") : `${t("part")} (${number(cell[0] * 100)} %)`];
    for (const [bit, word] of [[CUT, "cut"], [NOT_EXTRACTED, "not_extracted"], [DISAGREE, "disagree"]]) if (cell[5] & bit) words.push(t(word));
    return words.join(", ");
  };
  const earned = (cell, points) => { const of = points ?? 1; return cell[0] === cell[1] ? number(cell[0] * of, 2) : `${number(cell[0] * of, 2)}–${number(cell[1] * of, 2)}`; };

  // ---- addresses: #/page?name=value
  const address = () => {
    const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
    return { page: path || "board", said: all([Object.fromEntries(new URLSearchParams(query))]) };
  };
  const link = (page, said = {}) => {
    const query = new URLSearchParams(Object.entries({ ...said, ...(language === "en" ? {} : { lang: language }) }).filter(([, value]) => value !== "" && value !== undefined && value !== null));
    return `#/${page}${query.size ? `?${query}` : ""}`;
  };
  const go = (page, said) => { location.hash = link(page, said); };
  const change = (said, changed) => { const { page } = address(); go(page, { ...said, ...changed }); };

  const select = (label, value, options, then) => h("label", {}, `${label} `, h("select", { onchange: (event) => then(event.target.value) }, options.map(([name, text]) => h("option", { value: name, selected: name === value }, text))));
  const label = (run) => run.known.name || run.model;
  // Runs of one model that share a task are told apart by the names of their folders.
  const labels = () => {
    const asked = new Map();
    for (const run of runs().values()) for (const task of Object.keys(run.tasks)) { const key = JSON.stringify([label(run), task]); asked.set(key, (asked.get(key) || 0) + 1); }
    const clashes = (run) => Object.keys(run.tasks).some((task) => asked.get(JSON.stringify([label(run), task])) > 1);
    return new Map([...runs()].map(([slug, run]) => [slug, clashes(run) && run.name !== label(run) ? `${label(run)} · ${run.name}` : label(run)]));
  };
  const adaptive = (run) => `${t("adaptive")}: ${number(run.adaptive.asked)} ${t("of")} ${number(run.adaptive.of)} ${t("questions")}`;
  const best = (task, metric = "mark", profile = "article") => [...runs()].filter(([, run]) => run.tasks[task]).sort(([, a], [, b]) => middle(b.tasks[task].metrics[profile][metric]) - middle(a.tasks[task].metrics[profile][metric]));

  return { data, load, loadAll, site, runs, exam, taskOf, all, h, fragment, sign, t, named, speak, number, many, size, scale, digits, span, written, ends, middle, metricName, kindOf, inWords, earned, address, link, go, change, select, label, labels, adaptive, best, pages: Object.create(null), CUT, NOT_EXTRACTED, DISAGREE, UNDECIDED };
})();
