// The heat-map: runs × questions. Drawn on a canvas as large as the window, so that a hundred thousand cells stay fast.
"use strict";
(() => {
  const { h, t, link, change, select } = livek12;
  const AT_ONCE = 40, HEAD = 22;

  const rightShare = (items, anchor) => { const item = items[anchor]; return item && item.answers > item.open ? item.right / (item.answers - item.open) : 0.5; };
  // Without papers to tell apart, by subject.
  const grouping = (exam, said) => said.by || (new Set([...exam.questions.values()].map((question) => question.paper)).size > 1 ? "paper" : "subject");
  const clusters = (exam, said) => {
    const by = grouping(exam, said);
    const groups = new Map();
    for (const [anchor, question] of exam.questions) {
      const key = by === "subject" ? question.subject : question.paper;
      if (!groups.has(key)) groups.set(key, { name: by === "subject" ? question.subject : question.title || question.exam || "", anchors: [] });
      groups.get(key).anchors.push(anchor);
    }
    if (said.order === "right") for (const group of groups.values()) group.anchors.sort((a, b) => rightShare(exam.items, a) - rightShare(exam.items, b));
    return [...groups.values()];
  };

  const colours = () => {
    const style = getComputedStyle(document.body), read = (name) => style.getPropertyValue(name).trim();
    return Object.fromEntries(["low", "high", "open", "none", "warn", "ink", "soft", "paper", "rule"].map((name) => [name, read(`--heat-${name}`) || read(`--${name}`)]));
  };
  const mixed = (low, high, share) => {
    const parts = (colour) => [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
    const [a, b] = [parts(low), parts(high)];
    return `rgb(${a.map((value, n) => Math.round(value + (b[n] - value) * share)).join(",")})`;
  };

  const widget = (exam, list, cells, groups, labels) => {
    const columns = groups.flatMap((group) => group.anchors), starts = [];
    const narrow = window.innerWidth < 600, side = narrow ? 14 : columns.length > 400 ? 10 : columns.length > 60 ? 14 : 22, gap = 6;
    const names = narrow ? 112 : 220;
    let x = 0;
    const place = new Map();
    for (const group of groups) {
      starts.push({ x, name: group.name, width: group.anchors.length * side });
      for (const anchor of group.anchors) { place.set(anchor, x); x += side; }
      x += gap;
    }
    const width = x, height = HEAD + list.length * side;
    const canvas = h("canvas", { class: "heat-canvas" }), spacer = h("div", { class: "heat-space" }, canvas);
    const told = h("p", { class: "heat-told", role: "status", "aria-live": "polite" }, t("heat_help"));
    const box = h("div", { class: "heat-box", tabindex: 0, role: "application", "aria-label": `${t("heat")}. ${t("heat_help")}` }, spacer);
    spacer.style.width = `${names + width}px`;
    spacer.style.height = `${height}px`;
    let at = { row: 0, column: 0 }, focused = false;

    const stripes = (context, tints, trials, left, top, wide) => {
      const each = wide / trials.length;
      trials.forEach((cell, n) => {
        const kind = livek12.kindOf(cell);
        context.fillStyle = kind === "open" ? tints.open : mixed(tints.low, tints.high, cell[0]);
        context.fillRect(left + n * each, top, each + 0.3, wide);
      });
      const warnings = trials.reduce((all, cell) => all | cell[5], 0);
      if (side < 10) return;
      context.fillStyle = tints.warn;
      if (warnings & livek12.CUT) context.fillRect(left, top + wide - 2, wide, 2);
      if (warnings & livek12.NOT_EXTRACTED) { context.beginPath(); context.moveTo(left, top); context.lineTo(left + wide / 2, top); context.lineTo(left, top + wide / 2); context.fill(); }
      if (warnings & livek12.DISAGREE) { context.beginPath(); context.arc(left + wide - 3, top + 3, 2, 0, 7); context.fill(); }
      if (warnings & livek12.UNDECIDED && side >= 14) { context.fillStyle = tints.ink; context.font = `${side - 6}px sans-serif`; context.textAlign = "center"; context.fillText("?", left + wide / 2, top + wide - 4); }
    };

    const draw = () => {
      const ratio = window.devicePixelRatio || 1, tints = colours();
      const [wide, high] = [box.clientWidth, box.clientHeight];
      canvas.width = wide * ratio;
      canvas.height = high * ratio;
      canvas.style.width = `${wide}px`;
      canvas.style.height = `${high}px`;
      const context = canvas.getContext("2d");
      context.scale(ratio, ratio);
      const [offX, offY] = [box.scrollLeft, box.scrollTop];
      context.fillStyle = tints.paper;
      context.fillRect(0, 0, wide, high);
      list.forEach(([slug], row) => {
        const top = HEAD + row * side - offY;
        if (top < HEAD - side || top > high) return;
        for (const group of groups) {
          const first = place.get(group.anchors[0]) + names - offX;
          if (first > wide || first + group.anchors.length * side < names) continue;
          const from = Math.max(0, Math.floor((names - first) / side)), to = Math.min(group.anchors.length, Math.ceil((wide - first) / side));
          for (let n = from; n < to; n += 1) {
            const cell = cells.get(slug)?.[group.anchors[n]];
            if (cell) stripes(context, tints, cell.slice(1), first + n * side, top, side - 1);
            else { context.fillStyle = tints.none; context.fillRect(first + n * side + side / 2 - 1, top + side / 2 - 1, 2, 2); }
          }
        }
      });
      context.fillStyle = tints.paper;
      context.fillRect(0, 0, wide, HEAD);
      context.font = "12px sans-serif";
      context.textAlign = "left";
      context.fillStyle = tints.soft;
      for (const start of starts) {
        const left = start.x + names - offX;
        if (left + start.width < names || left > wide) continue;
        context.save();
        context.beginPath();
        context.rect(Math.max(names, left), 0, Math.max(start.width - 2, 0), HEAD);
        context.clip();
        context.fillText(start.name, Math.max(names, left), 15);
        context.restore();
      }
      context.fillStyle = tints.paper;
      context.fillRect(0, 0, names - 4, high);
      context.textAlign = "right";
      context.font = `${Math.min(13, side)}px sans-serif`;
      list.forEach(([slug], row) => {
        const top = HEAD + row * side - offY;
        if (top < HEAD - 1 || top > high) return;
        context.fillStyle = tints.ink;
        let text = labels.get(slug);
        while (text.length > 4 && context.measureText(text).width > names - 12) text = `${text.slice(0, -2)}…`;
        context.fillText(text, names - 8, top + side - Math.max(2, side / 4));
      });
      if (focused) {
        context.strokeStyle = tints.ink;
        context.lineWidth = 2;
        context.strokeRect(place.get(columns[at.column]) + names - offX - 1, HEAD + at.row * side - offY - 1, side + 1, side + 1);
      }
    };
    const say = () => {
      const [slug] = list[at.row], anchor = columns[at.column], question = exam.questions.get(anchor), cell = cells.get(slug)?.[anchor];
      const trials = cell ? cell.slice(1).map((one) => livek12.inWords(one)) : [t("not_asked")];
      told.textContent = `${labels.get(slug)} · ${question.title || question.subject} ${question.n || ""}: ${trials.join(" | ")}`;
    };
    const open = () => {
      const [slug] = list[at.row], anchor = columns[at.column];
      if (cells.get(slug)?.[anchor]) livek12.go("graded", { run: slug, task: exam.task, q: anchor });
    };
    const hit = (event) => {
      const bounds = box.getBoundingClientRect(), y = event.clientY - bounds.top + box.scrollTop - HEAD, left = event.clientX - bounds.left + box.scrollLeft - names;
      const row = Math.floor(y / side), column = columns.findIndex((anchor) => left >= place.get(anchor) && left < place.get(anchor) + side);
      return row >= 0 && row < list.length && column >= 0 && event.clientX - bounds.left > names ? { row, column } : null;
    };
    const seen = () => {
      const left = place.get(columns[at.column]), top = at.row * side;
      if (left - box.scrollLeft < 0) box.scrollLeft = left;
      if (left + names + side - box.scrollLeft > box.clientWidth) box.scrollLeft = left + names + side - box.clientWidth;
      if (top - box.scrollTop < 0) box.scrollTop = top;
      if (top + HEAD + side - box.scrollTop > box.clientHeight) box.scrollTop = top + HEAD + side - box.clientHeight;
    };
    box.addEventListener("scroll", () => requestAnimationFrame(draw));
    box.addEventListener("mousemove", (event) => { const found = hit(event); box.classList.toggle("over", Boolean(found)); if (found) { at = found; say(); } });
    box.addEventListener("click", (event) => { const found = hit(event); if (found) { at = found; open(); } });
    box.addEventListener("focus", () => { focused = box.matches(":focus-visible"); say(); draw(); });
    box.addEventListener("blur", () => { focused = false; draw(); });
    box.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -at.column], End: [0, columns.length] }[event.key];
      if (event.key === "Enter") { event.preventDefault(); open(); }
      if (!move) return;
      event.preventDefault();
      focused = true;
      at = { row: Math.max(0, Math.min(list.length - 1, at.row + move[0])), column: Math.max(0, Math.min(columns.length - 1, at.column + move[1])) };
      seen(); say(); draw();
    });
    new ResizeObserver(() => draw()).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    box.style.height = `${Math.min(height + 18, Math.max(240, window.innerHeight * 0.7))}px`;
    return [box, told];
  };

  const legend = () => h("ul", { class: "legend" },
    [["low", "wrong"], ["mid", "part"], ["high", "right"], ["open", "undecided"]].map(([name, word]) => h("li", {}, h("span", { class: `swatch ${name}`, "aria-hidden": "true" }), t(word))),
    [["cut-off", "cut"], ["not-taken", "not_extracted"], ["judges", "disagree"]].map(([name, word]) => h("li", {}, h("span", { class: `swatch mark-${name}`, "aria-hidden": "true" }), t(word))));

  livek12.pages.heat = async (said) => {
    const names = Object.keys(livek12.site().tasks), task = livek12.taskOf(said);
    const exam = await livek12.exam(task), shown = Math.min(Number(said.runs) || AT_ONCE, 400), all = livek12.best(task), list = all.slice(0, shown);
    const records = await Promise.all(list.map(([slug]) => livek12.load(`runs/${slug}`)));
    const cells = new Map(list.map(([slug], n) => [slug, records[n].cells[task]]));
    return [h("h1", {}, t("heat")),
      h("div", { class: "filters", role: "group", "aria-label": t("filters") },
        names.length > 1 && select(t("exam"), task, names.map((name) => [name, name]), (value) => change(said, { task: value })),
        select(t("group_by"), grouping(exam, said), [["paper", t("paper")], ["subject", t("subject")]], (by) => change(said, { by })),
        select(t("order"), said.order || "", [["", t("by_number")], ["right", t("by_right")]], (order) => change(said, { order }))),
      widget(exam, list, cells, clusters(exam, said), livek12.labels()), legend(),
      all.length > list.length && h("p", {}, h("a", { class: "button", href: link("heat", { ...said, runs: shown + AT_ONCE }) }, `${t("more")} (${list.length} ${t("of")} ${all.length})`))];
  };
})();
