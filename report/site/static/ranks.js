// The marks, intervals and ranks of some runs on some questions, as `livek12 compare` computes them (core/scoring).
"use strict";
livek12.ranks = (() => {
  const S = () => livek12.statistics;
  const METRICS = ["mark", "accuracy"], SCALE = { mark: 100, accuracy: 1 };

  // A run's answers to the chosen questions: of each question its place, points and answers [low, high, least, most, open, tokens].
  const answersOf = (scores, chosen) => {
    const asked = [], answers = [];
    for (const question of chosen) {
      const kinds = scores.answers[question.at], tokens = scores.tokens[question.at];
      if (kinds === null || kinds === undefined) continue;
      asked.push(question);
      answers.push([kinds].flat().map((kind, n) => [...scores.kinds[kind], [tokens].flat()[n]]));
    }
    return { asked, answers };
  };
  const restrict = (run, at) => {
    const kept = run.asked.map((question, n) => [question, n]).filter(([question]) => at.has(question.at));
    return { asked: kept.map(([question]) => question), answers: kept.map(([, n]) => run.answers[n]) };
  };

  // What the questions belong to: papers from some on, else each to itself with what was made from it.
  const unitsOf = (asked) => {
    const numbered = (names) => { const seen = new Map(); return names.map((name) => { if (!seen.has(name)) seen.set(name, seen.size); return seen.get(name); }); };
    const papers = numbered(asked.map((one) => one.paper ? `p${one.paper}` : `s${one.source}`)), questions = numbered(asked.map((one) => one.source));
    const unit = new Set(asked.map((one) => one.paper).filter(Boolean)).size >= livek12.site().method.minPapers ? "paper" : "question";
    const size = (codes) => codes.reduce((most, code) => Math.max(most, code + 1), 0);
    return { unit, codes: { paper: papers, question: questions }, sizes: { paper: size(papers), question: size(questions) } };
  };
  const pointsOf = (asked) => {
    const stated = asked.filter((one) => one.points !== null).length;
    if (stated === 0) return asked.map(() => 1);
    return stated < asked.length || !(S().total(asked.map((one) => one.points)) > 0) ? null : asked.map((one) => one.points);
  };

  // By metric: bounds, reach and influence (at worst, at best), and each question's means at worst and at best.
  const drawn = (run, units) => {
    const points = pointsOf(run.asked), codes = units.codes[units.unit], groups = units.sizes[units.unit];
    const clusters = units.unit === "paper" || groups < run.asked.length ? codes : null, found = new Map();
    for (const metric of METRICS) {
      if (metric === "mark" && points === null) continue;
      const each = metric === "mark" ? points : run.asked.map(() => 1), place = metric === "mark" ? 0 : 2;
      const sums = [0, 1].map((end) => Float64Array.from(run.answers, (trials, n) => trials.reduce((sum, one) => sum + each[n] * one[place + end], 0)));
      const weights = Float64Array.from(run.answers, (trials, n) => trials.reduce((sum) => sum + each[n], 0));
      const same = sums[0].every((one, n) => one === sums[1][n]), low = S().ratioSpread(sums[0], weights, clusters, groups), high = same ? low : S().ratioSpread(sums[1], weights, clusters, groups);
      const by = SCALE[metric], means = sums.map((side) => side.map((sum, n) => sum / run.answers[n].length));
      found.set(metric, { low: by * low.value, high: by * high.value, below: low.low === null ? null : by * (low.value - low.low), above: high.high === null ? null : by * (high.high - high.value), influence: [low.influence, high.influence], size: low.size, means });
    }
    return found;
  };
  const estimate = (one) => [one.low, one.high, one.below === null ? null : one.low - one.below, one.above === null ? null : one.high + one.above, null];
  // The interval of b - a; of too few questions it tells nothing.
  const difference = (b, a) => {
    if (a.below === null || b.below === null) return [0, 0];
    const [low, high] = [b.low - a.high, b.high - a.low];
    const size = Math.min(a.size, b.size), { correlation, differenceReach } = S();
    return [low - differenceReach(b.below, a.above, correlation(b.influence[0], a.influence[1]), size), high + differenceReach(b.above, a.below, correlation(b.influence[1], a.influence[0]), size)];
  };

  // Whether rounding is far below the slack of the test, so that sums of runs may be subtracted (core/scoring/comparison.py).
  const near = (a, b, d, n) => { const size = (values) => S().total(values.map(Math.abs)); return 16 * 2 ** -52 * Math.sqrt(n) * (size(a) + size(b)) < 1e-9 * size(d) / 8; };
  // The tests of pairs of runs over the same questions. Sign flips wait, to be made together: `flip` makes them.
  const tested = (runs, couples, flips) => {
    const { asked } = runs.values().next().value, units = unitsOf(asked), all = new Map([...runs].map(([slug, run]) => [slug, drawn(run, units)]));
    // Of a run that is decided throughout, its sums by unit; null of another one.
    const held = new Map(), summed = (slug, metric, unit) => {
      const key = `${unit} ${metric} ${slug}`, { means } = all.get(slug).get(metric);
      if (!held.has(key)) held.set(key, means[0].every((one, n) => one === means[1][n]) ? S().grouped(units.codes[unit], means[0], units.sizes[unit]) : null);
      return held.get(key);
    };
    const single = (slug) => runs.get(slug).answers.every((trials) => trials.length === 1);
    for (const { a, b, found } of couples) {
      for (const metric of METRICS) {
        const [one, other] = [all.get(a).get(metric), all.get(b).get(metric)];
        if (!one || !other) continue;
        const decided = asked.map((_, n) => one.means[0][n] === one.means[1][n] && other.means[0][n] === other.means[1][n]);
        const d = Float64Array.from(asked, (_, n) => decided[n] ? other.means[0][n] - one.means[0][n] : 0);
        const codes = units.codes[units.unit].filter((_, n) => decided[n]), seen = [...new Set(codes)], questions = codes.length;
        const few = units.unit === "paper" && questions > 0 && seen.length > 1 && seen.length < livek12.site().method.fewPapers;
        const test = { ends: difference(other, one), p: null };
        found.set(metric, test);
        if (!questions) continue;
        if (metric === "accuracy" && units.unit === "question" && units.sizes.question === asked.length && single(a) && single(b)) {
          test.p = S().mcnemar(d.filter((value) => value < 0).length, d.filter((value) => value > 0).length);
          continue;
        }
        if (few) { const place = new Map(seen.map((code, n) => [code, n])); test.p = S().clusteredT(d.filter((_, n) => decided[n]), codes.map((code) => place.get(code)), seen.length); }
        const unit = few ? "question" : units.unit, sums = S().grouped(units.codes[unit], d, units.sizes[unit]);
        if (sums.filter((value) => value !== 0).length <= livek12.site().method.fewFlips) test.p = Math.max(test.p ?? 0, S().allFlips(sums));
        else {
          const size = units.sizes[unit], [x, y] = [summed(a, metric, unit), summed(b, metric, unit)];
          if (!flips.has(size)) flips.set(size, []);
          flips.get(size).push({ test, d: sums, ...(x && y && near(x, y, sums, asked.length) ? { a: x, b: y } : {}) });
        }
      }
    }
  };
  const rest = () => new Promise((resolve) => { setTimeout(resolve); });
  // Sampled flips: each pattern is drawn once for all pairs; between blocks the page is let breathe. Flipped sums are
  // linear: those of two decided runs are subtracted, only where one leaves questions open is a pair summed by itself.
  const flip = async (flips, goesOn) => {
    for (const [size, waiting] of flips) {
      const columns = new Map(), column = (values) => { if (!columns.has(values)) columns.set(values, columns.size); return columns.get(values); };
      const tests = waiting.map(({ d, a, b }) => ({ total: S().total(d), seen: S().seenSum(d), hits: 0, of: a && b ? [column(b), column(a)] : [column(d), -1] }));
      const values = [...columns.keys()], sums = new Float64Array(values.length), kept = new Int32Array(size);
      let last = performance.now();
      for (const { patterns, signs } of S().flipSigns(size)) {
        for (let pattern = 0; pattern < patterns; pattern += 1) {
          let many = 0;
          for (let n = 0, at = pattern * size; n < size; n += 1, at += 1) if (signs[at]) { kept[many] = n; many += 1; }
          for (let c = 0; c < values.length; c += 1) {
            const one = values[c];
            let sum = 0;
            for (let n = 0; n < many; n += 1) sum += one[kept[n]];
            sums[c] = sum;
          }
          for (const test of tests) if (Math.abs(2 * (sums[test.of[0]] - (test.of[1] < 0 ? 0 : sums[test.of[1]])) - test.total) >= test.seen) test.hits += 1;
          if ((pattern & 15) === 0 && performance.now() - last > 40) { await rest(); if (!goesOn()) return false; last = performance.now(); }
        }
      }
      waiting.forEach(({ test, d }, w) => { test.p = Math.max(test.p ?? 0, S().flipP(tests[w].hits, d)); });
    }
    return true;
  };

  // By metric and run the ranks that the data leave open, [best, worst], and the place that tied runs share; null where
  // nobody waits for them any more.
  const ranked = async (runs, goesOn = () => true) => {
    const names = [...runs.keys()], alike = new Map(), pairs = [];
    for (const [slug, run] of runs) { const key = run.asked.map((one) => one.at).join(); if (!alike.has(key)) alike.set(key, []); alike.get(key).push(slug); }
    const place = new Map([...alike.values()].flatMap((slugs, n) => slugs.map((slug) => [slug, n]))), between = new Map();
    names.forEach((a, n) => names.slice(n + 1).forEach((b) => {
      const pair = { a, b, found: new Map() }, key = `${place.get(a)} ${place.get(b)}`;
      pairs.push(pair);
      if (!between.has(key)) between.set(key, []);
      between.get(key).push(pair);
    }));
    const flips = new Map();
    for (const couples of between.values()) {
      const [a, b] = [runs.get(couples[0].a), runs.get(couples[0].b)], has = new Set(a.asked.map((one) => one.at)), shared = new Set(b.asked.map((one) => one.at).filter((at) => has.has(at)));
      if (!shared.size) continue;
      const slugs = new Set(couples.flatMap((pair) => [pair.a, pair.b]));
      tested(new Map([...slugs].map((slug) => [slug, shared.size === runs.get(slug).asked.length ? runs.get(slug) : restrict(runs.get(slug), shared)])), couples, flips);
      await rest();
    }
    if (!await flip(flips, goesOn)) return null;
    const found = { pairs, ranks: new Map(), tied: new Map() };
    for (const metric of METRICS) {
      const those = pairs.filter((pair) => pair.found.has(metric)), adjusted = S().holm(those.map((pair) => pair.found.get(metric).p));
      const better = new Map(), worse = new Map(), apart = new Set(), add = (counts, slug) => counts.set(slug, (counts.get(slug) || 0) + 1);
      those.forEach((pair, n) => {
        const [low, high] = pair.found.get(metric).ends, p = adjusted[n];
        if (p === null || p >= livek12.site().method.alpha || (low <= 0 && high >= 0)) return;
        const [best, last] = low > 0 ? [pair.b, pair.a] : [pair.a, pair.b];
        add(better, last);
        add(worse, best);
        apart.add(`${best} ${last}`).add(`${last} ${best}`);
      });
      const marks = new Map(names.map((slug) => [slug, drawn(runs.get(slug), unitsOf(runs.get(slug).asked)).get(metric)]).filter(([, mark]) => mark));
      found.ranks.set(metric, new Map([...marks.keys()].map((slug) => [slug, [1 + (better.get(slug) || 0), marks.size - (worse.get(slug) || 0)]])));
      // Those that cannot be told from the first of their group share its place.
      let first = 0;
      const order = [...marks.keys()].sort((a, b) => marks.get(b).low + marks.get(b).high - marks.get(a).low - marks.get(a).high);
      found.tied.set(metric, new Map(order.map((slug, n) => { if (apart.has(`${order[first]} ${slug}`)) first = n; return [slug, first + 1]; })));
    }
    return found;
  };

  // What a run got on the chosen questions: its marks with intervals, the share that is undecided, tokens an answer.
  const told = (run) => {
    const marks = drawn(run, unitsOf(run.asked)), all = run.answers.flat(), counted = all.map((one) => one[5]).filter((tokens) => tokens !== null && tokens !== undefined);
    return { marks: new Map([...marks].map(([metric, one]) => [metric, estimate(one)])), undecided: all.filter((one) => one[4]).length / all.length, tokens: counted.length ? S().total(counted) / counted.length : null };
  };

  return { answersOf, told, ranked };
})();
